/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Links: choosing a transport per peer, connecting, accepting, polling. */
#include "core/exec/links.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/os/os.h"

typedef enum link_state { LINK_CONNECTING, LINK_READY } link_state_t;

typedef struct link {
    struct link *next;
    uint32_t peer, channel;
    uint32_t net;
    link_state_t state;
    weft_net_conn_t *conn;
    weft_port_t send, receive;
} link_t;

/* What the connector tells the acceptor, under the authentication. */
typedef struct link_label {
    uint64_t comm_id;
    uint64_t slot_bytes;
    uint32_t from, to;
    uint32_t channel;
    uint32_t slots;
    uint8_t zero[WEFT_AUTH_LABEL - 32];
} link_label_t;

_Static_assert(sizeof(link_label_t) == WEFT_AUTH_LABEL, "fills the label");

struct weft_links {
    weft_links_setup_t setup;
    weft_links_net_t nets[WEFT_NETS_MAX];
    uint32_t nnets;
    uint32_t slots;
    uint64_t slot_bytes;
    uint8_t *cards;  /* nranks of them */
    uint8_t *net_of; /* per peer: index of the transport */
    link_t *first;
    uint32_t messages; /* links that carry messages */
    uint32_t pending;  /* links that are connecting */
};

static weft_status_t net_open(weft_links_net_t *net)
{
    const char *name = net->loaded->plugin->name;
    net->ops = net->loaded->plugin->ops;
    weft_status_t status = net->ops->create(net->loaded->host, net->loaded->config, &net->net);
    if (status != WEFT_OK) {
        return status;
    }
    if ((net->ops->caps & WEFT_NET_CAP_MAP) != 0) {
        net->map = net->ops->get_extension(net->net, WEFT_NET_MAP);
    }
    uint32_t devices = 0;
    status = net->ops->device_count(net->net, &devices);
    if (status != WEFT_OK || devices == 0) {
        weft_log(WEFT_LOG_INFO, name, "no usable device");
        return status;
    }
    net->props.size = sizeof net->props;
    status = net->ops->device_props(net->net, 0, &net->props);
    if (status == WEFT_OK) {
        status = net->ops->device_open(net->net, 0, &net->device);
    }
    return status == WEFT_OK ? net->ops->listen(net->device, &net->address, &net->listener)
                             : status;
}

weft_status_t weft_links_create(const weft_links_setup_t *setup, weft_links_t **links_p)
{
    weft_links_t *links = weft_os_alloc(sizeof *links, 0);
    if (links == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate links");
    }
    links->setup = *setup;
    const weft_loaded_t *loaded;
    for (uint32_t i = 0; (loaded = weft_registry_get(setup->registry, WEFT_KIND_NET, i)) != NULL;
         i++) {
        if (i == WEFT_NETS_MAX) {
            weft_links_destroy(links);
            return weft_fail(WEFT_ERR_CONFIG, 0, "more than %d net plugins are listed",
                             WEFT_NETS_MAX);
        }
        links->nets[i].loaded = loaded;
        links->nnets = i + 1;
        weft_status_t status = net_open(&links->nets[i]);
        if (status != WEFT_OK) {
            weft_links_destroy(links);
            return status;
        }
    }
    *links_p = links;
    return WEFT_OK;
}

void weft_links_destroy(weft_links_t *links)
{
    if (links == NULL) {
        return;
    }
    while (links->first != NULL) {
        link_t *link = links->first;
        links->first = link->next;
        links->nets[link->net].ops->conn_close(link->conn);
        weft_port_fini(&link->send);
        weft_port_fini(&link->receive);
        weft_os_free(link);
    }
    for (uint32_t i = links->nnets; i-- > 0;) {
        weft_links_net_t *net = &links->nets[i];
        if (net->listener != NULL) {
            net->ops->listener_close(net->listener);
        }
        if (net->device != NULL) {
            net->ops->device_close(net->device);
        }
        if (net->net != NULL) {
            net->ops->destroy(net->net);
        }
    }
    weft_os_free(links->cards);
    weft_os_free(links->net_of);
    weft_os_free(links);
}

