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
#include "core/boot/tree_link.h"
#include "core/os/os.h"

/* The root knows who is missing, so its answer is awaited a little beyond our own deadline. */
#define GRACE_NS (WEFT_NS_PER_S / 2)

typedef struct join {
    weft_boot_t *boot;
    weft_id_t id;
    weft_join_request_t mine;
    int root;        /* −1 = not connected */
    bool root_ended; /* it closed and did not say why */
    bool root_told;  /* it said why the join failed */
    uint32_t got;
    uint8_t message[WEFT_WIRE_MOST]; /* of the root, as far as received */
    weft_connector_t connector;      /* to the parent */
} join_t;

static uint64_t join_later(uint64_t until, uint64_t ns)
{
    return until > WEFT_NEVER - ns ? WEFT_NEVER : until + ns;
}

/* The process that made the id is gone. Which rank that was is known where a launcher's exchange
 * carried the id. */
static weft_status_t join_root_lost(join_t *join, int error, const char *what)
{
    join->root_ended = true;
    if (!join->id.by_rank_0) {
        return weft_fail(WEFT_ERR_PEER_DEAD, error, "the process that made the unique id %s", what);
    }
    weft_fail(WEFT_ERR_PEER_DEAD, error, "rank 0, which made the unique id, %s", what);
    return weft_boot_set_culprit(join->boot, 0);
}

static weft_status_t join_reach_root(join_t *join)
{
    uint8_t key[32], label[WEFT_AUTH_LABEL];
    weft_connector_t connector;
    weft_id_key(&join->id, WEFT_PURPOSE_ROOT, key);
    weft_auth_label_make(label, WEFT_PURPOSE_ROOT, join->boot->rank);
    weft_connector_begin(&connector, key, label, join->id.addrs, join->id.count, join->boot->until);
    weft_status_t status = weft_connector_run(&connector);
    sodium_memzero(key, sizeof key);
    if (status == WEFT_OK) {
        join->root = connector.fd;
        return WEFT_OK;
    }
    char why[300];
    snprintf(why, sizeof why, "%.290s", weft_error_record()->text);
    if (status == WEFT_ERR_LINK && join->id.by_rank_0) {
        char what[360];
        snprintf(what, sizeof what, "has ended, or the id was used before: %s", why);
        return join_root_lost(join, 0, what);
    }
    if (status == WEFT_ERR_LINK) {
        return weft_fail(WEFT_ERR_STATE, 0,
                         "stale unique id: %s; it was used before, its init_timeout has passed, or "
                         "the process that made it has ended",
                         why);
    }
    if (status == WEFT_ERR_AUTH) {
        return weft_fail(weft_id_expired(&join->id) ? WEFT_ERR_STATE : status, 0,
                         "the root of the unique id refuses us: %s", why);
    }
    return status;
}

static weft_status_t join_tell_root(join_t *join, uint32_t type)
{
    uint8_t message[WEFT_WIRE_HEADER + WEFT_WIRE_JOIN_REQUEST];
    uint32_t bytes = type == WEFT_FRAME_JOIN ? WEFT_WIRE_JOIN_REQUEST : 0;
    weft_frame_t frame = {
        .type = type, .bytes = bytes, .from = join->mine.rank, .comm_id = join->boot->comm_id};
    int error = 0;
    weft_frame_encode(&frame, message);
    weft_join_request_encode(&join->mine, message + WEFT_WIRE_HEADER);
    bytes += WEFT_WIRE_HEADER;
    if (weft_os_send(join->root, message, bytes, &error) != (ssize_t)bytes) {
        return join_root_lost(join, error, "closed the connection");
    }
    return WEFT_OK;
}

/* All connections of this rank stand and are in use: its end is now the tree's to judge. The root may
 * have ended already. */
static void join_say_joined(join_t *join)
{
    uint8_t message[WEFT_WIRE_HEADER];
    int error;
    weft_frame_t frame = {.type = WEFT_FRAME_READY,
                          .from = join->mine.rank,
                          .comm_id = join->boot->comm_id,
                          .number = 1};
    weft_frame_encode(&frame, message);
    (void)weft_os_send(join->root, message, sizeof message, &error);
}

/* Tells the root why this rank gives up, so that the others hear the cause and not a death. */
static void join_give_up(join_t *join)
{
    uint8_t message[WEFT_WIRE_MOST];
    int error;
    weft_frame_t frame = {.type = WEFT_FRAME_FAIL,
                          .bytes = WEFT_WIRE_ERROR,
                          .from = join->mine.rank,
                          .comm_id = join->boot->comm_id};
    if (join->root >= 0 && !join->root_told && !join->root_ended) {
        weft_frame_encode(&frame, message);
        weft_error_encode(weft_error_record(), message + WEFT_WIRE_HEADER);
        (void)weft_os_send(join->root, message, sizeof message, &error);
    }
}

