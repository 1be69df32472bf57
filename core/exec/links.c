/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Links: connecting, accepting, agreeing where slots lie. Their ports are made in link_ports.c. */
#include "core/exec/links.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/exec/link_adapters.h"
#include "core/exec/link_ports.h"
#include "core/exec/link_state.h"
#include "core/os/os.h"
#include "core/plugin/plugin_status.h"

/* An acceptor that is busy lets a handshake expire, which another try heals; one that refuses stays
 * so. */
#define TRIES 4
#define PATIENT_NS WEFT_NS_PER_S
#define RETRY_NS (20 * WEFT_NS_PER_MS)

weft_status_t weft_links_create(const weft_links_setup_t *setup, weft_links_t **links_p)
{
    weft_links_t *links = weft_os_alloc(sizeof *links, 0);
    if (links == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate links");
    }
    links->setup = *setup;
    links->pool.limit = setup->pool_bytes;
    links->user = (weft_transports_user_t){
        .comm_id = setup->comm_id, .leavers = setup->leavers, .first = setup->first};
    weft_transports_add_user(setup->transports, &links->user);
    *links_p = links;
    return WEFT_OK;
}

static void links_link_close_conn(weft_links_t *links, weft_link_t *link)
{
    const weft_transport_t *transport = weft_links_transport(links, link->transport);
    weft_links_lock(links, transport);
    transport->ops->conn_close(link->conn);
    weft_links_unlock(links, transport);
    link->conn = NULL;
}

static void links_link_close(weft_links_t *links, weft_link_t *link)
{
    weft_link_leave_ports(links, link);
    if (link->conn != NULL) {
        links_link_close_conn(links, link);
    }
    weft_link_close_ports(links, link);
    weft_os_free(link);
}

void weft_links_destroy(weft_links_t *links)
{
    if (links == NULL) {
        return;
    }
    while (links->first != NULL) {
        weft_link_t *link = links->first;
        links->first = link->next;
        links_link_close(links, link);
    }
    weft_link_table_fini(&links->table);
    weft_transports_remove_user(links->setup.transports, &links->user);
    weft_links_close_adapters(links);
    weft_os_free(links);
}

static weft_link_t *links_find(const weft_links_t *links, uint32_t peer, uint32_t channel)
{
    _Static_assert(offsetof(weft_link_t, node) == 0, "a node is its link");
    return (weft_link_t *)weft_link_table_find(&links->table, peer, channel);
}

static void links_set_pending(weft_links_t *links, weft_link_t *link)
{
    if (!link->pending) {
        weft_os_open_standard(); /* the program may have closed some since it joined */
        link->pending = true;
        link->next_pending = links->pending;
        links->pending = link;
    }
}

static weft_link_t *links_add(weft_links_t *links, uint32_t peer, uint32_t channel,
                              uint32_t transport)
{
    weft_link_t *link = weft_os_alloc(sizeof *link, 0);
    if (link == NULL) {
        return NULL;
    }
    link->node = (weft_link_node_t){.peer = peer, .channel = channel};
    link->transport = transport;
    if (weft_link_table_add(&links->table, &link->node) != WEFT_OK) {
        weft_os_free(link);
        return NULL;
    }
    link->next = links->first;
    links->first = link;
    return link;
}

static weft_status_t links_link_begin_conn(weft_links_t *links, weft_link_t *link)
{
    const weft_transport_t *transport = weft_links_transport(links, link->transport);
    const weft_links_setup_t *setup = &links->setup;
    weft_status_t status = weft_links_open_adapter(links, link->transport);
    if (status != WEFT_OK) {
        return status;
    }
    weft_net_conn_params_t params = {.size = sizeof params};
    weft_conn_label_t label = {.comm_id = setup->comm_id,
                               .slot_bytes = setup->fifo.slot_bytes,
                               .from = setup->rank,
                               .to = link->node.peer,
                               .channel = link->node.channel,
                               .slots = setup->fifo.slots};
    memcpy(params.label, &label, sizeof label);
    if (transport->map != NULL) {
        weft_pair_layout_t layout = weft_links_layout(links);
        params.map_bytes = layout.bytes;
        params.commit_bytes =
            weft_links_can_commit(links, transport) ? layout.commit : layout.bytes;
    }
    weft_net_address_t address;
    weft_transports_address(setup->transports, setup->family[link->node.peer], link->transport,
                            &address);
    link->begun = weft_os_clock_ns();
    weft_links_lock(links, transport);
    status = transport->ops->connect_begin(links->adapter[link->transport], &address, &params,
                                           &link->conn);
    weft_links_unlock(links, transport);
    return weft_plugin_status(transport->loaded, "connect_begin", WEFT_RETURNS_FINAL, status);
}

