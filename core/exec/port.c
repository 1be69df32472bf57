/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ports: set-up, message slots, and sleeping on shared slots. */
#include "core/exec/port.h"

#include <errno.h>

#include "core/base/error.h"
#include "core/exec/relay.h"
#include "core/os/os.h"

static void port_init(weft_port_t *port, uint32_t peer, bool sends, uint32_t slots,
                      uint64_t slot_bytes)
{
    *port = (weft_port_t){.peer = peer,
                          .sends = sends,
                          .slots = slots,
                          .mask = slots - 1,
                          .slot_bytes = slot_bytes,
                          .stride = slot_bytes};
}

void weft_port_init_mapped(weft_port_t *port, uint32_t peer, bool sends, void *fifo, uint32_t slots,
                           uint64_t slot_bytes)
{
    port_init(port, peer, sends, slots, slot_bytes);
    port->control = fifo;
    port->heads = (weft_slot_head_t *)(port->control + 1);
    port->payloads = (uint8_t *)(port->heads + slots);
    port->limit = slots;
}

weft_status_t weft_port_settle(weft_port_t *port)
{
    weft_status_t status = weft_place_step(&port->place);
    if (status == WEFT_OK && port->place.memory != NULL) {
        port->payloads = port->place.memory;
    }
    return status;
}

weft_status_t weft_port_init_message(weft_port_t *port, uint32_t peer, bool sends,
                                     const weft_net_ops_t *ops, weft_net_conn_t *conn,
                                     uint32_t slots, uint64_t slot_bytes)
{
    port_init(port, peer, sends, slots, slot_bytes);
    port->ops = ops;
    port->conn = conn;
    port->stride += sizeof(weft_message_head_t);
    port->memory_bytes = port->stride * slots;
    port->memory = weft_os_pages(port->memory_bytes);
    port->slot = weft_os_alloc(slots * sizeof *port->slot, 0);
    if (port->memory == NULL || port->slot == NULL) {
        weft_port_fini(port);
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM,
                         "cannot allocate %zu bytes of slots for rank %u", port->memory_bytes,
                         peer);
    }
    port->payloads = port->memory + sizeof(weft_message_head_t);
    for (uint32_t i = 0; i < slots; i++) {
        port->slot[i].port = port;
        port->slot[i].head = (weft_message_head_t *)(port->memory + i * port->stride);
    }
    return WEFT_OK;
}

void weft_port_go_direct(weft_port_t *port, const weft_direct_t *direct, void *memory)
{
    weft_os_pages_free(port->memory, port->memory_bytes);
    port->direct = direct;
    port->memory = memory;
    port->payloads = port->memory + sizeof(weft_message_head_t);
    for (uint32_t i = 0; i < port->slots; i++) {
        port->slot[i].head = &port->slot[i].copy;
    }
}

weft_status_t weft_port_open(weft_port_t *port, weft_net_region_t *region)
{
    port->region = region;
    if (!port->sends) {
        for (uint32_t i = 0; i < port->slots; i++) {
            port->slot[i].state = WEFT_SLOT_QUEUED;
        }
        port->unposted = port->slots;
        return weft_port_post(port);
    }
    return WEFT_OK;
}

void weft_port_fini(weft_port_t *port)
{
    if (port->direct != NULL) {
        port->direct->ops->free(port->direct->kernel, port->memory);
    } else {
        weft_os_pages_free(port->memory, port->memory_bytes);
    }
    weft_os_free(port->slot);
    weft_relay_destroy(port->relay);
    port->memory = NULL;
    port->direct = NULL;
    port->slot = NULL;
    port->relay = NULL;
}

/* Heads on the device ------------------------------------------------------------------------------ */

/* Where the head of the next message is for the transport. */
static uint8_t *head_there(const weft_port_t *port)
{
    return port->memory + (port->next & port->mask) * port->stride;
}

static weft_status_t copy_head(weft_port_t *port, void *to, const void *from, uint64_t bytes)
{
    const weft_direct_t *direct = port->direct;
    weft_status_t status = direct->memory->copy(direct->kernel, to, from, bytes);
    if (status != WEFT_OK && port->broken == WEFT_OK) {
        port->broken = status;
    }
    return status;
}

/* Of its length the transport told. */
bool weft_port_fetch_head(weft_port_t *port)
{
    weft_message_head_t *head = port->slot[port->next & port->mask].head;
    weft_status_t status =
        copy_head(port, &head->signature, head_there(port), sizeof head->signature);
    port->fetched = status == WEFT_OK ? port->next + 1 : port->fetched;
    return status == WEFT_OK;
}

weft_status_t weft_port_store_head(weft_port_t *port)
{
    const weft_message_head_t *head = port->slot[port->next & port->mask].head;
    return copy_head(port, head_there(port), head, sizeof *head);
}

/* Posts and completions ---------------------------------------------------------------------------- */

/* Posts the oldest slot that waits for it. */
static weft_status_t post_one(weft_port_t *port, uint32_t *posted_p)
{
    uint32_t at = (uint32_t)port->post_next & port->mask;
    weft_message_slot_t *slot = &port->slot[at];
    weft_net_op_t op = {.kind = port->sends ? WEFT_NET_SEND : WEFT_NET_RECV,
                        .buffer = port->memory + at * port->stride,
                        .bytes = sizeof *slot->head +
                                 (port->sends ? slot->head->bytes : port->slot_bytes),
                        .region = port->region,
                        .context = slot};
    slot->state = WEFT_SLOT_POSTED;
    weft_status_t status = port->ops->post(port->conn, &op, 1, posted_p);
    if (*posted_p == 0) {
        slot->state = WEFT_SLOT_QUEUED;
    }
    return status;
}