static weft_status_t join_malformed(const char *why)
{
    return weft_fail(WEFT_ERR_PROTO, 0, "the root of the unique id sent a frame with a bad %s",
                     why);
}

/* Adopts the error record of the root. Its ranks may be those of a process with another idea of
 * nranks, so they are checked with the widest range. */
static weft_status_t join_root_failed(join_t *join)
{
    weft_error_t error;
    const char *why;
    if (weft_error_decode(join->message + WEFT_WIRE_HEADER, WEFT_RANKS_MOST, &error, &why) !=
        WEFT_OK) {
        return join_malformed(why);
    }
    error.rank = (int32_t)join->mine.rank;
    error.comm_id = join->boot->comm_id;
    *weft_error_record() = error;
    join->root_told = true;
    return error.status;
}

/* Receives what the root has sent. IN_PROGRESS until the frame is whole. Then it is WELCOME (OK) or
 * FAIL (its status). */
static weft_status_t join_hear_root(join_t *join, weft_join_request_t *parent)
{
    weft_frame_t frame = {.bytes = WEFT_WIRE_MOST};
    const char *why;
    for (;;) {
        size_t want = WEFT_WIRE_HEADER;
        if (join->got >= WEFT_WIRE_HEADER) {
            if (weft_frame_decode(join->message, WEFT_RANKS_MOST, join->boot->comm_id, &frame,
                                  &why) != WEFT_OK) {
                return join_malformed(why);
            }
            if (frame.type != WEFT_FRAME_WELCOME && frame.type != WEFT_FRAME_FAIL) {
                return join_malformed("type");
            }
            want += frame.bytes;
            if (join->got == want) {
                break;
            }
        }
        int error = 0;
        ssize_t got = weft_os_recv(join->root, join->message + join->got, want - join->got, &error);
        if (got == WEFT_OS_NONE) {
            return WEFT_IN_PROGRESS;
        }
        if (got <= 0) {
            return join_root_lost(join, error, "ended while the ranks joined");
        }
        join->got += (uint32_t)got;
    }
    join->got = 0;
    if (frame.type == WEFT_FRAME_FAIL) {
        return join_root_failed(join);
    }
    if (weft_join_request_decode(join->message + WEFT_WIRE_HEADER, parent, &why) != WEFT_OK) {
        return join_malformed(why);
    }
    return parent->rank == weft_tree_parent(join->mine.rank) ? WEFT_OK : join_malformed("parent");
}

static weft_status_t join_register(join_t *join, weft_join_request_t *parent)
{
    uint64_t until = join_later(join->boot->until, GRACE_NS);
    weft_status_t status = join_tell_root(join, WEFT_FRAME_JOIN);
    if (status != WEFT_OK) {
        return status;
    }
    while ((status = join_hear_root(join, parent)) == WEFT_IN_PROGRESS) {
        struct pollfd entry = {.fd = join->root, .events = POLLIN};
        int ready = weft_os_poll(&entry, 1, until);
        if (ready < 0) {
            return weft_error_record()->status;
        }
        if (ready == 0 && weft_os_clock_ns() >= until) {
            return weft_fail(WEFT_ERR_TIMEOUT, 0,
                             "the process that made the unique id did not answer before "
                             "init_timeout");
        }
    }
    return status;
}

/* Takes a connection of the listener, which is that of a child or is closed. */
static void join_accept_child(join_t *join, int fd, const uint8_t label[WEFT_AUTH_LABEL])
{
    uint32_t rank;
    if (weft_auth_label_read(label, WEFT_PURPOSE_TREE, &rank)) {
        for (uint32_t i = 1; i < WEFT_TREE_LINKS; i++) {
            weft_tree_link_t *link = &join->boot->links[i];
            if (link->rank == rank && rank < join->boot->nranks) {
                /* A child that comes again has given up the connection that it had. */
                weft_os_close(link->fd);
                link->fd = fd;
                return;
            }
        }
    }
    weft_os_close(fd);
}

/* Returns the first neighbour that is not connected, or −1. */
static int64_t join_absent(const join_t *join)
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

/* A neighbour that is not there has mostly failed because of another rank, which the root knows.
 * Waits for what the root says. IN_PROGRESS: it does not know. */
static weft_status_t join_root_failure(join_t *join)
{
    weft_join_request_t unused;
    weft_status_t status;
    uint64_t until = weft_os_clock_ns() + GRACE_NS;
    while ((status = join_hear_root(join, &unused)) == WEFT_IN_PROGRESS &&
           weft_os_clock_ns() < until) {
        struct pollfd entry = {.fd = join->root, .events = POLLIN};
        if (weft_os_poll(&entry, 1, until) < 0) {
            break;
        }
    }
    return status == WEFT_OK || join->root_ended ? WEFT_IN_PROGRESS : status;
}