uint32_t weft_links_nets(const weft_links_t *links)
{
    return links->nnets;
}

const weft_links_net_t *weft_links_net(const weft_links_t *links, uint32_t i)
{
    return &links->nets[i];
}

void weft_links_card(const weft_links_t *links, uint8_t card[WEFT_LINKS_CARD])
{
    memset(card, 0, WEFT_LINKS_CARD);
    for (uint32_t i = 0; i < links->nnets; i++) {
        memcpy(card + i * sizeof(weft_net_address_t), &links->nets[i].address,
               sizeof(weft_net_address_t));
    }
}

static void card_address(const weft_links_t *links, uint32_t peer, uint32_t net,
                         weft_net_address_t *address)
{
    memcpy(address, links->cards + peer * WEFT_LINKS_CARD + net * sizeof *address, sizeof *address);
}

/* First transport, in the order of the INI, that reaches the peer; nnets if none does. */
static uint32_t choose_net(const weft_links_t *links, uint32_t peer)
{
    for (uint32_t i = 0; i < links->nnets; i++) {
        weft_net_address_t address;
        card_address(links, peer, i, &address);
        if (links->nets[i].device != NULL && address.bytes > 0 &&
            address.bytes <= WEFT_NET_ADDRESS_MAX &&
            links->nets[i].ops->reachable(links->nets[i].device, &address) == WEFT_OK) {
            return i;
        }
    }
    return links->nnets;
}

weft_status_t weft_links_peers(weft_links_t *links, const uint8_t *cards, uint32_t *used_p)
{
    uint32_t n = links->setup.nranks;
    links->cards = weft_os_alloc(n * WEFT_LINKS_CARD, 0);
    links->net_of = weft_os_alloc(n, 0);
    if (links->cards == NULL || links->net_of == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate addresses of %u ranks", n);
    }
    memcpy(links->cards, cards, n * WEFT_LINKS_CARD);
    *used_p = 0;
    for (uint32_t peer = 0; peer < n; peer++) {
        if (peer == links->setup.rank) {
            continue;
        }
        uint32_t net = choose_net(links, peer);
        if (net == links->nnets) {
            char tried[256] = "";
            for (uint32_t i = 0; i < links->nnets; i++) {
                size_t at = strlen(tried);
                snprintf(tried + at, sizeof tried - at, " %s", links->nets[i].loaded->plugin->name);
            }
            weft_status_t status =
                weft_fail(WEFT_ERR_LINK, 0,
                          "no transport from rank %u to rank %u; tried:%s; add one to [core] net",
                          links->setup.rank, peer, tried);
            weft_error_record()->peer = (int32_t)peer;
            return status;
        }
        links->net_of[peer] = (uint8_t)net;
        *used_p |= 1u << net;
    }
    return WEFT_OK;
}

void weft_links_slots(weft_links_t *links, uint32_t slots, uint64_t slot_bytes)
{
    links->slots = slots;
    links->slot_bytes = slot_bytes;
}

static link_t *find_link(weft_links_t *links, uint32_t peer, uint32_t channel)
{
    link_t *link = links->first;
    while (link != NULL && (link->peer != peer || link->channel != channel)) {
        link = link->next;
    }
    return link;
}

