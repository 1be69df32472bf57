/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Links: connecting, accepting, agreeing where slots lie. */
#include "core/exec/link.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/os/os.h"

/* An acceptor that turned to something else in the middle of a handshake lets it expire; one that
 * refuses does so again. */
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
    links->user = (weft_nets_user_t){.comm_id = setup->comm_id, .first = setup->first};
    weft_nets_enter(setup->nets, &links->user);
    *links_p = links;
    return WEFT_OK;
}

static weft_status_t need_device(weft_links_t *links, uint32_t i)
{
    const weft_links_net_t *net = weft_links_net(links, i);
    weft_status_t status = WEFT_OK;
    if (links->device[i] != NULL) {
        return WEFT_OK;
    }
    if (!weft_links_shares_device(net)) {
        weft_nets_lock(links->setup.nets);
        status = net->ops->device_open(net->net, 0, &links->device[i]);
        weft_nets_unlock(links->setup.nets);
    } else if (net->map != NULL || links->setup.first) {
        links->device[i] = net->device;
    } else {
        status =
            weft_fail(WEFT_ERR_UNSUPPORTED, 0,
                      "%s serves one communicator only: it lacks the extension " WEFT_NET_ATTACH,
                      net->loaded->plugin->name);
    }
    return status;
}

static void close_conn(weft_links_t *links, weft_link_t *link)
{
    const weft_links_net_t *net = weft_links_net(links, link->net);
    weft_links_enter(links, net);
    net->ops->conn_close(link->conn);
    weft_links_leave(links, net);
    link->conn = NULL;
}

static void close_port(weft_links_t *links, const weft_link_t *link, weft_port_t *port)
{
    if (port->region != NULL) {
        weft_links_dereg(links, link->net, port->region);
    }
    weft_port_fini(port);
}

/* Memory that the peer may still write to outlives the link, and its card with it. */
static void close_places(weft_links_t *links, weft_link_t *link)
{
    weft_place_t *place = &link->receive.place;
    weft_place_close(&link->send.place);
    if (place->memory != NULL && !weft_place_left(place)) {
        weft_nets_keep(links->setup.nets, link->net, link->conn, place);
        link->conn = NULL;
    } else {
        weft_place_close(place);
    }
}

void weft_links_destroy(weft_links_t *links)
{
    if (links == NULL) {
        return;
    }
    while (links->first != NULL) {
        weft_link_t *link = links->first;
        links->first = link->next;
        weft_port_recall(&link->send);
        weft_port_recall(&link->receive);
        close_places(links, link);
        if (link->conn != NULL) {
            close_conn(links, link);
        }
        close_port(links, link, &link->send);
        close_port(links, link, &link->receive);
        weft_os_free(link);
    }
    weft_nets_leave(links->setup.nets, &links->user);
    for (uint32_t i = 0; i < weft_nets_count(links->setup.nets); i++) {
        const weft_links_net_t *net = weft_links_net(links, i);
        if (links->device[i] != NULL && links->device[i] != net->device) {
            weft_nets_lock(links->setup.nets);
            net->ops->device_close(links->device[i]);
            weft_nets_unlock(links->setup.nets);
        }
    }
    weft_os_free(links);
}

weft_status_t weft_links_reg(weft_links_t *links, uint32_t i, void *memory, uint64_t bytes,
                             weft_net_region_t **region_p)
{
    const weft_links_net_t *net = weft_links_net(links, i);
    if (net->device == NULL || !WEFT_HAS(net->ops, weft_net_ops_t, reg) ||
        !WEFT_HAS(net->ops, weft_net_ops_t, dereg)) {
        return WEFT_OK;
    }
    weft_status_t status = need_device(links, i);
    if (status == WEFT_OK) {
        weft_nets_lock(links->setup.nets);
        status = net->ops->reg(links->device[i], memory, bytes, WEFT_MEMORY_HOST, region_p);
        weft_nets_unlock(links->setup.nets);
    }
    return status;
}

void weft_links_dereg(weft_links_t *links, uint32_t i, weft_net_region_t *region)
{
    weft_nets_lock(links->setup.nets);
    weft_links_net(links, i)->ops->dereg(region);
    weft_nets_unlock(links->setup.nets);
}

static weft_link_t *find_link(weft_links_t *links, uint32_t peer, uint32_t channel)
{
    weft_link_t *link = links->first;
    while (link != NULL && (link->peer != peer || link->channel != channel)) {
        link = link->next;
    }
    return link;
}

