/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Traffic of the links that are ready. */
#include "core/exec/traffic.h"

#include <poll.h>
#include <stddef.h>
#include <string.h>

#include "core/base/error.h"
#include "core/exec/landing.h"
#include "core/exec/link_state.h"
#include "core/exec/port.h"
#include "core/exec/port_export.h"
#include "core/exec/proxy.h"
#include "core/exec/slot_pool.h"
#include "core/exec/zero_copy.h"
#include "core/os/os_socket.h"
#include "core/plugin/plugin_status.h"

/* Between two looks for peers that connect. After one that finds somebody, who has more to say,
 * they are more frequent for LISTEN_NS. */
#define LISTEN_NS WEFT_NS_PER_MS
#define CALLED_NS (UINT64_C(20) * 1000)

bool weft_links_have_messages(const weft_links_t *links)
{
    return links != NULL && links->messages > 0;
}

bool weft_links_ask_transports(const weft_links_t *links)
{
    return links != NULL && (links->messages > 0 || links->making);
}

bool weft_links_are_called(const weft_links_t *links)
{
    return links != NULL && links->called;
}

bool weft_links_are_mixed(const weft_links_t *links)
{
    return weft_links_are_called(links) || (weft_links_ask_transports(links) && links->mapped > 0);
}

/* Makes the device see messages that an adapter wrote: they may still be on their way when the
 * completion is here. */
static weft_status_t traffic_see_messages(const weft_links_t *links,
                                          const weft_net_completion_t *came, uint32_t count)
{
    const weft_gpudirect_t *gpudirect = &links->setup.gpudirect;
    bool any = false;
    for (uint32_t c = 0; c < count; c++) {
        const weft_message_slot_t *slot = came[c].context;
        const weft_port_t *port = &slot->port->port;
        any = any || (port->kind == WEFT_PORT_GPUDIRECT && !port->sends);
    }
    return any ? gpudirect->ops->flush(gpudirect->kernel) : WEFT_OK;
}

enum { BATCH = 16 }; /* completions that are asked for at once */

static weft_status_t traffic_check_poll(const weft_transport_t *transport, weft_status_t status,
                                        uint32_t count)
{
    if (status == WEFT_OK && count > BATCH) {
        return weft_fail(WEFT_ERR_PLUGIN, 0, "%s: poll stored %u in *count_p, expected at most %d",
                         transport->loaded->plugin->name, count, BATCH);
    }
    return weft_plugin_status(transport->loaded, "poll", WEFT_RETURNS_FINAL, status);
}

weft_status_t weft_links_poll(weft_links_t *links)
{
    weft_net_completion_t completions[BATCH];
    for (uint32_t i = 0; i < weft_transports_count(links->setup.transports); i++) {
        const weft_transport_t *transport = weft_links_transport(links, i);
        if (transport->map != NULL || links->adapter[i] == NULL) {
            continue;
        }
        uint32_t count = 0;
        weft_call_note_t before = weft_call_enter(transport->loaded->plugin->name, "poll");
        weft_status_t status = transport->ops->poll(links->adapter[i], completions, BATCH, &count);
        weft_call_leave(before);
        if (status != WEFT_OK || count > BATCH) {
            status = traffic_check_poll(transport, status, count);
        }
        status = status == WEFT_OK ? traffic_see_messages(links, completions, count) : status;
        if (status != WEFT_OK) {
            return status;
        }
        links->events += count;
        for (uint32_t c = 0; c < count; c++) {
            weft_message_port_complete(&completions[c]);
        }
    }
    return WEFT_OK;
}

uint64_t weft_links_events(const weft_links_t *links)
{
    return links == NULL ? 0 : links->events;
}

uint64_t weft_links_begin_step(weft_links_t *links)
{
    if (links != NULL) {
        links->made_before = links->making;
        links->making = false;
    }
    return weft_links_events(links);
}

/* What a sleep waits for. */
typedef struct traffic_watch {
    struct pollfd fds[WEFT_LINKS_WATCHED];
    uint32_t count;
    bool ready;  /* something is there already */
    bool cannot; /* a transport does not tell */
} traffic_watch_t;

