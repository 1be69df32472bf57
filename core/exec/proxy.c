/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Proxies. The words of the FIFO are those of slot.h, with their order. The device is trusted as
 * the host is. What comes from the peer was checked on completion (message_port.c). */
#include "core/exec/proxy.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/exec/gpudirect_port.h"
#include "core/os/os.h"

/* Set-up --------------------------------------------------------------------------------------- */

static void proxy_destroy(weft_proxy_t *proxy)
{
    weft_os_pages_free(proxy->memory, proxy->bytes);
    weft_os_free(proxy);
}

static void proxy_message_fini(weft_port_t *port)
{
    proxy_destroy(weft_message_port(port)->proxy);
    weft_message_port_fini(port);
}

static void proxy_gpudirect_fini(weft_port_t *port)
{
    proxy_destroy(weft_message_port(port)->proxy);
    weft_gpudirect_port_fini(port);
}

/* A port that broke still has what came before. The device may move at any time, so the port never
 * leaves the list. */
static weft_status_t proxy_flush(weft_port_t *port, bool *moved_p)
{
    weft_proxy_step(weft_message_port(port)->proxy, moved_p);
    weft_status_t status = weft_message_port_flush(port, moved_p);
    return status == WEFT_OK ? WEFT_IN_PROGRESS : status;
}

/* The proxy keeps the number of the port up to date. */
static void proxy_fetch(weft_port_t *port)
{
    bool moved = false;
    weft_proxy_step(weft_message_port(port)->proxy, &moved);
}

static bool proxy_is_dry(const weft_port_t *port)
{
    return weft_proxy_is_dry(weft_message_port_const(port)->proxy);
}

static const weft_port_ops_t message_with_proxy = {.send = weft_message_port_send,
                                                   .release = weft_message_port_release,
                                                   .can_receive = weft_message_port_can_receive,
                                                   .signature = weft_message_port_signature,
                                                   .flush = proxy_flush,
                                                   .fetch = proxy_fetch,
                                                   .is_dry = proxy_is_dry,
                                                   .fini = proxy_message_fini};

static const weft_port_ops_t gpudirect_with_proxy = {.send = weft_gpudirect_port_send,
                                                     .release = weft_message_port_release,
                                                     .can_receive = weft_gpudirect_port_can_receive,
                                                     .signature = weft_gpudirect_port_signature,
                                                     .flush = proxy_flush,
                                                     .fetch = proxy_fetch,
                                                     .is_dry = proxy_is_dry,
                                                     .fini = proxy_gpudirect_fini};

static bool proxy_is_gpudirect(const weft_proxy_t *proxy)
{
    return proxy->message->port.kind == WEFT_PORT_GPUDIRECT;
}

weft_status_t weft_proxy_ensure(weft_message_port_t *message)
{
    weft_port_t *port = &message->port;
    if (message->proxy != NULL) {
        return WEFT_OK;
    }
    size_t headers = port->slots * sizeof(weft_slot_header_t);
    size_t bytes = sizeof(weft_fifo_control_t) + headers + port->slots * sizeof(uint32_t);
    weft_proxy_t *proxy = weft_os_alloc(sizeof *proxy, 0);
    uint8_t *memory = proxy != NULL ? weft_os_shared_pages(bytes) : NULL;
    if (memory == NULL) {
        weft_os_free(proxy);
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM,
                         "cannot allocate %zu bytes between a device and rank %u", bytes,
                         port->peer);
    }
    *proxy = (weft_proxy_t){.message = message, .memory = memory, .bytes = bytes};
    proxy->control = (weft_fifo_control_t *)(void *)memory;
    proxy->headers = (weft_slot_header_t *)(proxy->control + 1);
    proxy->lengths = (uint32_t *)(proxy->headers + port->slots);
    message->proxy = proxy;
    port->ops = proxy_is_gpudirect(proxy) ? &gpudirect_with_proxy : &message_with_proxy;
    weft_poll_list_add(message->params.list, &message->entry);
    return WEFT_OK;
}

void weft_proxy_describe(const weft_proxy_t *proxy, weft_lanes_port_t *port)
{
    /* Payloads stay where the transport has them. */
    port->fifo = proxy->memory;
    port->fifo_bytes = proxy->bytes;
    port->payloads = proxy->message->port.payloads;
    port->stride = proxy->message->port.stride;
    port->slot_bytes = proxy->message->params.slot_bytes;
    port->on_device = proxy_is_gpudirect(proxy);
    port->lengths = proxy->lengths;
    port->gpudirect = proxy_is_gpudirect(proxy);
}