static weft_status_t join_parent_step(join_t *join)
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
        boot->links[WEFT_TREE_PARENT].fd = join->connector.fd;
        return WEFT_OK;
    }
    char why[300], who[128];
    snprintf(why, sizeof why, "%.290s", weft_error_record()->text);
    weft_status_t failure = join_root_failure(join);
    if (failure != WEFT_IN_PROGRESS) {
        return failure;
    }
    weft_boot_rank_text(boot, boot->links[WEFT_TREE_PARENT].rank, who, sizeof who);
    weft_fail(status == WEFT_ERR_LINK ? WEFT_ERR_PEER_DEAD : status, 0,
              "cannot connect to %s, the parent in the tree: %s", who, why);
    return weft_boot_set_culprit(boot, boot->links[WEFT_TREE_PARENT].rank);
}

/* The root watches the others meanwhile. It sends a frame only if a rank failed. */
static weft_status_t join_root_step(join_t *join)
{
    weft_join_request_t unused;
    weft_status_t status = join_hear_root(join, &unused);
    return status == WEFT_IN_PROGRESS ? WEFT_OK
           : status == WEFT_OK        ? join_malformed("type")
                                      : status;
}

static weft_status_t join_connect_tree(join_t *join)
{
    int fd;
    uint8_t label[WEFT_AUTH_LABEL];
    weft_boot_t *boot = join->boot;
    uint64_t until = join_later(boot->until, GRACE_NS);
    for (;;) {
        struct pollfd entries[3]; /* listener, root, connector */
        uint64_t wake = until;
        weft_status_t status = join_parent_step(join);
        if (status == WEFT_OK) {
            status = join_root_step(join);
        }
        int64_t missing = join_absent(join);
        if (status != WEFT_OK || missing < 0) {
            return status;
        }
        if (weft_os_clock_ns() >= until) {
            weft_fail(WEFT_ERR_TIMEOUT, 0, "rank %u did not connect before init_timeout",
                      (uint32_t)missing);
            return weft_boot_set_culprit(boot, (uint32_t)missing);
        }
        weft_control_listener_prepare(&boot->listener, &entries[0], &wake);
        entries[1] = (struct pollfd){.fd = join->root, .events = POLLIN};
        entries[2] = (struct pollfd){.fd = -1};
        if (boot->rank > 0 && boot->links[WEFT_TREE_PARENT].fd < 0) {
            weft_connector_prepare(&join->connector, &entries[2], &wake);
        }
        if (weft_os_poll(entries, 3, wake) < 0) {
            return weft_error_record()->status;
        }
        while (weft_control_listener_poll(&boot->listener, &entries[0], &fd, label) == WEFT_OK) {
            join_accept_child(join, fd, label);
        }
    }
}

static void join_learn(weft_boot_t *boot, const weft_join_request_t *request)
{
    weft_boot_peer_t *peer = &boot->peers[request->rank];
    memcpy(peer->host_id, request->host_id, sizeof peer->host_id);
    memcpy(peer->host_name, request->host_name, sizeof peer->host_name);
    peer->pid = request->pid;
    boot->requests[request->rank] = *request;
}

/* Sends all join requests to all ranks, through the new tree. */
static weft_status_t join_learn_peers(join_t *join)
{
    weft_boot_t *boot = join->boot;
    uint8_t mine[WEFT_WIRE_JOIN_REQUEST];
    uint8_t *all = weft_os_alloc((size_t)boot->nranks * WEFT_WIRE_JOIN_REQUEST, 0);
    if (all == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "out of memory for %u ranks", boot->nranks);
    }
    weft_join_request_encode(&join->mine, mine);
    weft_status_t status =
        weft_boot_all_gather(boot, "the exchange of addresses", mine, WEFT_WIRE_JOIN_REQUEST, all);
    for (uint32_t i = 0; status == WEFT_OK && i < boot->nranks; i++) {
        weft_join_request_t request;
        const char *why = "rank";
        status = weft_join_request_decode(all + (size_t)i * WEFT_WIRE_JOIN_REQUEST, &request, &why);
        if (status != WEFT_OK || request.rank != i || request.nranks != boot->nranks) {
            status =
                weft_fail(WEFT_ERR_PROTO, 0, "rank %u sent a join request with a bad %s", i, why);
            weft_boot_set_culprit(boot, i);
            break;
        }
        join_learn(boot, &request);
    }
    weft_os_free(all);
    return status;
}

