/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transports of a family: opening, choosing per peer, accepting for whoever is meant. */
#include "core/exec/nets.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"

/* Connections for communicators that this rank has not made yet, or has destroyed. */
#define STRAYS 1024u
#define STRAY_NS (30 * WEFT_NS_PER_S)

/* A connection that nobody has claimed yet. */
typedef struct early {
    struct early *next;
    weft_net_conn_t *conn;
    uint32_t net;
    uint64_t since;
    weft_link_label_t label;
} early_t;

/* A connection that outlives its communicator: see weft_nets_keep(). */
typedef struct kept {
    struct kept *next;
    weft_net_conn_t *conn;
    uint32_t net;
    weft_place_t place;
} kept_t;

struct weft_nets {
    weft_os_mutex_t lock;
    weft_links_net_t net[WEFT_NETS_MAX];
    uint32_t count;
    uint32_t nranks, rank;
    uint8_t *cards;  /* nranks of them */
    uint8_t *net_of; /* per rank: index of the transport */
    weft_nets_user_t *users;
    early_t *early;
    kept_t *kept;
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
    if (WEFT_HAS(net->ops, weft_net_ops_t, get_extension)) {
        net->attach = net->ops->get_extension(net->net, WEFT_NET_ATTACH);
        net->dmabuf = net->ops->get_extension(net->net, WEFT_NET_DMABUF);
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

weft_status_t weft_nets_create(const weft_registry_t *registry, uint32_t nranks, uint32_t rank,
                               weft_nets_t **nets_p)
{
    weft_nets_t *nets = weft_os_alloc(sizeof *nets, 0);
    if (nets == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate transports");
    }
    nets->nranks = nranks;
    nets->rank = rank;
    const weft_loaded_t *loaded;
    for (uint32_t i = 0; (loaded = weft_registry_get(registry, WEFT_KIND_NET, i)) != NULL; i++) {
        if (i == WEFT_NETS_MAX) {
            weft_nets_destroy(nets);
            return weft_fail(WEFT_ERR_CONFIG, 0, "more than %d net plugins are listed",
                             WEFT_NETS_MAX);
        }
        nets->net[i].loaded = loaded;
        nets->count = i + 1;
        weft_status_t status = net_open(&nets->net[i]);
        if (status != WEFT_OK) {
            weft_nets_destroy(nets);
            return status;
        }
    }
    *nets_p = nets;
    return WEFT_OK;
}

static void early_close(weft_nets_t *nets, early_t *early)
{
    nets->net[early->net].ops->conn_close(early->conn);
    weft_os_free(early);
}

/* Takes it off the list. */
static void kept_close(weft_nets_t *nets, kept_t **link)
{
    kept_t *kept = *link;
    *link = kept->next;
    weft_place_close(&kept->place);
    nets->net[kept->net].ops->conn_close(kept->conn);
    weft_os_free(kept);
}

static void sweep_kept(weft_nets_t *nets)
{
    for (kept_t **link = &nets->kept; *link != NULL;) {
        kept_t *kept = *link;
        if (weft_place_left(&kept->place) ||
            nets->net[kept->net].ops->conn_check(kept->conn) != WEFT_OK) {
            kept_close(nets, link);
        } else {
            link = &kept->next;
        }
    }
}

void weft_nets_keep(weft_nets_t *nets, uint32_t net, weft_net_conn_t *conn,
                    const weft_place_t *place)
{
    kept_t *kept = weft_os_alloc(sizeof *kept, 0);
    weft_os_lock(&nets->lock);
    if (kept != NULL) {
        *kept = (kept_t){.next = nets->kept, .conn = conn, .net = net, .place = *place};
        nets->kept = kept;
    } else {
        nets->net[net].ops->conn_close(conn); /* the memory stays the kernel's */
    }
    weft_os_unlock(&nets->lock);
}

void weft_nets_destroy(weft_nets_t *nets)
{
    if (nets == NULL) {
        return;
    }
    while (nets->early != NULL) {
        early_t *early = nets->early;
        nets->early = early->next;
        early_close(nets, early);
    }
    while (nets->kept != NULL) {
        kept_close(nets, &nets->kept);
    }
    for (uint32_t i = nets->count; i-- > 0;) {
        weft_links_net_t *net = &nets->net[i];
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
    weft_os_free(nets->cards);
    weft_os_free(nets->net_of);
    weft_os_free(nets);
}

uint32_t weft_nets_count(const weft_nets_t *nets)
{
    return nets->count;
}

const weft_links_net_t *weft_nets_get(const weft_nets_t *nets, uint32_t i)
{
    return &nets->net[i];
}

void weft_nets_card(const weft_nets_t *nets, uint8_t card[WEFT_LINKS_CARD])
{
    memset(card, 0, WEFT_LINKS_CARD);
    for (uint32_t i = 0; i < nets->count; i++) {
        memcpy(card + i * sizeof(weft_net_address_t), &nets->net[i].address,
               sizeof(weft_net_address_t));
    }
}

static void card_address(const weft_nets_t *nets, uint32_t peer, uint32_t net,
                         weft_net_address_t *address)
{
    memcpy(address, nets->cards + peer * WEFT_LINKS_CARD + net * sizeof *address, sizeof *address);
}

/* First transport, in the order of the INI, that reaches the peer; nets->count if none does. */
static uint32_t choose_net(const weft_nets_t *nets, uint32_t peer)
{
    for (uint32_t i = 0; i < nets->count; i++) {
        weft_net_address_t address;
        card_address(nets, peer, i, &address);
        if (nets->net[i].device != NULL && address.bytes > 0 &&
            address.bytes <= WEFT_NET_ADDRESS_MAX &&
            nets->net[i].ops->reachable(nets->net[i].device, &address) == WEFT_OK) {
            return i;
        }
    }
    return nets->count;
}

static weft_status_t no_way(const weft_nets_t *nets, uint32_t peer)
{
    char tried[256] = "";
    for (uint32_t i = 0; i < nets->count; i++) {
        size_t at = strlen(tried);
        snprintf(tried + at, sizeof tried - at, " %s", nets->net[i].loaded->plugin->name);
    }
    weft_status_t status = weft_fail(
        WEFT_ERR_LINK, 0, "no transport from rank %u to rank %u; tried:%s; add one to [core] net",
        nets->rank, peer, tried);
    weft_error_record()->peer = (int32_t)peer;
    return status;
}

weft_status_t weft_nets_peers(weft_nets_t *nets, const uint8_t *cards, uint32_t *used_p)
{
    uint32_t n = nets->nranks;
    nets->cards = weft_os_alloc(n * WEFT_LINKS_CARD, 0);
    nets->net_of = weft_os_alloc(n, 0);
    if (nets->cards == NULL || nets->net_of == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate addresses of %u ranks", n);
    }
    memcpy(nets->cards, cards, n * WEFT_LINKS_CARD);
    *used_p = 0;
    for (uint32_t peer = 0; peer < n; peer++) {
        if (peer == nets->rank) {
            continue;
        }
        uint32_t net = choose_net(nets, peer);
        if (net == nets->count) {
            return no_way(nets, peer);
        }
        nets->net_of[peer] = (uint8_t)net;
        *used_p |= 1u << net;
    }
    return WEFT_OK;
}

uint32_t weft_nets_of(const weft_nets_t *nets, uint32_t peer)
{
    return nets->net_of[peer];
}

void weft_nets_address(const weft_nets_t *nets, uint32_t peer, weft_net_address_t *address)
{
    card_address(nets, peer, nets->net_of[peer], address);
}

void weft_nets_lock(weft_nets_t *nets)
{
    weft_os_lock(&nets->lock);
}

void weft_nets_unlock(weft_nets_t *nets)
{
    weft_os_unlock(&nets->lock);
}

/* Early connections --------------------------------------------------------------------------------- */

void weft_nets_enter(weft_nets_t *nets, weft_nets_user_t *user)
{
    weft_os_lock(&nets->lock);
    user->next = nets->users;
    nets->users = user;
    sweep_kept(nets);
    weft_os_unlock(&nets->lock);
}

void weft_nets_leave(weft_nets_t *nets, weft_nets_user_t *user)
{
    weft_os_lock(&nets->lock);
    weft_nets_user_t **place = &nets->users;
    while (*place != user) {
        place = &(*place)->next;
    }
    *place = user->next;
    for (early_t **link = &nets->early; *link != NULL;) {
        early_t *early = *link;
        if (early->label.comm_id == user->comm_id) {
            *link = early->next;
            early_close(nets, early);
        } else {
            link = &early->next;
        }
    }
    weft_os_unlock(&nets->lock);
}

static bool is_known(const weft_nets_t *nets, uint64_t comm_id)
{
    const weft_nets_user_t *user = nets->users;
    while (user != NULL && user->comm_id != comm_id) {
        user = user->next;
    }
    return user != NULL;
}

/* Strays end when their time is over, or when there are too many: the list is newest first. */
static void sweep_strays(weft_nets_t *nets)
{
    uint32_t strays = 0;
    uint64_t now = nets->early != NULL ? weft_os_clock_ns() : 0;
    for (early_t **link = &nets->early; *link != NULL;) {
        early_t *early = *link;
        bool stray = !is_known(nets, early->label.comm_id);
        strays += stray;
        if (stray && (strays > STRAYS || now - early->since > STRAY_NS)) {
            *link = early->next;
            early_close(nets, early);
        } else {
            link = &early->next;
        }
    }
}

/* A connection that is repeated takes the place of the one before: its connector gave that up. */
static void replace(weft_nets_t *nets, const early_t *fresh)
{
    for (early_t **link = &nets->early; *link != NULL; link = &(*link)->next) {
        early_t *early = *link;
        if (early->label.comm_id == fresh->label.comm_id &&
            early->label.from == fresh->label.from &&
            early->label.channel == fresh->label.channel) {
            *link = early->next;
            early_close(nets, early);
            return;
        }
    }
}

static weft_status_t take(weft_nets_t *nets, uint32_t index, weft_net_conn_t *conn)
{
    const weft_net_ops_t *ops = nets->net[index].ops;
    weft_net_conn_info_t info = {.size = sizeof info};
    early_t *early = weft_os_alloc(sizeof *early, 0);
    weft_status_t status = early == NULL
                               ? weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot take a connection")
                               : ops->conn_info(conn, &info);
    if (status != WEFT_OK) {
        ops->conn_close(conn);
        weft_os_free(early);
        return status;
    }
    *early = (early_t){.conn = conn, .net = index, .since = weft_os_clock_ns()};
    memcpy(&early->label, info.label, sizeof early->label);
    replace(nets, early);
    early->next = nets->early;
    nets->early = early;
    return WEFT_OK;
}

static weft_status_t accept_all(weft_nets_t *nets, const weft_nets_user_t *user)
{
    for (uint32_t i = 0; i < nets->count; i++) {
        weft_links_net_t *net = &nets->net[i];
        weft_net_conn_t *conn = NULL;
        bool serves = net->map != NULL || net->attach != NULL || user->first;
        if (net->listener == NULL || !serves) {
            continue;
        }
        weft_status_t status = net->ops->accept(net->listener, &conn);
        if (status == WEFT_OK) {
            status = take(nets, i, conn);
        }
        if (status != WEFT_OK && status != WEFT_AGAIN) {
            return status;
        }
    }
    return WEFT_OK;
}

/* Its connector gave it up and has connected again, or is about to. Mapped memory may hold what a peer
 * wrote before it left, and bytes that wait to be read count as life. */
static bool is_given_up(const weft_nets_t *nets, const early_t *early)
{
    const weft_links_net_t *net = &nets->net[early->net];
    return net->map == NULL && net->ops->conn_check(early->conn) != WEFT_OK;
}

/* The oldest connection for comm_id, taken off the list; NULL if there is none. */
static early_t *claim(weft_nets_t *nets, uint64_t comm_id)
{
    early_t **found = NULL;
    for (early_t **link = &nets->early; *link != NULL;) {
        early_t *early = *link;
        if (early->label.comm_id != comm_id) {
            link = &early->next;
        } else if (is_given_up(nets, early)) {
            *link = early->next;
            early_close(nets, early);
        } else {
            found = link;
            link = &early->next;
        }
    }
    early_t *taken = found != NULL ? *found : NULL;
    if (taken != NULL) {
        *found = taken->next;
    }
    return taken;
}

weft_status_t weft_nets_accept(weft_nets_t *nets, const weft_nets_user_t *user, uint32_t *net_p,
                               weft_net_conn_t **conn_p, weft_link_label_t *label)
{
    weft_os_lock(&nets->lock);
    weft_status_t status = accept_all(nets, user);
    sweep_strays(nets);
    early_t *early = status == WEFT_OK ? claim(nets, user->comm_id) : NULL;
    if (status == WEFT_OK && early == NULL) {
        status = WEFT_AGAIN;
    } else if (status == WEFT_OK) {
        *net_p = early->net;
        *conn_p = early->conn;
        *label = early->label;
        weft_os_free(early);
    }
    weft_os_unlock(&nets->lock);
    return status;
}