static link_t *add_link(weft_links_t *links, uint32_t peer, uint32_t channel, uint32_t net)
{
    link_t *link = weft_os_alloc(sizeof *link, 0);
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
static weft_status_t make_mapped(weft_links_t *links, link_t *link, bool connector)
{
    void *base;
    uint64_t bytes;
    uint64_t half = weft_fifo_bytes(links->slots, links->slot_bytes);
    weft_links_net_t *net = &links->nets[link->net];
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
    weft_port_init_mapped(&link->send, link->peer, true, connector ? first : second, links->slots,
                          links->slot_bytes);
    weft_port_init_mapped(&link->receive, link->peer, false, connector ? second : first,
                          links->slots, links->slot_bytes);
    return WEFT_OK;
}

static weft_status_t make_ports(weft_links_t *links, link_t *link, bool connector)
{
    weft_links_net_t *net = &links->nets[link->net];
    weft_status_t status;
    if (net->map != NULL) {
        status = make_mapped(links, link, connector);
    } else {
        status = weft_port_init_message(&link->send, link->peer, true, net->ops, link->conn,
                                        links->slots, links->slot_bytes);
        if (status == WEFT_OK) {
            status = weft_port_init_message(&link->receive, link->peer, false, net->ops, link->conn,
                                            links->slots, links->slot_bytes);
        }
        links->messages++;
    }
    link->state = LINK_READY;
    weft_log(WEFT_LOG_DEBUG, "links", "rank %u to %u channel %u over %s", links->setup.rank,
             link->peer, link->channel, net->loaded->plugin->name);
    return status;
}

static weft_status_t connect_link(weft_links_t *links, uint32_t peer, uint32_t channel)
{
    uint32_t index = links->net_of[peer];
    weft_links_net_t *net = &links->nets[index];
    link_t *link = add_link(links, peer, channel, index);
    if (link == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate a link to rank %u", peer);
    }
    weft_net_conn_params_t params = {.size = sizeof params};
    link_label_t label = {.comm_id = links->setup.comm_id,
                          .slot_bytes = links->slot_bytes,
                          .from = links->setup.rank,
                          .to = peer,
                          .channel = channel,
                          .slots = links->slots};
    memcpy(params.label, &label, sizeof label);
    if (net->map != NULL) {
        params.map_bytes = 2 * weft_fifo_bytes(links->slots, links->slot_bytes);
    }
    weft_net_address_t address;
    card_address(links, peer, index, &address);
    links->pending++;
    return net->ops->connect_begin(net->device, &address, &params, &link->conn);
}

weft_port_t *weft_links_port(weft_links_t *links, uint32_t peer, uint32_t channel, bool sends)
{
    link_t *link = find_link(links, peer, channel);
    if (link == NULL && links->setup.rank < peer) {
        if (connect_link(links, peer, channel) != WEFT_OK) {
            links->first->send.broken = weft_error_record()->status;
        }
        return NULL;
    }
    if (link == NULL || link->state != LINK_READY) {
        return NULL;
    }
    return sends ? &link->send : &link->receive;
}

/* The label passed the authentication, so a wrong one is a fault, not an attack. */
static weft_status_t check_label(const weft_links_t *links, const link_label_t *label)
{
    const char *field = NULL;
    if (label->comm_id != links->setup.comm_id) {
        field = "communicator";
    } else if (label->to != links->setup.rank || label->from >= links->setup.rank) {
        field = "rank";
    } else if (label->slots != links->slots || label->slot_bytes != links->slot_bytes) {
        field = "slots";
    }
    if (field != NULL) {
        return weft_fail(WEFT_ERR_PROTO, 0, "connection from rank %u has a wrong label: %s",
                         label->from, field);
    }
    return WEFT_OK;
}

static weft_status_t take_connection(weft_links_t *links, uint32_t index, weft_net_conn_t *conn)
{
    weft_links_net_t *net = &links->nets[index];
    weft_net_conn_info_t info = {.size = sizeof info};
    link_label_t label;
    weft_status_t status = net->ops->conn_info(conn, &info);
    if (status == WEFT_OK) {
        memcpy(&label, info.label, sizeof label);
        status = check_label(links, &label);
    }
    if (status == WEFT_OK && find_link(links, label.from, label.channel) != NULL) {
        status = weft_fail(WEFT_ERR_PROTO, 0, "rank %u connected twice on channel %u", label.from,
                           label.channel);
    }
    link_t *link = status == WEFT_OK ? add_link(links, label.from, label.channel, index) : NULL;
    if (link == NULL) {
        net->ops->conn_close(conn);
        return status != WEFT_OK ? status
                                 : weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate a link");
    }
    link->conn = conn;
    return make_ports(links, link, false);
}

static weft_status_t progress_link(weft_links_t *links, link_t *link)
{
    if (link->conn == NULL) {
        return link->send.broken;
    }
    weft_status_t status = links->nets[link->net].ops->connect_poll(link->conn);
    if (status == WEFT_IN_PROGRESS) {
        return WEFT_OK;
    }
    if (status == WEFT_OK) {
        links->pending--;
        status = make_ports(links, link, true);
    }
    if (status != WEFT_OK) {
        weft_error_record()->peer = (int32_t)link->peer;
    }
    return status;
}

weft_status_t weft_links_progress(weft_links_t *links)
{
    weft_status_t status = WEFT_OK;
    for (link_t *link = links->first; link != NULL && status == WEFT_OK; link = link->next) {
        if (link->state == LINK_CONNECTING) {
            status = progress_link(links, link);
        }
    }
    for (uint32_t i = 0; i < links->nnets && status == WEFT_OK; i++) {
        weft_links_net_t *net = &links->nets[i];
        weft_net_conn_t *conn = NULL;
        if (net->listener == NULL) {
            continue;
        }
        weft_status_t accepted = net->ops->accept(net->listener, &conn);
        if (accepted == WEFT_OK) {
            status = take_connection(links, i, conn);
        } else if (accepted != WEFT_AGAIN) {
            status = accepted;
        }
    }
    return status;
}

bool weft_links_have_messages(const weft_links_t *links)
{
    return links->messages > 0;
}

weft_status_t weft_links_poll(weft_links_t *links)
{
    enum { BATCH = 16 };
    weft_net_completion_t completions[BATCH];
    for (uint32_t i = 0; i < links->nnets; i++) {
        weft_links_net_t *net = &links->nets[i];
        if (net->map != NULL || net->device == NULL) {
            continue;
        }
        uint32_t count = 0;
        weft_status_t status = net->ops->poll(net->device, completions, BATCH, &count);
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
    const weft_links_net_t *found = NULL;
    for (uint32_t i = 0; i < links->nnets; i++) {
        const weft_links_net_t *net = &links->nets[i];
        if (net->map != NULL || net->device == NULL) {
            continue;
        }
        if (found != NULL) {
            return WEFT_ERR_UNSUPPORTED;
        }
        found = net;
    }
    if (found == NULL || !WEFT_HAS(found->ops, weft_net_ops_t, wait_fd)) {
        return WEFT_ERR_UNSUPPORTED;
    }
    return found->ops->wait_fd(found->device, fd_p);
}

weft_status_t weft_links_check(weft_links_t *links, const weft_port_t *port)
{
    for (link_t *link = links->first; link != NULL; link = link->next) {
        if (port == &link->send || port == &link->receive) {
            return links->nets[link->net].ops->conn_check(link->conn);
        }
    }
    return WEFT_OK;
}

const char *weft_links_transport(const weft_links_t *links, uint32_t peer)
{
    if (links->net_of == NULL || peer >= links->setup.nranks || peer == links->setup.rank) {
        return "";
    }
    return links->nets[links->net_of[peer]].loaded->plugin->name;
}

weft_status_t weft_links_flush(weft_links_t *links)
{
    for (link_t *link = links->first; link != NULL; link = link->next) {
        weft_status_t status = WEFT_OK;
        if (link->state == LINK_READY && links->nets[link->net].map == NULL) {
            status = weft_port_flush(&link->send);
            if (status == WEFT_OK) {
                status = weft_port_flush(&link->receive);
            }
        }
        if (status != WEFT_OK) {
            weft_error_record()->peer = (int32_t)link->peer;
            return status;
        }
    }
    return WEFT_OK;
}
