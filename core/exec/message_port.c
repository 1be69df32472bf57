/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Message ports: slots, posts and completions. */
#include "core/exec/message_port.h"

#include <errno.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/plugin/plugin_status.h"

/* Set-up --------------------------------------------------------------------------------------- */

static const weft_port_ops_t message_ops = {.send = weft_message_port_send,
                                            .release = weft_message_port_release,
                                            .can_receive = weft_message_port_can_receive,
                                            .signature = weft_message_port_signature,
                                            .flush = weft_message_port_flush,
                                            .fetch = weft_message_port_fetch,
                                            .is_dry = weft_message_port_is_dry,
                                            .fini = weft_message_port_fini};

static weft_status_t message_no_memory(const weft_message_port_params_t *params, size_t bytes)
{
    return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate %zu bytes of slots for rank %u",
                     bytes, params->peer);
}

weft_status_t weft_message_port_init_slots(weft_message_port_t *message, weft_port_kind_t kind,
                                           const weft_port_ops_t *ops,
                                           const weft_message_port_params_t *params,
                                           uint8_t *memory)
{
    uint32_t slots = params->slots;
    weft_message_slot_t *slot = weft_os_alloc(slots * sizeof *slot, 0);
    if (slot == NULL) {
        return message_no_memory(params, slots * sizeof *slot);
    }
    *message = (weft_message_port_t){.slot = slot, .params = *params, .memory = memory};
    message->port = (weft_port_t){.limit = params->sends ? slots : 0,
                                  .mask = slots - 1,
                                  .kind = kind,
                                  .payloads = memory + sizeof(weft_message_header_t),
                                  .stride = sizeof(weft_message_header_t) + params->slot_bytes,
                                  .slots = slots,
                                  .sends = params->sends,
                                  .peer = params->peer,
                                  .ops = ops};
    message->memory_bytes = weft_message_port_bytes(slots, params->slot_bytes);
    message->entry.port = &message->port;
    for (uint32_t i = 0; i < slots; i++) {
        slot[i].port = message;
    }
    return WEFT_OK;
}

/* A rank has two ports for each peer, and most peers send little: the slots take what is used of
 * them. Those of a transport that registers memory stay in place as a whole. A device needs to see
 * them at an address of its own. */
static uint8_t *message_slots(const weft_message_port_params_t *params, size_t bytes)
{
    if (params->device) {
        return weft_os_shared_pages(bytes);
    }
    bool pinned = WEFT_HAS(params->net, weft_net_ops_t, reg);
    return pinned ? weft_os_pages(bytes) : weft_os_sparse_pages(bytes);
}

weft_status_t weft_message_port_init(weft_message_port_t *message,
                                     const weft_message_port_params_t *params)
{
    size_t bytes = weft_message_port_bytes(params->slots, params->slot_bytes);
    uint8_t *memory = message_slots(params, bytes);
    if (memory == NULL) {
        return message_no_memory(params, bytes);
    }
    weft_status_t status =
        weft_message_port_init_slots(message, WEFT_PORT_MESSAGE, &message_ops, params, memory);
    if (status != WEFT_OK) {
        weft_os_pages_free(memory, bytes);
    }
    return status;
}

void weft_message_port_fini_slots(weft_message_port_t *message)
{
    weft_poll_list_remove(message->params.list, &message->entry);
    weft_os_free(message->slot);
    message->slot = NULL;
    weft_os_free(message->why);
    message->why = NULL;
}

void weft_message_port_fini(weft_port_t *port)
{
    weft_message_port_t *message = weft_message_port(port);
    weft_message_port_fini_slots(message);
    weft_os_pages_free(message->memory, message->memory_bytes);
    message->memory = NULL;
}

/* Posts ---------------------------------------------------------------------------------------- */

/* Whoever looks at the port later has a record of something else by then. */
static void message_keep_reason(weft_message_port_t *message, weft_status_t status)
{
    const weft_error_t *error = weft_error_record();
    if (error->status == status) {
        message->why = weft_os_alloc(sizeof *message->why, 0);
    }
    if (message->why != NULL) {
        *message->why = *error;
    }
}

void weft_message_port_break(weft_message_port_t *message, weft_status_t status)
{
    if (message->port.broken == WEFT_OK) {
        message->port.broken = status;
        message_keep_reason(message, status);
    }
    weft_poll_list_add(message->params.list, &message->entry);
}

