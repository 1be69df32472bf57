/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Joining: send the join request to the root, connect to the parent, accept the children, learn
 * where each rank is. Cost per rank: one connection to the root, at most three in the tree, O(log
 * n) rounds. */
#include "core/boot/join.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/boot/auth.h"
#include "core/boot/boot.h"
#include "core/boot/boot_state.h"
#include "core/boot/connector.h"
#include "core/boot/exchange.h"
#include "core/boot/health.h"
#include "core/boot/host_numbers.h"
#include "core/boot/link_renewal.h"
#include "core/boot/root_client.h"
#include "core/boot/tree_link.h"
#include "core/os/os.h"

/* A rank that has waited for its neighbours so long tells the root. */
#define JOIN_LATE_NS WEFT_NS_PER_S
/* A rank that is cancelled before the root knows it goes there so long, to say so. */
#define JOIN_FAREWELL_NS (WEFT_NS_PER_S / 2)

struct weft_join {
    weft_boot_t *boot;
    weft_root_client_t root;
    weft_connector_t connector; /* to the parent */
};

/* Returns the first neighbour that is not connected, or −1. */
static int64_t join_absent(const weft_join_t *join)
{
    const weft_boot_t *boot = join->boot;
    for (uint32_t i = 0; i < WEFT_TREE_LINKS; i++) {
        bool exists = i == WEFT_TREE_PARENT ? boot->rank > 0 : boot->links[i].rank < boot->nranks;
        if (exists && boot->links[i].fd < 0) {
            return (int64_t)boot->links[i].rank;
        }
    }
    return -1;
}

static weft_status_t join_parent_step(weft_join_t *join)
{
    weft_boot_t *boot = join->boot;
    if (boot->rank == 0 || boot->links[WEFT_TREE_PARENT].fd >= 0) {
        return WEFT_OK;
    }
    weft_status_t status = weft_connector_step(&join->connector);
    if (status == WEFT_IN_PROGRESS) {
        return WEFT_OK;
    }
    if (status == WEFT_OK) {
        weft_link_renewal_attach(&boot->links[WEFT_TREE_PARENT], join->connector.fd);
        return WEFT_OK;
    }
    char why[300], who[128];
    snprintf(why, sizeof why, "%.290s", weft_error_record()->text);
    if (status == WEFT_ERR_RESOURCE) {
        return status; /* nobody else's doing */
    }
    weft_status_t failure = weft_root_client_failure(&join->root);
    if (failure != WEFT_IN_PROGRESS) {
        return failure;
    }
    weft_boot_rank_text(boot, boot->links[WEFT_TREE_PARENT].rank, who, sizeof who);
    weft_fail(status == WEFT_ERR_LINK ? WEFT_ERR_PEER_DEAD : status, 0,
              "cannot connect to %s, the parent in the tree: %s%s", who, why,
              status == WEFT_ERR_LINK ? WEFT_BOOT_CHOOSE_INTERFACE : "");
    return weft_boot_set_culprit(boot, boot->links[WEFT_TREE_PARENT].rank);
}

/* The time is over. Who is missing may be the root's word. Where this rank and its neighbour have
 * looked for each other is known here. */
static weft_status_t join_name_addresses(const weft_join_t *join, uint32_t missing)
{
    const weft_boot_t *boot = join->boot;
    const bool parent = missing == boot->links[WEFT_TREE_PARENT].rank && boot->rank > 0;
    const weft_join_request_t *listener = &boot->requests[parent ? missing : boot->rank];
    weft_error_t *error = weft_error_record();
    char addrs[WEFT_ID_ADDRS * (WEFT_OS_ADDR_TEXT + 2)];
    size_t used = strlen(error->text), room = sizeof error->text - used;
    weft_os_addrs_text(listener->addrs, weft_join_request_addrs(listener), addrs, sizeof addrs);
    snprintf(error->text + used, room, "; rank %u had no connection to rank %u at %s",
             parent ? boot->rank : missing, listener->rank, addrs);
    return error->status;
}

static weft_status_t join_timed_out(const weft_join_t *join, uint32_t missing)
{
    char who[128];
    weft_boot_rank_text(join->boot, missing, who, sizeof who);
    weft_fail(WEFT_ERR_TIMEOUT, 0, "%s did not connect before init_timeout%s", who,
              WEFT_BOOT_CHOOSE_INTERFACE);
    (void)weft_boot_set_culprit(join->boot, missing);
    return join_name_addresses(join, missing);
}