/* Goes on to the next device. The link may have begun at another one than its own, so it comes
 * round. */
static void links_link_move(const weft_links_t *links, weft_link_t *link)
{
    const weft_links_setup_t *setup = &links->setup;
    uint32_t before = link->transport, count = weft_link_devices(links, link);
    while (link->transport == before && link->moves < count) {
        link->moves++;
        link->transport = weft_transports_spread(setup->transports, setup->family[link->node.peer],
                                                 link->node.channel, link->moves, NULL);
    }
    link->tries = 0;
}

/* Decides what follows a failed try. Returns OK if there will be another, else the failure. After a
 * try that took long nobody knows whether the peer is late or the device fails: another one may
 * tell. */
static weft_status_t links_link_try_again(weft_links_t *links, weft_link_t *link,
                                          weft_status_t status)
{
    uint64_t now = weft_os_clock_ns();
    uint32_t devices = weft_link_devices(links, link);
    bool expired = now - link->begun > PATIENT_NS, moves = devices > 1 && link->moves < devices;
    link->tries = !expired ? link->tries + 1 : moves ? TRIES : 0;
    if (status != WEFT_ERR_LINK || (link->tries == TRIES && !moves)) {
        return status;
    }
    weft_log(WEFT_LOG_INFO, "links", "rank %u to %u: %s; trying again", links->setup.rank,
             link->node.peer, weft_error_record()->text);
    links_link_close_conn(links, link);
    if (link->tries == TRIES) {
        links_link_move(links, link);
    }
    link->retry_at = now + (RETRY_NS << 2 * link->tries);
    return WEFT_OK;
}

/* Makes a link that is to be connected. NULL: there is no memory. */
static weft_link_t *links_add_pending(weft_links_t *links, uint32_t peer, uint32_t channel)
{
    const weft_links_setup_t *s = &links->setup;
    uint32_t net = weft_transports_spread(s->transports, s->family[peer], channel, 0, NULL);
    weft_link_t *link = links_add(links, peer, channel, net);
    if (link != NULL) {
        links_set_pending(links, link);
    }
    return link;
}

static weft_status_t links_connect(weft_links_t *links, uint32_t peer, uint32_t channel)
{
    weft_link_t *link = links_add_pending(links, peer, channel);
    if (link == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate a link to rank %u", peer);
    }
    weft_status_t status = links_link_begin_conn(links, link);
    link->lost = status == WEFT_OK ? status : links_link_try_again(links, link, status);
    return link->lost;
}

uint32_t weft_links_number(const weft_links_t *links, uint32_t peer, uint32_t channel)
{
    return weft_transports_number(links->setup.transports, links->setup.family[peer], channel);
}

weft_port_t *weft_links_port(weft_links_t *links, uint32_t peer, uint32_t channel, bool sends)
{
    channel = weft_links_number(links, peer, channel);
    weft_link_t *link = links_find(links, peer, channel);
    if (link == NULL && links->setup.rank < peer) {
        (void)links_connect(links, peer, channel); /* told by weft_links_progress */
    }
    if (link == NULL) {
        return NULL;
    }
    link->offered = false;
    if (link->state != WEFT_LINK_READY) {
        return NULL;
    }
    link->asked[sends] = true;
    if (!link->settled[sends]) {
        links_set_pending(links, link);
        return NULL;
    }
    return sends ? &link->send.head : &link->receive.head;
}

/* The label passed the authentication, so a wrong one is a fault, not an attack. */
static weft_status_t links_check_label(const weft_links_t *links, uint32_t index,
                                       const weft_conn_label_t *label)
{
    const weft_links_setup_t *setup = &links->setup;
    const char *field = NULL;
    if (label->to != setup->rank || label->from >= setup->rank) {
        field = "rank";
    } else if (label->slots != setup->fifo.slots || label->slot_bytes != setup->fifo.slot_bytes) {
        field = "slots";
    }
    const char *name = weft_links_transport(links, index)->loaded->plugin->name;
    return field == NULL ? WEFT_OK
                         : weft_fail(WEFT_ERR_PROTO, 0, "%s: conn_info of rank %u: wrong label: %s",
                                     name, label->from, field);
}