/* Of a post of one operation. More posted than asked for would make the port post for ever. */
static weft_status_t message_check_post(const weft_message_port_t *message, weft_status_t status,
                                        uint32_t *posted_p)
{
    const weft_loaded_t *loaded = message->params.loaded;
    if (*posted_p > 1) {
        status =
            weft_fail(WEFT_ERR_PLUGIN, 0, "%s: post stored %u in *posted_p, expected at most 1",
                      loaded->plugin->name, *posted_p);
        *posted_p = 0;
        return status;
    }
    return weft_plugin_status(loaded, "post", WEFT_RETURNS_AGAIN, status);
}

/* Posts the oldest slot that waits for it. */
static weft_status_t message_post_one(weft_message_port_t *message, uint32_t *posted_p)
{
    const weft_port_t *port = &message->port;
    uint32_t at = (uint32_t)message->post_next & port->mask;
    weft_message_slot_t *slot = &message->slot[at];
    weft_net_op_t op = {.kind = port->sends ? WEFT_NET_SEND : WEFT_NET_RECV,
                        .buffer = message->memory + at * port->stride,
                        .bytes = port->sends ? sizeof(weft_message_header_t) + slot->bytes
                                             : port->stride,
                        .region = message->region,
                        .context = slot};
    slot->state = WEFT_SLOT_POSTED;
    weft_status_t status;
    weft_call_note_t before = weft_call_enter(message->params.loaded->plugin->name, "post");
    if (slot->apart != NULL) {
        op.bytes = sizeof(weft_message_header_t);
        status = message->params.payload->send(message->params.conn, &op, slot->apart, slot->bytes);
        *posted_p = status == WEFT_OK;
        status = status == WEFT_OK || status == WEFT_AGAIN
                     ? status
                     : weft_plugin_status(message->params.loaded, "send of a payload",
                                          WEFT_RETURNS_AGAIN, status);
    } else {
        status = message->params.net->post(message->params.conn, &op, 1, posted_p);
        if ((status != WEFT_OK && status != WEFT_AGAIN) || *posted_p > 1) {
            status = message_check_post(message, status, posted_p);
        }
    }
    weft_call_leave(before);
    if (*posted_p == 0) {
        slot->state = WEFT_SLOT_QUEUED;
    }
    return status;
}

/* Posts what waits, in order. */
static weft_status_t message_post(weft_message_port_t *message)
{
    while (message->unposted > 0 && message->port.broken == WEFT_OK) {
        uint32_t posted = 0;
        weft_status_t status = message_post_one(message, &posted);
        message->post_next += posted;
        message->unposted -= posted;
        if (status == WEFT_AGAIN || (status == WEFT_OK && posted == 0)) {
            weft_poll_list_add(message->params.list, &message->entry);
            return WEFT_OK; /* the next flush tries again */
        }
        if (status != WEFT_OK) {
            weft_message_port_break(message, status);
        }
    }
    return message->port.broken;
}

static weft_status_t message_push(weft_message_port_t *message, uint64_t bytes, void *apart)
{
    weft_message_slot_t *slot = &message->slot[weft_port_slot(&message->port)];
    weft_assert(bytes <= message->params.slot_bytes);
    slot->bytes = (uint32_t)bytes;
    slot->state = WEFT_SLOT_QUEUED;
    slot->apart = apart;
    message->port.next++;
    message->unposted++;
    return message_post(message);
}

weft_status_t weft_message_port_push(weft_message_port_t *message, uint64_t bytes)
{
    return message_push(message, bytes, NULL);
}

weft_status_t weft_message_port_open(weft_message_port_t *message, weft_net_region_t *region)
{
    message->region = region;
    if (message->port.sends) {
        return WEFT_OK;
    }
    for (uint32_t i = 0; i < message->port.slots; i++) {
        message->slot[i].state = WEFT_SLOT_QUEUED;
    }
    message->unposted = message->port.slots;
    return message_post(message);
}

weft_status_t weft_message_port_send_apart(weft_port_t *port, const weft_signature_t *signature,
                                           uint64_t bytes, const void *payload)
{
    weft_message_header_t *header =
        weft_message_header(port->payloads + weft_port_slot(port) * port->stride);
    weft_assert(port->next < port->limit);
    header->signature = *signature;
    header->bytes = bytes;
    /* Nobody writes through it: a send only reads. */
    return message_push(weft_message_port(port), bytes, (void *)(uintptr_t)payload);
}

weft_status_t weft_message_port_send(weft_port_t *port, const weft_signature_t *signature,
                                     uint64_t bytes)
{
    return weft_message_port_send_apart(port, signature, bytes, NULL);
}