static weft_status_t join_connect_tree(weft_join_t *join)
{
    int fd;
    uint8_t label[WEFT_AUTH_LABEL];
    weft_boot_t *boot = join->boot;
    uint64_t until = weft_boot_grace_until(boot), late = weft_os_clock_ns() + JOIN_LATE_NS;
    for (;;) {
        struct pollfd entries[3]; /* listener, root, connector */
        uint64_t now = weft_os_clock_ns(), wake = late > now && late < until ? late : until;
        weft_status_t status = join_parent_step(join);
        if (status == WEFT_OK) {
            status = weft_root_client_step(&join->root);
        }
        int64_t missing = join_absent(join);
        if (status == WEFT_ERR_TIMEOUT && missing >= 0) {
            return join_name_addresses(join, (uint32_t)missing);
        }
        if (status != WEFT_OK || missing < 0) {
            return status;
        }
        if (now >= late) {
            weft_root_client_waits(&join->root);
        }
        if (now >= until) {
            return join_timed_out(join, (uint32_t)missing);
        }
        weft_control_listener_prepare(&boot->listener, &entries[0], &wake);
        weft_root_client_prepare(&join->root, &entries[1], &wake);
        entries[2] = (struct pollfd){.fd = -1};
        if (boot->rank > 0 && boot->links[WEFT_TREE_PARENT].fd < 0) {
            weft_connector_prepare(&join->connector, &entries[2], &wake);
        }
        if (weft_os_poll(entries, 3, wake) < 0) {
            return weft_error_record()->status;
        }
        while (weft_control_listener_poll(&boot->listener, &entries[0], &fd, label) == WEFT_OK) {
            weft_link_renewal_accept(boot, fd, label);
        }
    }
}

/* What is wrong with the row of `rank` in the table of all join requests; NULL: nothing. */
static const char *join_row_fault(const weft_boot_t *boot, uint32_t rank, const uint8_t *row,
                                  weft_join_request_t *request)
{
    const char *why = NULL;
    if (weft_join_request_decode(row, request, &why) != WEFT_OK) {
        return why;
    }
    return request->rank != rank                   ? "rank"
           : request->nranks != boot->nranks       ? "number of ranks"
           : weft_join_request_addrs(request) == 0 ? "address"
                                                   : NULL;
}

/* Sends all join requests to all ranks, through the new tree. */
static weft_status_t join_learn_peers(weft_join_t *join)
{
    weft_boot_t *boot = join->boot;
    uint8_t mine[WEFT_WIRE_JOIN_REQUEST];
    uint8_t *all = weft_os_alloc((size_t)boot->nranks * WEFT_WIRE_JOIN_REQUEST, 0);
    if (all == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "out of memory for %u ranks", boot->nranks);
    }
    weft_join_request_encode(&join->root.mine, mine);
    boot->root = &join->root;
    weft_status_t status =
        weft_boot_all_gather(boot, "the exchange of addresses", mine, WEFT_WIRE_JOIN_REQUEST, all);
    boot->root = NULL;
    for (uint32_t i = 0; status == WEFT_OK && i < boot->nranks; i++) {
        weft_join_request_t request;
        const uint8_t *row = all + (size_t)i * WEFT_WIRE_JOIN_REQUEST;
        const char *why = join_row_fault(boot, i, row, &request);
        if (why != NULL) {
            weft_fail(WEFT_ERR_PROTO, 0, "the table of addresses has a bad %s of rank %u", why, i);
            status = weft_boot_set_culprit(boot, i);
        } else {
            weft_boot_learn(boot, &request);
        }
    }
    weft_os_free(all);
    return status;
}

/* Others reach this host by the address from which it reaches the root. If that is the loopback,
 * the root is here, and they reach it by the addresses of its id. */
static void join_prefer_near(const weft_join_t *join, const char *filter, weft_join_request_t *mine)
{
    const weft_id_t *id = &join->root.id;
    weft_os_addr_t near[WEFT_ID_ADDRS + 1] = {{0}};
    if (!weft_os_own_addr(join->root.fd, &near[0])) {
        return;
    }
    if (weft_os_addr_is_loopback(&near[0])) {
        memcpy(near, id->addrs, id->count * sizeof *near);
    }
    weft_join_request_prefer(mine, filter, near);
}

static weft_status_t join_introduce(weft_join_t *join, const char *filter,
                                    weft_join_request_t *mine)
{
    weft_status_t status = weft_root_client_reach(&join->root);
    if (status != WEFT_OK) {
        return status;
    }
    join_prefer_near(join, filter, mine);
    weft_boot_learn(join->boot, mine);
    return weft_root_client_register(&join->root, mine);
}