static void traffic_watch_add(weft_links_t *links, const weft_transport_t *transport,
                              weft_net_device_t *device, traffic_watch_t *watch)
{
    int fd = -1;
    if (!WEFT_HAS(transport->ops, weft_net_ops_t, wait_fd)) {
        watch->cannot = true;
        return;
    }
    bool shared = device == transport->adapter;
    const weft_error_t kept = *weft_error_record();
    if (shared) {
        weft_transports_lock(links->setup.transports);
    }
    weft_status_t status = transport->ops->wait_fd(device, &fd);
    if (shared) {
        weft_transports_unlock(links->setup.transports);
    }
    watch->ready |= status == WEFT_AGAIN;
    if (status < 0) { /* which fails nothing: the sleep is short */
        watch->cannot = true;
        *weft_error_record() = kept;
    }
    watch->fds[watch->count++] = (struct pollfd){.fd = fd, .events = POLLIN};
}

/* While links are made the listeners count, which are on the adapters of the family, and so do
 * mapped connections; else only what carries messages. */
static void traffic_watch_all(weft_links_t *links, traffic_watch_t *watch)
{
    for (uint32_t i = 0; i < weft_transports_count(links->setup.transports); i++) {
        const weft_transport_t *transport = weft_links_transport(links, i);
        weft_net_device_t *mine = links->adapter[i];
        if (links->making && transport->adapter != NULL) {
            traffic_watch_add(links, transport, transport->adapter, watch);
        }
        if (mine != NULL && transport->map == NULL &&
            !(links->making && mine == transport->adapter)) {
            traffic_watch_add(links, transport, mine, watch);
        }
    }
}

bool weft_links_sleep(weft_links_t *links, uint64_t timeout_ns)
{
    traffic_watch_t watch = {.count = 0};
    if (links != NULL && (links->making || links->messages > 0)) {
        traffic_watch_all(links, &watch);
    }
    if (watch.cannot || (watch.count == 0 && !watch.ready)) {
        return false;
    }
    if (!watch.ready) {
        weft_os_poll(watch.fds, watch.count, weft_os_clock_ns() + timeout_ns);
    }
    return true;
}

uint32_t weft_links_watch(weft_links_t *links, struct pollfd fds[WEFT_LINKS_WATCHED])
{
    traffic_watch_t watch = {.count = 0};
    if (weft_links_ask_transports(links) && links->mapped == 0) {
        traffic_watch_all(links, &watch);
    }
    if (watch.cannot || watch.ready) {
        return 0;
    }
    memcpy(fds, watch.fds, watch.count * sizeof fds[0]);
    return watch.count;
}

/* Returns whether somebody may be connecting: the answer to a connection that another thread makes,
 * or a message on one that waits for its communicator, looks the same. */
static bool traffic_is_called(weft_links_t *links, bool *cannot_p)
{
    traffic_watch_t watch = {.count = 0};
    for (uint32_t i = 0; i < weft_transports_count(links->setup.transports); i++) {
        const weft_transport_t *transport = weft_links_transport(links, i);
        if (transport->adapter != NULL && weft_transport_serves(transport, links->user.first)) {
            traffic_watch_add(links, transport, transport->adapter, &watch);
        }
    }
    *cannot_p = watch.cannot;
    return watch.ready || (watch.count > 0 && weft_os_poll(watch.fds, watch.count, 0) > 0);
}

void weft_links_expect(weft_links_t *links, uint64_t now)
{
    links->called = true;
    links->called_until = now + LISTEN_NS;
    links->listen_at = now + CALLED_NS;
}

bool weft_links_listen(weft_links_t *links, uint64_t now)
{
    if (links == NULL || now < links->listen_at) {
        return false;
    }
    const weft_error_t before = *weft_error_record();
    bool cannot, here = traffic_is_called(links, &cannot);
    links->called_until = here ? now + LISTEN_NS : links->called_until;
    links->called = now < links->called_until;
    links->listen_at = now + (links->called ? CALLED_NS : LISTEN_NS);
    if (here || cannot) {
        (void)weft_transports_take_in(links->setup.transports, links->user.first);
    }
    *weft_error_record() = before;
    return true;
}

/* Returns the link around a port, whose direction says which of the two it is. */
static const weft_link_t *traffic_link_of(const weft_port_t *port)
{
    size_t at = port->sends ? offsetof(weft_link_t, send) : offsetof(weft_link_t, receive);
    return (const weft_link_t *)((uintptr_t)port - at);
}