static weft_link_t *add_link(weft_links_t *links, uint32_t peer, uint32_t channel, uint32_t net)
{
    weft_link_t *link = weft_os_alloc(sizeof *link, 0);
    if (link != NULL) {
        link->peer = peer;
        link->channel = channel;
        link->net = net;
        link->next = links->first;
        links->first = link;
    }
    return link;
}

/* The connector's sends are in the first half of the shared memory, its receives in the second. */
static weft_status_t make_mapped(weft_links_t *links, weft_link_t *link, bool connector)
{
    void *base;
    uint64_t bytes;
    uint64_t half = weft_fifo_bytes(links->setup.slots, links->setup.slot_bytes);
    const weft_links_net_t *net = weft_links_net(links, link->net);
    weft_status_t status = net->map->region(link->conn, &base, &bytes);
    if (status != WEFT_OK) {
        return status;
    }
    if (bytes < 2 * half) {
        return weft_fail(WEFT_ERR_PROTO, 0, "%s maps %llu bytes with rank %u, %llu needed",
                         net->loaded->plugin->name, (unsigned long long)bytes, link->peer,
                         (unsigned long long)(2 * half));
    }
    uint8_t *first = base;
    uint8_t *second = first + half;
    weft_port_init_mapped(&link->send, link->peer, true, connector ? first : second,
                          links->setup.slots, links->setup.slot_bytes);
    weft_port_init_mapped(&link->receive, link->peer, false, connector ? second : first,
                          links->setup.slots, links->setup.slot_bytes);
    uint64_t payloads = links->setup.slots * links->setup.slot_bytes;
    weft_port_t *ports[2] = {&link->receive, &link->send};
    for (uint32_t i = 0; i < 2; i++) {
        ports[i]->windows = links->setup.windows;
        weft_place_init(&ports[i]->place, &links->setup.sharing, &ports[i]->control->card,
                        link->peer, i == 1, payloads);
    }
    return WEFT_OK;
}

static bool shall_be_direct(weft_links_t *links, uint32_t i)
{
    if (!links->decided[i]) {
        links->decided[i] = true;
        links->direct[i] = weft_direct_suits(&links->setup.direct, weft_links_net(links, i));
    }
    return links->direct[i];
}

/* Gives a port that is not open yet slots on the device, if they can be had. Not under the lock: a device may
 * wait for its kernels before it has memory, and those for another communicator. */
static void go_direct(weft_links_t *links, const weft_link_t *link, weft_port_t *port,
                      weft_net_region_t **region_p)
{
    const weft_direct_t *direct = &links->setup.direct;
    void *memory = NULL;
    weft_status_t status = direct->ops->alloc(direct->kernel, port->memory_bytes, &memory);
    if (status == WEFT_OK) {
        weft_nets_lock(links->setup.nets);
        status =
            weft_direct_register(direct, weft_links_net(links, link->net), links->device[link->net],
                                 memory, port->memory_bytes, region_p);
        weft_nets_unlock(links->setup.nets);
    }
    if (status == WEFT_OK) {
        weft_port_go_direct(port, direct, memory);
        return;
    }
    weft_log(WEFT_LOG_INFO, "links", "the slots %s rank %u stay on the host: %s",
             port->sends ? "to" : "from", link->peer, weft_error_record()->text);
    if (memory != NULL) {
        direct->ops->free(direct->kernel, memory);
    }
}

/* Registers the slots where the transport registers memory, so that no message pays for it. */
static weft_status_t make_message(weft_links_t *links, weft_link_t *link, weft_port_t *port)
{
    const weft_links_net_t *net = weft_links_net(links, link->net);
    weft_net_region_t *region = NULL;
    weft_status_t status =
        weft_port_init_message(port, link->peer, port == &link->send, net->ops, link->conn,
                               links->setup.slots, links->setup.slot_bytes);
    if (status == WEFT_OK && shall_be_direct(links, link->net)) {
        go_direct(links, link, port, &region);
    }
    if (status == WEFT_OK && port->direct == NULL) {
        status = weft_links_reg(links, link->net, port->memory, port->memory_bytes, &region);
    }
    return status == WEFT_OK ? weft_port_open(port, region) : status;
}