/* The others would wait for this rank until init_timeout. */
static void join_say_farewell(weft_join_t *join, const char *filter, const weft_id_t *id,
                              weft_join_request_t *mine)
{
    weft_boot_t *boot = join->boot;
    weft_error_t before = *weft_error_record();
    uint64_t until = weft_os_clock_ns() + JOIN_FAREWELL_NS;
    boot->until = until < boot->until ? until : boot->until;
    weft_root_client_end(&join->root);
    weft_root_client_begin(&join->root, boot, id);
    (void)join_introduce(join, filter, mine);
    *weft_error_record() = before;
}

/* While the root looks at our first message, which names this rank, the listener is made. */
static weft_status_t join_register(weft_join_t *join, const weft_boot_settings_t *settings,
                                   const weft_id_t *id)
{
    weft_boot_t *boot = join->boot;
    weft_join_request_t mine;
    weft_root_client_begin(&join->root, boot, id);
    weft_status_t status =
        weft_control_listener_open(&boot->listener, WEFT_PURPOSE_TREE, boot->tree_key);
    if (status == WEFT_OK) {
        status = weft_join_request_make(&mine, boot->rank, boot->nranks, settings->interface,
                                        boot->listener.port);
    }
    if (status != WEFT_OK) {
        return status;
    }
    weft_boot_learn(boot, &mine);
    status = join_introduce(join, settings->interface, &mine);
    if (status == WEFT_ERR_ABORTED) {
        join_say_farewell(join, settings->interface, id, &mine);
    }
    return status;
}

static weft_status_t join_connect(weft_join_t *join)
{
    weft_boot_t *boot = join->boot;
    uint8_t label[WEFT_AUTH_LABEL];
    const weft_join_request_t *parent = &boot->requests[weft_tree_parent(boot->rank)];
    weft_status_t status = weft_root_client_welcome(&join->root);
    if (status != WEFT_OK) {
        return status;
    }
    weft_auth_label_make(label, WEFT_PURPOSE_TREE, boot->rank);
    weft_connector_begin(&join->connector, boot->tree_key, label, parent->addrs,
                         weft_join_request_addrs(parent), boot->until);
    status = join_connect_tree(join);
    weft_connector_end(&join->connector);
    return status;
}

static weft_status_t join_tree(weft_join_t *join)
{
    weft_status_t status = join_connect(join);
    if (status == WEFT_OK) {
        status = weft_root_client_ready(&join->root);
    }
    if (status == WEFT_OK) {
        status = join_learn_peers(join);
    }
    if (status == WEFT_OK) {
        status = weft_root_client_joined(&join->root);
    }
    if (status == WEFT_ERR_PEER_DEAD && !join->root.ended) {
        weft_error_t before = *weft_error_record();
        weft_status_t failure = weft_root_client_failure(&join->root);
        if (failure != WEFT_IN_PROGRESS) {
            return failure;
        }
        *weft_error_record() = before;
    }
    return status;
}

/* Until the health thread has taken over, neighbours may wait for us in an exchange. */
static void join_leave_tell_neighbours(weft_boot_t *boot)
{
    char who[128];
    if (boot->failed) {
        return;
    }
    weft_error_t before = *weft_error_record();
    weft_boot_rank_text(boot, boot->rank, who, sizeof who);
    weft_fail(WEFT_ERR_PEER_LEFT, 0, "%s gave up during initialisation", who);
    weft_boot_set_culprit(boot, boot->rank);
    weft_tree_spread_failure(boot);
    *weft_error_record() = before;
}

void weft_boot_give_up(weft_boot_t *boot)
{
    if (boot->health == NULL && boot->nranks > 1) {
        weft_tree_give_up(boot);
    }
}

static void join_boot_free(weft_boot_t *boot)
{
    for (uint32_t i = 0; i < WEFT_TREE_LINKS; i++) {
        weft_link_renewal_end(&boot->links[i]);
        weft_os_close(boot->links[i].fd);
    }
    weft_tree_records_drop(boot, 0);
    weft_control_listener_close(&boot->listener);
    weft_os_free(boot->peers);
    weft_os_free(boot->requests);
    sodium_memzero(boot, sizeof *boot);
    weft_os_free(boot);
}

void weft_boot_leave(weft_boot_t *boot)
{
    if (boot == NULL) {
        return;
    }
    if (boot->health == NULL) {
        join_leave_tell_neighbours(boot);
    }
    weft_health_stop(boot);
    join_boot_free(boot);
}

