/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Relays. The words of the FIFO are those of slot.h with their order; the device is trusted as the host
 * is, what comes from the peer was checked when it came (port.c). */
#include "core/exec/relay.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/os/os.h"

weft_status_t weft_relay_need(weft_port_t *port)
{
    if (port->relay != NULL) {
        return WEFT_OK;
    }
    size_t heads = port->slots * sizeof(weft_slot_head_t);
    size_t bytes = sizeof(weft_fifo_control_t) + heads + port->slots * sizeof(uint32_t);
    weft_relay_t *relay = weft_os_alloc(sizeof *relay, 0);
    uint8_t *memory = relay != NULL ? weft_os_pages(bytes) : NULL;
    if (memory == NULL) {
        weft_os_free(relay);
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM,
                         "cannot allocate %zu bytes between a device and rank %u", bytes,
                         port->peer);
    }
    *relay = (weft_relay_t){.port = port, .memory = memory, .bytes = bytes};
    relay->control = (weft_fifo_control_t *)(void *)memory;
    relay->heads = (weft_slot_head_t *)(relay->control + 1);
    relay->lengths = (uint32_t *)(relay->heads + port->slots);
    port->relay = relay;
    return WEFT_OK;
}

void weft_relay_destroy(weft_relay_t *relay)
{
    if (relay != NULL) {
        weft_os_pages_free(relay->memory, relay->bytes);
        weft_os_free(relay);
    }
}

/* Sends -------------------------------------------------------------------------------------------- */

static bool may_send(const weft_relay_t *relay)
{
    const weft_port_t *port = relay->port;
    return atomic_load_explicit(&relay->heads[port->next & port->mask].sequence,
                                memory_order_acquire) == port->next + 1;
}

/* The slot is free: the device publishes no message before `released` says so. False: no such message
 * can be. */
static bool send_one(weft_relay_t *relay)
{
    weft_port_t *port = relay->port;
    uint32_t at = (uint32_t)port->next & port->mask;
    const weft_slot_head_t *head = &relay->heads[at];
    uint32_t bytes = relay->lengths[at];
    if (bytes > port->slot_bytes) {
        port->broken =
            weft_fail(WEFT_ERR_INTERNAL, 0, "a device sends %u bytes to rank %u, in a slot of %llu",
                      bytes, port->peer, (unsigned long long)port->slot_bytes);
        return false;
    }
    /* What goes wrong with a post weft_port_flush() tells. */
    if (port->direct != NULL) {
        (void)weft_port_push(port, bytes);
        return true;
    }
    if (bytes <= WEFT_SLOT_INLINE) {
        memcpy(weft_port_payload(port, bytes), head->payload, bytes);
    }
    (void)weft_port_send(port, &head->signature, bytes, NULL);
    return true;
}

static void pass_sends(weft_relay_t *relay, bool *moved_p)
{
    weft_port_t *port = relay->port;
    while (may_send(relay) && send_one(relay)) {
        *moved_p = true;
    }
    uint64_t passed = relay->passed;
    while (passed < port->next && port->slot[passed & port->mask].state == WEFT_SLOT_FREE) {
        passed++;
    }
    if (passed != relay->passed) {
        relay->passed = passed;
        atomic_store_explicit(&relay->control->released, passed, memory_order_release);
        *moved_p = true;
    }
}

/* Receives ----------------------------------------------------------------------------------------- */

static void copy_head(weft_slot_head_t *head, const weft_message_head_t *message)
{
    head->signature = message->signature;
    if (message->bytes <= WEFT_SLOT_INLINE) {
        memcpy(head->payload, message + 1, message->bytes);
    }
}

static void show_one(weft_relay_t *relay)
{
    const weft_port_t *port = relay->port;
    uint32_t at = (uint32_t)relay->passed & port->mask;
    weft_slot_head_t *head = &relay->heads[at];
    if (port->direct == NULL) {
        copy_head(head, port->slot[at].head);
    }
    relay->passed++;
    atomic_store_explicit(&head->sequence, relay->passed, memory_order_release);
}

static bool may_show(const weft_relay_t *relay)
{
    const weft_port_t *port = relay->port;
    return relay->passed < port->next + port->slots &&
           port->slot[relay->passed & port->mask].state == WEFT_SLOT_READY;
}

static void pass_receives(weft_relay_t *relay, bool *moved_p)
{
    weft_port_t *port = relay->port;
    if (relay->passed < port->next) {
        relay->passed = port->next; /* the host ran in between */
    }
    while (may_show(relay)) {
        show_one(relay);
        *moved_p = true;
    }
    uint64_t released = atomic_load_explicit(&relay->control->released, memory_order_acquire);
    while (port->next < released) {
        /* As in a run of the host: that the slot cannot be offered again is the next receive's failure. */
        (void)weft_port_release(port);
        *moved_p = true;
    }
}

void weft_relay_step(weft_relay_t *relay, bool *moved_p)
{
    if (relay->port->sends) {
        pass_sends(relay, moved_p);
    } else {
        pass_receives(relay, moved_p);
    }
}

bool weft_relay_is_dry(const weft_relay_t *relay)
{
    const weft_port_t *port = relay->port;
    bool empty = port->sends || (relay->passed == port->next && !may_show(relay));
    return port->broken != WEFT_OK && empty;
}