weft_status_t weft_links_check(weft_links_t *links, const weft_port_t *port)
{
    const weft_link_t *link = traffic_link_of(port);
    const weft_transport_t *transport = weft_links_transport(links, link->transport);
    weft_assert(link->node.peer == port->peer);
    weft_links_lock(links, transport);
    weft_status_t status = transport->ops->conn_check(link->conn);
    weft_links_unlock(links, transport);
    return weft_plugin_status(transport->loaded, "conn_check", WEFT_RETURNS_FINAL, status);
}

const char *weft_links_transport_name(const weft_links_t *links, uint32_t peer)
{
    if (links == NULL || peer >= links->setup.nranks || peer == links->setup.rank) {
        return "";
    }
    return weft_links_transport(
               links, weft_transports_index(links->setup.transports, links->setup.family[peer]))
        ->loaded->plugin->name;
}

bool weft_links_is_gpudirect(const weft_links_t *links, uint32_t peer)
{
    const weft_link_t *link = links->first;
    while (link != NULL && (link->node.peer != peer || !weft_link_is_gpudirect(link))) {
        link = link->next;
    }
    return link != NULL;
}

weft_status_t weft_links_flush(weft_links_t *links, bool *moved_p)
{
    uint32_t peer = 0;
    weft_status_t status = weft_poll_list_flush(&links->busy, moved_p, &peer);
    if (status != WEFT_OK) {
        weft_error_record()->peer = (int32_t)peer;
    }
    return status;
}

static bool links_port_is_lost(const weft_links_t *links, const weft_port_t *port)
{
    return port->broken != WEFT_OK && weft_port_holds(port) && weft_links_miss(links, port->peer);
}

weft_port_t *weft_links_lost(const weft_links_t *links)
{
    const weft_poll_entry_t *entry = links->busy.first;
    while (entry != NULL && !links_port_is_lost(links, entry->port)) {
        entry = entry->next;
    }
    return entry != NULL ? entry->port : NULL;
}

/* A peer that has closed its end (PEER_DEAD) may have had a reason that is not the device's. */
static bool links_link_failed(const weft_links_t *links, const weft_link_t *link)
{
    return link->state == WEFT_LINK_READY && weft_links_miss(links, link->node.peer) &&
           (link->send.head.broken == WEFT_ERR_LINK || link->receive.head.broken == WEFT_ERR_LINK);
}

const weft_transport_t *weft_links_avoid_lost(weft_links_t *links)
{
    const weft_transport_t *lost = NULL;
    for (weft_link_t *link = links != NULL ? links->first : NULL; link != NULL; link = link->next) {
        if (links_link_failed(links, link) && weft_link_devices(links, link) > 1) {
            weft_transports_avoid(links->setup.transports, link->transport,
                                  weft_error_record()->text);
            lost = weft_transports_get(links->setup.transports, link->transport);
        }
    }
    return lost;
}

weft_status_t weft_links_announce_windows(weft_links_t *links)
{
    weft_status_t status = WEFT_OK;
    for (weft_link_t *link = links->first; link != NULL && status == WEFT_OK; link = link->next) {
        status = weft_port_announce_windows(&link->send.head);
        status = status == WEFT_OK ? weft_port_announce_windows(&link->receive.head) : status;
    }
    return status;
}

void weft_links_withdraw_memory(weft_links_t *links)
{
    for (weft_link_t *link = links != NULL ? links->first : NULL; link != NULL; link = link->next) {
        /* Memory may have ended between the making of one end and that of the other. */
        if (link->send.head.ops != NULL) {
            weft_zero_copy_withdraw(&link->send.head);
        }
        if (link->receive.head.ops != NULL) {
            weft_landing_withdraw(&link->receive.head);
        }
    }
}

void weft_links_sweep(weft_links_t *links)
{
    if (links != NULL) {
        weft_slot_pool_sweep(&links->pool);
    }
}

void weft_links_look_for_idle(weft_links_t *links, uint64_t now)
{
    weft_slot_pool_look(&links->pool, now);
}

bool weft_links_have_unsent(const weft_links_t *links)
{
    const weft_poll_entry_t *entry = links->busy.first;
    while (entry != NULL && !weft_proxy_has_unsent(weft_message_port_const(entry->port))) {
        entry = entry->next;
    }
    return entry != NULL;
}
