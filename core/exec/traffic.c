/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What goes over links that are ready: completions, posts that had to wait, relays, and whether peers are still
 * there. */
#include "core/base/error.h"
#include "core/exec/link.h"
#include "core/exec/relay.h"

bool weft_links_have_messages(const weft_links_t *links)
{
    return links->messages > 0;
}

/* What an adapter wrote may still be on its way to the device when its completion is here. */
static weft_status_t see_messages(const weft_links_t *links, const weft_net_completion_t *came,
                                  uint32_t count)
{
    const weft_direct_t *direct = &links->setup.direct;
    bool any = false;
    for (uint32_t c = 0; c < count; c++) {
        const weft_message_slot_t *slot = came[c].context;
        any = any || (slot->port->direct != NULL && !slot->port->sends);
    }
    return any ? direct->ops->flush(direct->kernel) : WEFT_OK;
}

weft_status_t weft_links_poll(weft_links_t *links)
{
    enum { BATCH = 16 };
    weft_net_completion_t completions[BATCH];
    links->making = false;
    for (uint32_t i = 0; i < weft_nets_count(links->setup.nets); i++) {
        const weft_links_net_t *net = weft_links_net(links, i);
        if (net->map != NULL || links->device[i] == NULL) {
            continue;
        }
        uint32_t count = 0;
        weft_status_t status = net->ops->poll(links->device[i], completions, BATCH, &count);
        status = status == WEFT_OK ? see_messages(links, completions, count) : status;
        if (status != WEFT_OK) {
            return status;
        }
        for (uint32_t c = 0; c < count; c++) {
            weft_port_complete(&completions[c]);
        }
    }
    return WEFT_OK;
}

weft_status_t weft_links_wait_fd(weft_links_t *links, int *fd_p)
{
    uint32_t found = WEFT_NETS_MAX;
    if (links->making) {
        return WEFT_ERR_UNSUPPORTED; /* The listeners have devices of their own. */
    }
    for (uint32_t i = 0; i < weft_nets_count(links->setup.nets); i++) {
        if (weft_links_net(links, i)->map != NULL || links->device[i] == NULL) {
            continue;
        }
        if (found != WEFT_NETS_MAX) {
            return WEFT_ERR_UNSUPPORTED;
        }
        found = i;
    }
    if (found == WEFT_NETS_MAX ||
        !WEFT_HAS(weft_links_net(links, found)->ops, weft_net_ops_t, wait_fd)) {
        return WEFT_ERR_UNSUPPORTED;
    }
    return weft_links_net(links, found)->ops->wait_fd(links->device[found], fd_p);
}

weft_status_t weft_links_check(weft_links_t *links, const weft_port_t *port)
{
    weft_status_t status = WEFT_OK;
    weft_link_t *link = links->first;
    while (link != NULL && port != &link->send && port != &link->receive) {
        link = link->next;
    }
    if (link != NULL) {
        const weft_links_net_t *net = weft_links_net(links, link->net);
        weft_links_enter(links, net);
        status = net->ops->conn_check(link->conn);
        weft_links_leave(links, net);
    }
    return status;
}

const char *weft_links_transport(const weft_links_t *links, uint32_t peer)
{
    if (links == NULL || peer >= links->setup.nranks || peer == links->setup.rank) {
        return "";
    }
    return weft_links_net(links, weft_nets_of(links->setup.nets, links->setup.family[peer]))
        ->loaded->plugin->name;
}

bool weft_links_is_direct(const weft_links_t *links, uint32_t peer)
{
    const weft_link_t *link = links->first;
    while (link != NULL && (link->peer != peer || !weft_link_is_direct(link))) {
        link = link->next;
    }
    return link != NULL;
}

/* A port that broke still has what came before. */
static weft_status_t flush_port(weft_port_t *port, bool *moved_p)
{
    if (port->relay != NULL) {
        weft_relay_step(port->relay, moved_p);
    }
    return weft_port_flush(port);
}

/* All of them, also behind one that broke: nobody may need that one any more. */
weft_status_t weft_links_flush(weft_links_t *links, bool *moved_p)
{
    weft_status_t first = WEFT_OK;
    uint32_t peer = 0;
    for (weft_link_t *link = links->first; link != NULL; link = link->next) {
        if (link->state != WEFT_LINK_READY || weft_links_net(links, link->net)->map != NULL) {
            continue;
        }
        weft_status_t sends = flush_port(&link->send, moved_p);
        weft_status_t receives = flush_port(&link->receive, moved_p);
        if (first == WEFT_OK && (sends != WEFT_OK || receives != WEFT_OK)) {
            first = sends != WEFT_OK ? sends : receives;
            peer = link->peer;
        }
    }
    if (first != WEFT_OK) {
        weft_error_record()->peer = (int32_t)peer;
    }
    return first;
}

weft_status_t weft_links_show_windows(weft_links_t *links)
{
    weft_status_t status = WEFT_OK;
    for (weft_link_t *link = links->first; link != NULL && status == WEFT_OK; link = link->next) {
        status = weft_port_show_windows(&link->send);
        status = status == WEFT_OK ? weft_port_show_windows(&link->receive) : status;
    }
    return status;
}

bool weft_links_have_unsent(const weft_links_t *links)
{
    const weft_link_t *link = links->first;
    while (link != NULL && (link->state != WEFT_LINK_READY || link->send.relay == NULL ||
                            link->send.broken != WEFT_OK || !weft_port_holds(&link->send))) {
        link = link->next;
    }
    return link != NULL;
}