static weft_status_t make_ports(weft_links_t *links, weft_link_t *link, bool connector)
{
    const weft_links_net_t *net = weft_links_net(links, link->net);
    weft_status_t status;
    if (net->map != NULL) {
        status = make_mapped(links, link, connector);
    } else {
        status = make_message(links, link, &link->send);
        status = status == WEFT_OK ? make_message(links, link, &link->receive) : status;
        link->send.place.settled = link->receive.place.settled = true;
        links->messages++;
    }
    link->state = WEFT_LINK_READY;
    weft_log(WEFT_LOG_DEBUG, "links", "rank %u to %u channel %u over %s%s", links->setup.rank,
             link->peer, link->channel, net->loaded->plugin->name,
             weft_link_is_direct(link) ? ", slots on the device" : "");
    return status;
}

static weft_status_t begin_conn(weft_links_t *links, weft_link_t *link)
{
    const weft_links_net_t *net = weft_links_net(links, link->net);
    const weft_links_setup_t *setup = &links->setup;
    weft_status_t status = need_device(links, link->net);
    if (status != WEFT_OK) {
        return status;
    }
    weft_net_conn_params_t params = {.size = sizeof params};
    weft_link_label_t label = {.comm_id = setup->comm_id,
                               .slot_bytes = setup->slot_bytes,
                               .from = setup->rank,
                               .to = link->peer,
                               .channel = link->channel,
                               .slots = setup->slots};
    memcpy(params.label, &label, sizeof label);
    if (net->map != NULL) {
        params.map_bytes = 2 * weft_fifo_bytes(setup->slots, setup->slot_bytes);
    }
    weft_net_address_t address;
    weft_nets_address(setup->nets, setup->family[link->peer], &address);
    link->begun = weft_os_clock_ns();
    weft_links_enter(links, net);
    status = net->ops->connect_begin(links->device[link->net], &address, &params, &link->conn);
    weft_links_leave(links, net);
    return status;
}

/* A try failed: OK if there will be another. */
static weft_status_t try_again(weft_links_t *links, weft_link_t *link, weft_status_t status)
{
    uint64_t now = weft_os_clock_ns();
    bool expired = now - link->begun > PATIENT_NS;
    link->tries = expired ? 0 : link->tries + 1;
    if (status != WEFT_ERR_LINK || link->tries == TRIES) {
        return status;
    }
    weft_log(WEFT_LOG_INFO, "links", "rank %u to %u: %s; trying again", links->setup.rank,
             link->peer, weft_error_record()->text);
    close_conn(links, link);
    link->retry_at = now + (RETRY_NS << 2 * link->tries);
    return WEFT_OK;
}

static weft_status_t connect_link(weft_links_t *links, uint32_t peer, uint32_t channel)
{
    uint32_t net = weft_nets_of(links->setup.nets, links->setup.family[peer]);
    weft_link_t *link = add_link(links, peer, channel, net);
    if (link == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate a link to rank %u", peer);
    }
    weft_status_t status = begin_conn(links, link);
    link->lost = status == WEFT_OK ? status : try_again(links, link, status);
    return link->lost;
}

weft_port_t *weft_links_port(weft_links_t *links, uint32_t peer, uint32_t channel, bool sends)
{
    weft_link_t *link = find_link(links, peer, channel);
    if (link == NULL && links->setup.rank < peer) {
        (void)connect_link(links, peer, channel); /* told by weft_links_progress */
        return NULL;
    }
    if (link == NULL || link->state != WEFT_LINK_READY) {
        return NULL;
    }
    weft_port_t *port = sends ? &link->send : &link->receive;
    link->asked[sends] = true;
    return port->place.settled ? port : NULL;
}

/* The label passed the authentication, so a wrong one is a fault, not an attack. */
static weft_status_t check_label(const weft_links_t *links, const weft_link_label_t *label)
{
    const weft_links_setup_t *setup = &links->setup;
    const char *field = NULL;
    if (label->to != setup->rank || label->from >= setup->rank) {
        field = "rank";
    } else if (label->slots != setup->slots || label->slot_bytes != setup->slot_bytes) {
        field = "slots";
    }
    if (field != NULL) {
        return weft_fail(WEFT_ERR_PROTO, 0, "connection from rank %u has a wrong label: %s",
                         label->from, field);
    }
    return WEFT_OK;
}