/* Sends ---------------------------------------------------------------------------------------- */

static bool proxy_may_send(const weft_proxy_t *proxy)
{
    const weft_port_t *port = &proxy->message->port;
    return atomic_load_explicit(&proxy->headers[port->next & port->mask].sequence,
                                memory_order_acquire) == port->next + 1;
}

/* The slot is free: the device publishes no message before `released` says so. Returns false if the
 * device names an impossible length. */
static bool proxy_send_one(weft_proxy_t *proxy)
{
    weft_port_t *port = &proxy->message->port;
    uint32_t at = weft_port_slot(port);
    const weft_slot_header_t *header = &proxy->headers[at];
    uint32_t bytes = proxy->lengths[at];
    if (bytes > proxy->message->params.slot_bytes) {
        weft_message_port_break(
            proxy->message,
            weft_fail(WEFT_ERR_INTERNAL, 0, "a device sends %u bytes to rank %u, in a slot of %llu",
                      bytes, port->peer, (unsigned long long)proxy->message->params.slot_bytes));
        return false;
    }
    /* The next flush tells what goes wrong with a post. */
    if (proxy_is_gpudirect(proxy)) {
        (void)weft_message_port_push(proxy->message, bytes);
        return true;
    }
    if (bytes <= WEFT_SLOT_INLINE) {
        memcpy(port->payloads + at * port->stride, header->payload, bytes);
    }
    (void)weft_message_port_send(port, &header->signature, bytes);
    return true;
}

static void proxy_pass_sends(weft_proxy_t *proxy, bool *moved_p)
{
    weft_port_t *port = &proxy->message->port;
    while (proxy_may_send(proxy) && proxy_send_one(proxy)) {
        *moved_p = true;
    }
    uint64_t passed = port->limit - port->slots; /* the transport has released all before it */
    if (passed != proxy->passed) {
        proxy->passed = passed;
        atomic_store_explicit(&proxy->control->released, passed, memory_order_release);
        *moved_p = true;
    }
}

/* Receives ------------------------------------------------------------------------------------- */

static void proxy_copy_header(weft_slot_header_t *header, const weft_message_header_t *message)
{
    header->signature = message->signature;
    if (message->bytes <= WEFT_SLOT_INLINE) {
        memcpy(header->payload, message + 1, message->bytes);
    }
}

static void proxy_show_one(weft_proxy_t *proxy)
{
    const weft_port_t *port = &proxy->message->port;
    uint32_t at = (uint32_t)proxy->passed & port->mask;
    weft_slot_header_t *header = &proxy->headers[at];
    if (!proxy_is_gpudirect(proxy)) {
        proxy_copy_header(header, weft_message_header(port->payloads + at * port->stride));
    }
    proxy->passed++;
    atomic_store_explicit(&header->sequence, proxy->passed, memory_order_release);
}

static bool proxy_may_show(const weft_proxy_t *proxy)
{
    const weft_port_t *port = &proxy->message->port;
    return proxy->passed < port->next + port->slots &&
           proxy->message->slot[proxy->passed & port->mask].state == WEFT_SLOT_READY;
}

static void proxy_pass_receives(weft_proxy_t *proxy, bool *moved_p)
{
    weft_port_t *port = &proxy->message->port;
    if (proxy->passed < port->next) {
        proxy->passed = port->next; /* the host ran in between */
    }
    while (proxy_may_show(proxy)) {
        proxy_show_one(proxy);
        *moved_p = true;
    }
    uint64_t released = atomic_load_explicit(&proxy->control->released, memory_order_acquire);
    while (port->next < released) {
        /* The next receive tells if the slot cannot be offered again, as in a run of the host. */
        (void)weft_message_port_release(port);
        *moved_p = true;
    }
}

void weft_proxy_step(weft_proxy_t *proxy, bool *moved_p)
{
    if (proxy->message->port.sends) {
        proxy_pass_sends(proxy, moved_p);
    } else {
        proxy_pass_receives(proxy, moved_p);
    }
}

bool weft_proxy_is_dry(const weft_proxy_t *proxy)
{
    const weft_port_t *port = &proxy->message->port;
    bool empty = port->sends || (proxy->passed == port->next && !proxy_may_show(proxy));
    return port->broken != WEFT_OK && empty;
}

bool weft_proxy_has_unsent(const weft_message_port_t *message)
{
    const weft_port_t *port = &message->port;
    return message->proxy != NULL && port->sends && port->broken == WEFT_OK &&
           port->limit != port->next + port->slots;
}