static weft_status_t links_attach(weft_links_t *links, uint32_t index, weft_net_conn_t *conn)
{
    const weft_transport_t *transport = weft_links_transport(links, index);
    weft_status_t status = weft_links_open_adapter(links, index);
    if (status == WEFT_OK && !weft_links_shares_adapter(transport)) {
        weft_transports_lock(links->setup.transports);
        status = transport->attach->attach(conn, links->adapter[index]);
        weft_transports_unlock(links->setup.transports);
        status = weft_plugin_status(transport->loaded, "attach", WEFT_RETURNS_FINAL, status);
    }
    return status;
}

/* Who connects again has lost what this end holds, as by a reset at the end of the handshake. Links
 * are not made again: it finds that its tries fail. */
static weft_status_t links_take_connection(weft_links_t *links, uint32_t index,
                                           weft_net_conn_t *conn, const weft_conn_label_t *label)
{
    weft_status_t status = links_check_label(links, index, label);
    bool again = status == WEFT_OK && links_find(links, label->from, label->channel) != NULL;
    if (status == WEFT_OK && !again) {
        status = links_attach(links, index, conn);
    }
    bool right = status == WEFT_OK && !again;
    weft_link_t *link = right ? links_add(links, label->from, label->channel, index) : NULL;
    if (link == NULL) {
        weft_transports_lock(links->setup.transports);
        weft_links_transport(links, index)->ops->conn_close(conn);
        weft_transports_unlock(links->setup.transports);
        return again || status != WEFT_OK
                   ? status
                   : weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate a link");
    }
    link->conn = conn;
    return weft_link_make_ports(links, link, false);
}

static weft_status_t links_link_poll_conn(weft_links_t *links, weft_link_t *link)
{
    const weft_transport_t *transport = weft_links_transport(links, link->transport);
    if (link->conn == NULL) {
        return weft_os_clock_ns() < link->retry_at ? WEFT_IN_PROGRESS
                                                   : links_link_begin_conn(links, link);
    }
    weft_links_lock(links, transport);
    weft_call_note_t before = weft_call_enter(transport->loaded->plugin->name, "connect_poll");
    weft_status_t status = transport->ops->connect_poll(link->conn);
    weft_call_leave(before);
    weft_links_unlock(links, transport);
    return weft_plugin_status(transport->loaded, "connect_poll", WEFT_RETURNS_IN_PROGRESS, status);
}

static weft_status_t links_link_progress(weft_links_t *links, weft_link_t *link)
{
    if (link->lost == WEFT_OK) {
        bool begins = link->conn == NULL;
        weft_status_t status = links_link_poll_conn(links, link);
        if (status == WEFT_IN_PROGRESS || (begins && status == WEFT_OK)) {
            return WEFT_OK;
        }
        link->lost = status == WEFT_OK ? weft_link_make_ports(links, link, true)
                                       : links_link_try_again(links, link, status);
    }
    if (link->lost != WEFT_OK && weft_error_record()->status != link->lost) {
        weft_fail(link->lost, 0, "the link to rank %u could not be made", link->node.peer);
    }
    if (link->lost != WEFT_OK) {
        weft_error_record()->peer = (int32_t)link->node.peer;
    }
    return link->lost;
}

static weft_status_t links_link_settle_port(weft_links_t *links, weft_link_t *link, bool sends)
{
    weft_mapped_port_t *mapped = sends ? &link->send.mapped : &link->receive.mapped;
    weft_status_t status = weft_mapped_port_settle(mapped);
    if (status == WEFT_OK && mapped->location.memory != NULL) {
        uint32_t rank = links->setup.rank, peer = link->node.peer;
        weft_log(WEFT_LOG_DEBUG, "links", "rank %u to %u channel %u over %s, slots on the device",
                 sends ? rank : peer, sends ? peer : rank, link->node.channel,
                 weft_links_transport(links, link->transport)->loaded->plugin->name);
    }
    link->settled[sends] = status == WEFT_OK;
    return status == WEFT_IN_PROGRESS ? WEFT_OK : status;
}

/* Agrees where payloads lie, for the ports that somebody asked for. */
static weft_status_t links_link_settle_ports(weft_links_t *links, weft_link_t *link)
{
    weft_status_t status = WEFT_OK;
    for (uint32_t i = 0; i < 2 && status == WEFT_OK; i++) {
        if (link->asked[i] && !link->settled[i]) {
            status = links_link_settle_port(links, link, i == 1);
        }
    }
    return status;
}

static bool links_link_can_connect(const weft_link_t *link)
{
    return link->state == WEFT_LINK_CONNECTING && link->lost == WEFT_OK;
}