static weft_boot_t *join_boot_create(const weft_boot_settings_t *settings, uint32_t nranks,
                                     uint32_t rank)
{
    weft_boot_t *boot = weft_os_alloc(sizeof *boot, 0);
    if (boot == NULL) {
        return NULL;
    }
    boot->settings = *settings;
    boot->settings.interface = NULL;
    boot->settings.rendezvous = NULL;
    boot->settings.port_range = NULL;
    boot->listener.ports = settings->ports;
    boot->rank = rank;
    boot->nranks = nranks;
    boot->until = weft_os_deadline(settings->init_timeout);
    for (uint32_t i = 0; i < WEFT_TREE_LINKS; i++) {
        boot->links[i].fd = -1;
        boot->links[i].rank =
            i == WEFT_TREE_PARENT ? weft_tree_parent(rank) : weft_tree_child(rank, i);
    }
    boot->peers = weft_os_alloc(nranks * sizeof *boot->peers, 0);
    boot->requests = weft_os_alloc(nranks * sizeof *boot->requests, 0);
    if (boot->peers == NULL || boot->requests == NULL) {
        join_boot_free(boot);
        return NULL;
    }
    return boot;
}

static void join_destroy(weft_join_t *join)
{
    weft_root_client_end(&join->root);
    weft_os_free(join);
}

void weft_join_abandon(weft_join_t *join)
{
    if (join == NULL) {
        return;
    }
    weft_boot_t *boot = join->boot;
    weft_root_client_give_up(&join->root);
    join_destroy(join);
    weft_tree_spread_failure(boot);
    weft_boot_leave(boot);
}

static weft_status_t join_create(const weft_boot_settings_t *settings, uint32_t nranks,
                                 uint32_t rank, const weft_id_t *id, weft_join_t **join_p)
{
    weft_join_t *join = weft_os_alloc(sizeof *join, 0);
    weft_boot_t *boot = join != NULL ? join_boot_create(settings, nranks, rank) : NULL;
    if (boot == NULL) {
        weft_os_free(join);
        return weft_fail(WEFT_ERR_RESOURCE, 0, "out of memory for %u ranks", nranks);
    }
    join->boot = boot;
    boot->comm_id = weft_id_comm(id);
    weft_id_key(id, "data", boot->key);
    weft_id_key(id, WEFT_PURPOSE_TREE, boot->tree_key);
    *join_p = join;
    return WEFT_OK;
}

weft_status_t weft_join_begin(const weft_boot_settings_t *settings, uint32_t nranks,
                              const weft_unique_id_t *id, uint32_t rank, weft_join_t **join_p)
{
    weft_id_t opened;
    weft_join_t *join = NULL;
    if (nranks > WEFT_RANKS_MOST) {
        return weft_fail(WEFT_ERR_ARG, 0, "%u ranks are too many, a job has at most %u", nranks,
                         WEFT_RANKS_MOST);
    }
    if (nranks == 0 || rank >= nranks) {
        return weft_fail(WEFT_ERR_ARG, 0, "rank %u of %u ranks is out of range", rank, nranks);
    }
    weft_status_t status = weft_id_decode(id, &opened);
    if (status != WEFT_OK) {
        return status;
    }
    status = join_create(settings, nranks, rank, &opened, &join);
    if (status == WEFT_OK) {
        status = join_register(join, settings, &opened);
    }
    weft_id_wipe(&opened);
    if (status != WEFT_OK) {
        weft_join_abandon(join);
        return status;
    }
    *join_p = join;
    return WEFT_OK;
}

weft_status_t weft_join_complete(weft_join_t *join, weft_boot_t **boot_p)
{
    weft_boot_t *boot = join->boot;
    weft_status_t status = join_tree(join);
    if (status == WEFT_OK && boot->nranks == 1) {
        weft_control_listener_close(&boot->listener); /* nobody will ever connect */
    }
    if (status == WEFT_OK) {
        status = weft_boot_number_hosts(boot->peers, boot->nranks, &boot->hosts);
    }
    if (status != WEFT_OK) {
        weft_join_abandon(join);
        return status;
    }
    join_destroy(join);
    *boot_p = boot;
    return WEFT_OK;
}

weft_status_t weft_boot_join(const weft_boot_settings_t *settings, uint32_t nranks,
                             const weft_unique_id_t *id, uint32_t rank, weft_boot_t **boot_p)
{
    weft_join_t *join = NULL;
    weft_status_t status = weft_join_begin(settings, nranks, id, rank, &join);
    return status == WEFT_OK ? weft_join_complete(join, boot_p) : status;
}