weft_status_t weft_port_post(weft_port_t *port)
{
    while (port->unposted > 0 && port->broken == WEFT_OK) {
        uint32_t posted = 0;
        weft_status_t status = post_one(port, &posted);
        port->post_next += posted;
        port->unposted -= posted;
        if (status == WEFT_AGAIN || (status == WEFT_OK && posted == 0)) {
            return WEFT_OK; /* weft_port_flush tries again */
        }
        if (status != WEFT_OK) {
            port->broken = status;
        }
    }
    return port->broken;
}

weft_status_t weft_port_flush(weft_port_t *port)
{
    return port->unposted > 0 ? weft_port_post(port) : port->broken;
}

bool weft_port_holds(const weft_port_t *port)
{
    if (port->heads != NULL || !port->sends) {
        return false;
    }
    bool holds = port->unposted > 0;
    for (uint32_t s = 0; s < port->slots && !holds; s++) {
        holds = port->slot[s].state != WEFT_SLOT_FREE;
    }
    return holds;
}

/* The peer is authenticated but its lengths are not trusted. A head on the device is not looked at: its
 * length is what came. */
static bool has_its_length(const weft_message_slot_t *slot, uint64_t came)
{
    const weft_port_t *port = slot->port;
    if (came < sizeof *slot->head || came - sizeof *slot->head > port->slot_bytes) {
        return false;
    }
    return port->direct != NULL || slot->head->bytes == came - sizeof *slot->head;
}

void weft_port_complete(const weft_net_completion_t *completion)
{
    weft_message_slot_t *slot = completion->context;
    weft_port_t *port = slot->port;
    if (completion->status != WEFT_OK) {
        port->broken = completion->status;
        return;
    }
    if (port->sends) {
        slot->state = WEFT_SLOT_FREE;
        return;
    }
    if (!has_its_length(slot, completion->bytes)) {
        port->broken = weft_fail(WEFT_ERR_PROTO, 0,
                                 "rank %u sent a message of %llu bytes with a wrong length field",
                                 port->peer, (unsigned long long)completion->bytes);
        return;
    }
    slot->state = WEFT_SLOT_READY;
}

static weft_lanes_port_t mapped_end(const weft_port_t *port)
{
    return (weft_lanes_port_t){.fifo = (uint8_t *)port->control,
                               .fifo_bytes = weft_fifo_bytes(port->slots, 0),
                               .payloads = port->payloads,
                               .stride = port->stride,
                               .near = port->place.memory != NULL};
}

/* Payloads stay where the transport has them. */
static weft_lanes_port_t relayed_end(const weft_port_t *port)
{
    const weft_relay_t *relay = port->relay;
    return (weft_lanes_port_t){.fifo = relay->memory,
                               .fifo_bytes = relay->bytes,
                               .payloads = port->payloads,
                               .stride = port->stride,
                               .near = port->direct != NULL,
                               .lengths = relay->lengths,
                               .direct = port->direct != NULL};
}

weft_status_t weft_port_lend(weft_port_t *port, const weft_kernel_lanes_t *device,
                             weft_kernel_t *kernel)
{
    if (port->end != NULL) {
        return WEFT_OK;
    }
    weft_status_t status = port->heads != NULL ? WEFT_OK : weft_relay_need(port);
    if (status != WEFT_OK) {
        return status;
    }
    weft_lanes_port_t lent = port->heads != NULL ? mapped_end(port) : relayed_end(port);
    lent.size = sizeof lent;
    lent.slot_bytes = port->slot_bytes;
    lent.slots = port->slots;
    lent.sends = port->sends;
    status = device->end_open(kernel, &lent, &port->end);
    if (status == WEFT_OK) {
        port->device = device;
        weft_port_store(port);
        status = weft_port_show_windows(port);
    }
    return status;
}

weft_status_t weft_port_show_windows(weft_port_t *port)
{
    if (port->end == NULL || port->heads == NULL || port->windows == NULL ||
        port->windows->reach == NULL || !WEFT_HAS(port->device, weft_kernel_lanes_t, end_windows)) {
        return WEFT_OK;
    }
    const weft_reach_t *reach = &port->windows->reach[port->peer];
    return port->device->end_windows(port->end, port->sends ? reach->mine : reach->theirs);
}

void weft_port_fetch(weft_port_t *port)
{
    bool moved = false;
    if (port->relay != NULL) {
        weft_relay_step(port->relay, &moved); /* it keeps the number */
    } else if (port->end != NULL) {
        port->next = port->device->end_next(port->end);
    }
}

void weft_port_recall(weft_port_t *port)
{
    if (port->end != NULL) {
        port->device->end_close(port->end);
        port->end = NULL;
    }
}

void weft_port_wake_peer(weft_port_t *port)
{
    _Atomic uint32_t *word =
        port->sends ? &port->control->consumer_sleeps : &port->control->producer_sleeps;
    atomic_store_explicit(word, 0, memory_order_relaxed);
    weft_os_futex_wake(word);
}

void weft_port_sleep(weft_port_t *port, uint64_t timeout_ns)
{
    _Atomic uint32_t *word =
        port->sends ? &port->control->producer_sleeps : &port->control->consumer_sleeps;
    /* The peer looks at the word without a fence, so a wake may be missed: the caller's timeout is
     * short for that reason. The fence here makes a miss rare. */
    atomic_store_explicit(word, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    uint64_t limit = port->limit;
    bool moved =
        port->sends ? weft_port_refresh(port) && port->limit != limit : weft_port_can_receive(port);
    if (!moved) {
        weft_os_futex_wait(word, 1, timeout_ns);
    }
    atomic_store_explicit(word, 0, memory_order_relaxed);
}