/* A try that fails while nobody waits does not count: there is another as soon as somebody does. */
static void links_link_attend(weft_links_t *links, weft_link_t *link)
{
    weft_status_t status = links_link_poll_conn(links, link);
    if (status == WEFT_OK) {
        link->lost = weft_link_make_ports(links, link, true);
        link->state = link->lost == WEFT_OK ? WEFT_LINK_READY : WEFT_LINK_CONNECTING;
        links->events++;
    } else if (status != WEFT_IN_PROGRESS) {
        links_link_close_conn(links, link);
        link->retry_at = 0;
    }
}

/* Nobody here waits for a link that is offered. */
static weft_status_t links_link_step(weft_links_t *links, weft_link_t *link)
{
    if (link->state != WEFT_LINK_CONNECTING) {
        return links_link_settle_ports(links, link);
    }
    if (!link->offered) {
        return links_link_progress(links, link);
    }
    if (link->conn != NULL && links_link_can_connect(link)) {
        links_link_attend(links, link);
    }
    return WEFT_OK;
}

static bool links_link_is_under_way(const weft_link_t *link)
{
    return link->state == WEFT_LINK_CONNECTING || (link->asked[0] && !link->settled[0]) ||
           (link->asked[1] && !link->settled[1]);
}

static weft_status_t links_accept_all(weft_links_t *links)
{
    weft_status_t status = WEFT_OK;
    while (status == WEFT_OK) {
        uint32_t net;
        weft_net_conn_t *conn;
        weft_conn_label_t label;
        status = weft_transports_accept(links->setup.transports, &links->user, &net, &conn, &label);
        if (status == WEFT_OK) {
            status = links_take_connection(links, net, conn, &label);
            links->events++;
        }
    }
    return status == WEFT_AGAIN ? WEFT_OK : status;
}

/* Returns the first failure, and its record in `error`. */
static weft_status_t links_progress_pending(weft_links_t *links, weft_error_t *error)
{
    weft_status_t first = WEFT_OK;
    for (weft_link_t **at = &links->pending; *at != NULL;) {
        weft_link_t *link = *at;
        weft_status_t status = links_link_step(links, link);
        if (status != WEFT_OK && first == WEFT_OK && weft_links_miss(links, link->node.peer)) {
            first = status;
            *error = *weft_error_record();
        }
        link->pending = links_link_is_under_way(link);
        if (link->pending) {
            at = &link->next_pending;
        } else {
            *at = link->next_pending;
            links->events++;
        }
    }
    return first;
}

/* A link that fails holds up no other: nobody may wait for it, as for puts or a message from any
 * rank. */
weft_status_t weft_links_progress(weft_links_t *links)
{
    weft_error_t error;
    links->making = true;
    weft_status_t failed = links_progress_pending(links, &error);
    weft_status_t status = links->refused.status;
    if (status == WEFT_OK) {
        status = links_accept_all(links);
    } else {
        *weft_error_record() = links->refused;
    }
    if (failed != WEFT_OK) {
        *weft_error_record() = error;
        status = failed;
    }
    return status;
}

static bool links_offer_one(weft_links_t *links, uint32_t peer, uint32_t number)
{
    weft_link_t *link = links_find(links, peer, number);
    if (link == NULL) {
        link = links_add_pending(links, peer, number);
        if (link != NULL) {
            link->offered = true;
        }
    }
    if (link == NULL || !link->offered || !links_link_can_connect(link)) {
        return false;
    }
    if (link->conn != NULL) {
        links_link_attend(links, link);
    } else if (links_link_begin_conn(links, link) != WEFT_OK) {
        links_link_close_conn(links, link);
    }
    return link->conn != NULL && links_link_can_connect(link);
}

bool weft_links_offer(weft_links_t *links, uint32_t peer, uint32_t number)
{
    const weft_error_t before = *weft_error_record();
    bool under_way = false;
    if (links->setup.rank < peer) {
        under_way = links_offer_one(links, peer, number);
    } else if (links->refused.status == WEFT_OK && links_accept_all(links) != WEFT_OK) {
        links->refused = *weft_error_record();
    }
    *weft_error_record() = before;
    return under_way;
}

void weft_links_attend(weft_links_t *links)
{
    if (links->pending == NULL || links->making || links->made_before) {
        return;
    }
    const weft_error_t before = *weft_error_record();
    for (weft_link_t *link = links->pending; link != NULL; link = link->next_pending) {
        if (link->conn != NULL && links_link_can_connect(link)) {
            links_link_attend(links, link);
        }
    }
    *weft_error_record() = before;
}