void weft_message_port_place(weft_port_t *port, uint64_t ahead, void *to, uint64_t bytes)
{
    weft_message_port_t *message = weft_message_port(port);
    uint64_t number = port->next + ahead;
    weft_message_slot_t *slot = &message->slot[number & port->mask];
    const weft_net_payload_t *payload = message->params.payload;
    if (payload == NULL || message->proxy != NULL || bytes < WEFT_MESSAGE_APART ||
        ahead >= port->slots || number < message->placed || slot->state != WEFT_SLOT_POSTED) {
        return;
    }
    message->placed = number + 1;
    if (payload->place(message->params.conn, slot, sizeof(weft_message_header_t), to, bytes) ==
        WEFT_OK) {
        slot->apart = to;
        slot->bytes = (uint32_t)bytes;
    }
}

weft_status_t weft_message_port_release(weft_port_t *port)
{
    weft_message_port_t *message = weft_message_port(port);
    weft_assert(message->slot[weft_port_slot(port)].state == WEFT_SLOT_READY);
    return weft_message_port_push(message, 0);
}

bool weft_message_port_can_receive(weft_port_t *port)
{
    return port->next < port->limit;
}

const weft_signature_t *weft_message_port_signature(const weft_port_t *port)
{
    return &weft_message_header(port->payloads + weft_port_slot(port) * port->stride)->signature;
}

const weft_error_t *weft_message_port_why(const weft_port_t *port)
{
    return port->kind != WEFT_PORT_MAPPED && port->broken != WEFT_OK
               ? weft_message_port_const(port)->why
               : NULL;
}

void weft_message_port_recall(const weft_port_t *port)
{
    const weft_error_t *why = weft_message_port_why(port);
    if (why != NULL) {
        *weft_error_record() = *why;
    }
}

weft_status_t weft_message_port_flush(weft_port_t *port, bool *moved_p)
{
    weft_message_port_t *message = weft_message_port(port);
    weft_status_t status = message_post(message);
    (void)moved_p;
    weft_message_port_recall(port);
    return status == WEFT_OK && message->unposted > 0 ? WEFT_IN_PROGRESS : status;
}

/* A device knows a message port by its proxy only. */
void weft_message_port_fetch(weft_port_t *port)
{
    (void)port;
}

bool weft_message_port_is_dry(const weft_port_t *port)
{
    (void)port;
    return false;
}

/* Completions ---------------------------------------------------------------------------------- */

/* The peer is authenticated, but its lengths are not trusted. The header of a message on the
 * device is not looked at: its length is what came. */
static bool message_has_its_length(const weft_message_slot_t *slot, uint64_t came)
{
    const weft_message_port_t *message = slot->port;
    if (came < sizeof(weft_message_header_t) || came > message->port.stride) {
        return false;
    }
    if (message->port.kind == WEFT_PORT_GPUDIRECT) {
        return true;
    }
    const uint8_t *at = message->memory + (uint64_t)(slot - message->slot) * message->port.stride;
    uint64_t bytes = ((const weft_message_header_t *)(const void *)at)->bytes;
    return bytes == came - sizeof(weft_message_header_t);
}

/* Raises the limit beyond all messages in order whose slots are in `state`. */
static void message_raise_limit(weft_message_port_t *message, weft_slot_state_t state)
{
    weft_port_t *port = &message->port;
    uint64_t end = port->next + port->slots;
    while (port->limit != end && message->slot[port->limit & port->mask].state == state) {
        port->limit++;
    }
}

void weft_message_port_complete(const weft_net_completion_t *completion)
{
    weft_message_slot_t *slot = completion->context;
    weft_message_port_t *message = slot->port;
    weft_assert(slot->state == WEFT_SLOT_POSTED);
    if (completion->status != WEFT_OK) {
        weft_message_port_break(message,
                                weft_plugin_status(message->params.loaded, "a completion of poll",
                                                   WEFT_RETURNS_FINAL, completion->status));
        return;
    }
    if (message->port.sends) {
        slot->state = WEFT_SLOT_FREE;
        message_raise_limit(message, WEFT_SLOT_FREE);
        return;
    }
    if (!message_has_its_length(slot, completion->bytes)) {
        weft_message_port_break(
            message, weft_fail(WEFT_ERR_PROTO, 0,
                               "rank %u sent a message of %llu bytes with a wrong length field",
                               message->port.peer, (unsigned long long)completion->bytes));
        return;
    }
    slot->state = WEFT_SLOT_READY;
    if (completion->bytes != sizeof(weft_message_header_t) + slot->bytes) {
        slot->apart = NULL; /* it had another length, and went to the slot */
    }
    if (message->port.kind == WEFT_PORT_MESSAGE) {
        message_raise_limit(message, WEFT_SLOT_READY);
    }
}