static weft_status_t attach(weft_links_t *links, uint32_t index, weft_net_conn_t *conn)
{
    const weft_links_net_t *net = weft_links_net(links, index);
    weft_status_t status = need_device(links, index);
    if (status == WEFT_OK && !weft_links_shares_device(net)) {
        weft_nets_lock(links->setup.nets);
        status = net->attach->attach(conn, links->device[index]);
        weft_nets_unlock(links->setup.nets);
    }
    return status;
}

static weft_status_t take_connection(weft_links_t *links, uint32_t index, weft_net_conn_t *conn,
                                     const weft_link_label_t *label)
{
    weft_status_t status = check_label(links, label);
    if (status == WEFT_OK && find_link(links, label->from, label->channel) != NULL) {
        status = weft_fail(WEFT_ERR_PROTO, 0, "rank %u connected twice on channel %u", label->from,
                           label->channel);
    }
    if (status == WEFT_OK) {
        status = attach(links, index, conn);
    }
    weft_link_t *link =
        status == WEFT_OK ? add_link(links, label->from, label->channel, index) : NULL;
    if (link == NULL) {
        weft_nets_lock(links->setup.nets);
        weft_links_net(links, index)->ops->conn_close(conn);
        weft_nets_unlock(links->setup.nets);
        return status != WEFT_OK ? status
                                 : weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate a link");
    }
    link->conn = conn;
    return make_ports(links, link, false);
}

static weft_status_t poll_conn(weft_links_t *links, weft_link_t *link)
{
    const weft_links_net_t *net = weft_links_net(links, link->net);
    if (link->lost != WEFT_OK) {
        return link->lost;
    }
    if (link->conn == NULL) {
        return weft_os_clock_ns() < link->retry_at ? WEFT_IN_PROGRESS : begin_conn(links, link);
    }
    weft_links_enter(links, net);
    weft_status_t status = net->ops->connect_poll(link->conn);
    weft_links_leave(links, net);
    return status;
}

static weft_status_t progress_link(weft_links_t *links, weft_link_t *link)
{
    bool begins = link->conn == NULL;
    weft_status_t status = poll_conn(links, link);
    if (status == WEFT_IN_PROGRESS || (begins && status == WEFT_OK)) {
        return WEFT_OK;
    }
    status = status == WEFT_OK ? make_ports(links, link, true) : try_again(links, link, status);
    if (status != WEFT_OK) {
        weft_error_record()->peer = (int32_t)link->peer;
    }
    return status;
}

/* Agrees where the payloads of the ports lie that somebody asked for. */
static weft_status_t settle_ports(weft_links_t *links, weft_link_t *link)
{
    weft_port_t *ports[2] = {&link->receive, &link->send};
    for (uint32_t i = 0; i < 2; i++) {
        weft_place_t *place = &ports[i]->place;
        if (!link->asked[i] || place->settled) {
            continue;
        }
        weft_status_t status = weft_port_settle(ports[i]);
        if (status == WEFT_OK && place->memory != NULL) {
            weft_log(
                WEFT_LOG_DEBUG, "links", "rank %u to %u channel %u over %s, slots on the device",
                i == 1 ? links->setup.rank : link->peer, i == 1 ? link->peer : links->setup.rank,
                link->channel, weft_links_net(links, link->net)->loaded->plugin->name);
        }
        if (status != WEFT_OK && status != WEFT_IN_PROGRESS) {
            return status;
        }
    }
    return WEFT_OK;
}

static weft_status_t accept_all(weft_links_t *links)
{
    weft_status_t status = WEFT_OK;
    while (status == WEFT_OK) {
        uint32_t net;
        weft_net_conn_t *conn;
        weft_link_label_t label;
        status = weft_nets_accept(links->setup.nets, &links->user, &net, &conn, &label);
        if (status == WEFT_OK) {
            status = take_connection(links, net, conn, &label);
        }
    }
    return status == WEFT_AGAIN ? WEFT_OK : status;
}

weft_status_t weft_links_progress(weft_links_t *links)
{
    weft_status_t status = WEFT_OK;
    links->making = true;
    for (weft_link_t *link = links->first; link != NULL && status == WEFT_OK; link = link->next) {
        status = link->state == WEFT_LINK_CONNECTING ? progress_link(links, link)
                                                     : settle_ports(links, link);
    }
    return status == WEFT_OK ? accept_all(links) : status;
}