static weft_status_t join_many(join_t *join, const weft_boot_settings_t *settings)
{
    weft_boot_t *boot = join->boot;
    uint8_t label[WEFT_AUTH_LABEL];
    weft_join_request_t parent;
    weft_status_t status =
        weft_control_listener_open(&boot->listener, WEFT_PURPOSE_TREE, boot->tree_key);
    if (status == WEFT_OK) {
        status = weft_join_request_make(&join->mine, boot->rank, boot->nranks, settings->interface,
                                        boot->listener.port);
    }
    if (status == WEFT_OK) {
        status = join_reach_root(join);
    }
    if (status == WEFT_OK) {
        join_learn(boot, &join->mine);
        status = join_register(join, &parent);
    }
    if (status != WEFT_OK) {
        return status;
    }
    if (boot->rank > 0) {
        join_learn(boot, &parent);
    }
    weft_auth_label_make(label, WEFT_PURPOSE_TREE, boot->rank);
    weft_connector_begin(&join->connector, boot->tree_key, label, parent.addrs,
                         weft_join_request_addrs(&parent), boot->until);
    status = join_connect_tree(join);
    weft_connector_end(&join->connector);
    if (status == WEFT_OK) {
        status = join_tell_root(join, WEFT_FRAME_READY);
    }
    if (status == WEFT_OK) {
        status = join_learn_peers(join);
    }
    if (status == WEFT_OK) {
        /* The root may have ended already: all are ready. */
        join_say_joined(join);
    }
    if (status == WEFT_ERR_PEER_DEAD && !join->root_ended) {
        weft_error_t before = *weft_error_record();
        weft_status_t failure = join_root_failure(join);
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

void weft_boot_leave(weft_boot_t *boot)
{
    if (boot == NULL) {
        return;
    }
    if (boot->health != NULL) {
        weft_health_stop(boot);
    } else {
        join_leave_tell_neighbours(boot);
    }
    for (uint32_t i = 0; i < WEFT_TREE_LINKS; i++) {
        weft_os_close(boot->links[i].fd);
    }
    weft_control_listener_close(&boot->listener);
    weft_os_free(boot->peers);
    weft_os_free(boot->requests);
    sodium_memzero(boot, sizeof *boot);
    weft_os_free(boot);
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
    boot->rank = rank;
    boot->nranks = nranks;
    boot->until = weft_os_deadline(settings->init_timeout);
    for (uint32_t i = 0; i < WEFT_TREE_LINKS; i++) {
        boot->links[i].fd = -1;
        boot->links[i].rank = i == WEFT_TREE_PARENT ? weft_tree_parent(rank) : 2 * rank + i;
    }
    boot->peers = weft_os_alloc(nranks * sizeof *boot->peers, 0);
    boot->requests = weft_os_alloc(nranks * sizeof *boot->requests, 0);
    if (boot->peers == NULL || boot->requests == NULL) {
        weft_boot_leave(boot);
        return NULL;
    }
    return boot;
}

weft_status_t weft_boot_join(const weft_boot_settings_t *settings, uint32_t nranks,
                             const weft_unique_id_t *id, uint32_t rank, weft_boot_t **boot_p)
{
    join_t join = {.root = -1};
    if (nranks == 0 || nranks > WEFT_RANKS_MOST || rank >= nranks) {
        return weft_fail(WEFT_ERR_ARG, 0, "rank %u of %u ranks is out of range", rank, nranks);
    }
    weft_status_t status = weft_id_decode(id, &join.id);
    if (status != WEFT_OK) {
        return status;
    }
    weft_boot_t *boot = join_boot_create(settings, nranks, rank);
    if (boot == NULL) {
        weft_id_wipe(&join.id);
        return weft_fail(WEFT_ERR_RESOURCE, 0, "out of memory for %u ranks", nranks);
    }
    join.boot = boot;
    boot->comm_id = weft_id_comm(&join.id);
    weft_id_key(&join.id, "data", boot->key);
    weft_id_key(&join.id, WEFT_PURPOSE_TREE, boot->tree_key);
    if (nranks == 1) {
        status = weft_join_request_make(&join.mine, 0, 1, NULL, 0);
        join_learn(boot, &join.mine);
    } else {
        status = join_many(&join, settings);
    }
    if (status != WEFT_OK) {
        join_give_up(&join);
    }
    if (status == WEFT_OK) {
        status = weft_boot_number_hosts(boot->peers, nranks, &boot->hosts);
    }
    weft_os_close(join.root);
    weft_id_wipe(&join.id);
    if (status != WEFT_OK) {
        weft_tree_spread_failure(boot);
        weft_boot_leave(boot);
        return status;
    }
    *boot_p = boot;
    return WEFT_OK;
}
