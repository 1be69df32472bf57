/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a joining rank says to the root, and what it hears. */
#include "core/boot/root_client.h"

#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/boot/boot.h"
#include "core/boot/join_request.h"
#include "core/os/os.h"

/* How long the root may take to say why a rank is missed. */
#define CAUSE_NS (WEFT_NS_PER_S / 2)
/* How long a rank that gives up tries to tell a root that it has not reached yet. */
#define INTRODUCE_NS (WEFT_NS_PER_S / 2)
/* To a root on this host: begin to connect, be connected and send the hello. */
#define STEPS_TO_HELLO 2

/* A root that could not have a connection to each rank has told those that came in time. Its limit
 * is most likely ours. "" if that allows enough. */
static void root_client_limit(const weft_root_client_t *client, char *text, size_t size)
{
    uint64_t most = weft_os_files_most();
    text[0] = '\0';
    if (most <= client->boot->nranks) {
        snprintf(text, size,
                 "; it may have failed, because a root needs more open files than ranks: there are "
                 "%u ranks, and RLIMIT_NOFILE is %llu here (ulimit -n)",
                 client->boot->nranks, (unsigned long long)most);
    }
}

/* The process that made the id is gone. Which rank that was is known where a launcher's exchange
 * carried the id. */
static weft_status_t root_client_lost(weft_root_client_t *client, int error, const char *what)
{
    char limit[200];
    root_client_limit(client, limit, sizeof limit);
    client->ended = true;
    if (client->again >= WEFT_AGAIN_MOST) {
        return weft_fail(WEFT_ERR_LINK, error,
                         "the connection to the process that made the unique id was reset %u times",
                         client->again + 1);
    }
    if (!client->id.by_rank_0) {
        return weft_fail(WEFT_ERR_PEER_DEAD, error, "the process that made the unique id %s%s",
                         what, limit);
    }
    weft_fail(WEFT_ERR_PEER_DEAD, error, "rank 0, which made the unique id, %s%s", what, limit);
    return weft_boot_set_culprit(client->boot, 0);
}

static void root_client_connect(weft_root_client_t *client, uint64_t until)
{
    weft_connector_begin_root(&client->connector, &client->id, client->boot->rank,
                              until < client->boot->until ? until : client->boot->until);
}

void weft_root_client_begin(weft_root_client_t *client, weft_boot_t *boot, const weft_id_t *id)
{
    *client = (weft_root_client_t){.boot = boot, .id = *id, .fd = -1, .mine = {.rank = boot->rank}};
    root_client_connect(client, WEFT_NEVER);
    client->reached = WEFT_IN_PROGRESS;
    for (int i = 0; i < STEPS_TO_HELLO && client->reached == WEFT_IN_PROGRESS; i++) {
        client->reached = weft_connector_step(&client->connector);
    }
}

/* Nobody listens any more. */
static weft_status_t root_client_too_late(weft_root_client_t *client, const char *why)
{
    if (client->id.by_rank_0) {
        char what[400];
        snprintf(what, sizeof what, "has ended, or the id was used before: %s", why);
        return root_client_lost(client, 0, what);
    }
    char limit[200];
    root_client_limit(client, limit, sizeof limit);
    return weft_fail(WEFT_ERR_STATE, 0,
                     "stale unique id: %s; it was used before, its init_timeout has passed, or "
                     "the process that made it has ended%s",
                     why, limit);
}

weft_status_t weft_root_client_reach(weft_root_client_t *client)
{
    weft_status_t status = client->reached;
    if (status == WEFT_IN_PROGRESS) {
        status = weft_connector_run(&client->connector);
    }
    client->reached = status;
    if (status == WEFT_OK) {
        client->fd = client->connector.fd;
        return WEFT_OK;
    }
    char why[300];
    snprintf(why, sizeof why, "%.290s", weft_error_record()->text);
    if (status == WEFT_ERR_LINK) {
        return root_client_too_late(client, why);
    }
    if (status == WEFT_ERR_AUTH) {
        return weft_fail(weft_id_expired(&client->id) ? WEFT_ERR_STATE : status, 0,
                         "the root of the unique id refuses us: %s", why);
    }
    if (status == WEFT_ERR_TIMEOUT) {
        weft_fail(status, 0,
                  "the process that made the unique id did not answer before init_timeout: %s",
                  why);
        return client->id.by_rank_0 ? weft_boot_set_culprit(client->boot, 0) : status;
    }
    return status;
}

/* JOIN or READY. False: the connection does not take it. */
static bool root_client_send(weft_root_client_t *client, uint32_t type, int *error_p)
{
    uint8_t message[WEFT_WIRE_HEADER + WEFT_WIRE_JOIN_REQUEST];
    uint32_t bytes = type == WEFT_FRAME_JOIN ? WEFT_WIRE_JOIN_REQUEST : 0;
    weft_frame_t frame = {
        .type = type, .bytes = bytes, .from = client->mine.rank, .comm_id = client->boot->comm_id};
    weft_frame_encode(&frame, message);
    weft_join_request_encode(&client->mine, message + WEFT_WIRE_HEADER);
    bytes += WEFT_WIRE_HEADER;
    return weft_os_send_all(client->fd, message, bytes, error_p);
}

/* The connection broke, which is no end. Begins to make it again. False: it is one, or it has
 * broken too often. */
static bool root_client_seek(weft_root_client_t *client, int error)
{
    if ((!client->reset && error == 0) || client->again >= WEFT_AGAIN_MOST) {
        return false;
    }
    client->reset = client->waits = false;
    client->seeks = true;
    client->again++;
    client->got = 0;
    weft_os_close(client->fd);
    client->fd = -1;
    root_client_connect(client, weft_os_clock_ns() +
                                    weft_connector_patience(client->boot->settings.unresponsive));
    return true;
}

/* OK: the root has heard over the new connection what it may have missed. */
static weft_status_t root_client_return(weft_root_client_t *client, const char *what)
{
    int error = 0;
    weft_status_t status = weft_connector_step(&client->connector);
    if (status == WEFT_IN_PROGRESS) {
        return status;
    }
    client->seeks = false;
    if (status != WEFT_OK) {
        return root_client_lost(client, weft_error_record()->os_errno, what);
    }
    client->fd = client->connector.fd;
    if (root_client_send(client, WEFT_FRAME_JOIN, &error) &&
        (!client->ready || root_client_send(client, WEFT_FRAME_READY, &error))) {
        return WEFT_OK;
    }
    return root_client_seek(client, error) ? WEFT_IN_PROGRESS
                                           : root_client_lost(client, error, what);
}

/* Over a connection that is being made again it is said when that stands. */
static weft_status_t root_client_tell(weft_root_client_t *client, uint32_t type)
{
    int error = 0;
    return client->seeks || root_client_send(client, type, &error) ||
                   root_client_seek(client, error)
               ? WEFT_OK
               : root_client_lost(client, error, "closed the connection");
}

weft_status_t weft_root_client_register(weft_root_client_t *client, const weft_join_request_t *mine)
{
    client->mine = *mine;
    return root_client_tell(client, WEFT_FRAME_JOIN);
}

weft_status_t weft_root_client_ready(weft_root_client_t *client)
{
    client->ready = true;
    return root_client_tell(client, WEFT_FRAME_READY);
}

/* The root may have ended already. If the connection was reset, no read tells that again. */
static void root_client_say(weft_root_client_t *client, uint64_t number)
{
    uint8_t message[WEFT_WIRE_HEADER];
    int error = 0;
    weft_frame_t frame = {.type = WEFT_FRAME_READY,
                          .from = client->mine.rank,
                          .comm_id = client->boot->comm_id,
                          .number = number};
    weft_frame_encode(&frame, message);
    if (!weft_os_send_all(client->fd, message, sizeof message, &error)) {
        client->reset = error != 0;
    }
}

static int root_client_poll(const weft_root_client_t *client, uint64_t until)
{
    struct pollfd entry;
    weft_root_client_prepare(client, &entry, &until);
    return weft_os_poll(&entry, 1, until);
}

/* All connections of this rank stand and are in use: its end is now the tree's to judge. */
weft_status_t weft_root_client_joined(weft_root_client_t *client)
{
    weft_error_t before = *weft_error_record();
    while (client->seeks && root_client_return(client, "is gone") == WEFT_IN_PROGRESS) {
        if (root_client_poll(client, WEFT_NEVER) < 0) {
            return weft_error_record()->status;
        }
    }
    *weft_error_record() = before;
    root_client_say(client, WEFT_READY_JOINED);
    return WEFT_OK;
}

void weft_root_client_waits(weft_root_client_t *client)
{
    if (!client->waits && !client->seeks) {
        client->waits = true;
        root_client_say(client, WEFT_READY_WAITS);
    }
}

static bool root_client_cannot_reach(const weft_root_client_t *client)
{
    return client->reached < 0 && client->reached != WEFT_ERR_RESOURCE &&
           client->reached != WEFT_ERR_SYSTEM;
}

/* A rank that fails before it listens: the root hears a failure only of who has sent a request, so
 * it gets one with the address of this connection, where nobody will come. A connection that this
 * end could not make is tried once more. */
static void root_client_introduce(weft_root_client_t *client)
{
    const weft_error_t why = *weft_error_record();
    const uint64_t soon = weft_os_clock_ns() + INTRODUCE_NS;
    weft_join_request_t mine;
    if (client->reached < 0) {
        root_client_connect(client, WEFT_NEVER);
        client->reached = WEFT_IN_PROGRESS;
    }
    if (soon < client->connector.until) {
        client->connector.until = soon;
    }
    if (weft_root_client_reach(client) == WEFT_OK) {
        /* Without a port it cannot fail. */
        (void)weft_join_request_make(&mine, client->boot->rank, client->boot->nranks, NULL, 0);
        if (weft_os_own_addr(client->fd, &mine.addrs[0])) {
            (void)weft_root_client_register(client, &mine);
        }
    }
    *weft_error_record() = why;
}

/* Tells the root why this rank gives up, so that the others hear the cause and not a death. */
void weft_root_client_give_up(weft_root_client_t *client)
{
    uint8_t message[WEFT_WIRE_MOST];
    if (client->mine.nranks == 0 && !root_client_cannot_reach(client)) {
        root_client_introduce(client);
    }
    int error;
    weft_frame_t frame = {.type = WEFT_FRAME_FAIL,
                          .bytes = WEFT_WIRE_ERROR,
                          .from = client->mine.rank,
                          .comm_id = client->boot->comm_id};
    if (client->fd >= 0 && !client->told && !client->ended) {
        weft_frame_encode(&frame, message);
        weft_error_encode(weft_error_record(), message + WEFT_WIRE_HEADER);
        (void)weft_os_send(client->fd, message, sizeof message, &error);
    }
}

void weft_root_client_prepare(const weft_root_client_t *client, struct pollfd *entry,
                              uint64_t *until)
{
    *entry = (struct pollfd){.fd = client->fd, .events = POLLIN};
    if (client->seeks) {
        weft_connector_prepare(&client->connector, entry, until);
    }
}

static weft_status_t root_client_malformed(const char *why)
{
    return weft_fail(WEFT_ERR_PROTO, 0, "the root of the unique id sent a frame with a bad %s",
                     why);
}

/* Adopts the error record of the root. Its ranks may be those of a process with another idea of
 * nranks, so they are checked with the widest range. */
static weft_status_t root_client_failed(weft_root_client_t *client)
{
    weft_error_t error;
    const char *why;
    if (weft_error_decode(client->message + WEFT_WIRE_HEADER, WEFT_RANKS_MOST, &error, &why) !=
        WEFT_OK) {
        return root_client_malformed(why);
    }
    error.rank = (int32_t)client->mine.rank;
    error.comm_id = client->boot->comm_id;
    *weft_error_record() = error;
    client->told = true;
    return error.status;
}

static bool root_client_knows_children(const weft_root_client_t *client)
{
    const weft_boot_t *boot = client->boot;
    uint32_t i = 1;
    while (i < WEFT_TREE_LINKS &&
           (boot->links[i].rank >= boot->nranks ||
            weft_join_request_addrs(&boot->requests[boot->links[i].rank]) > 0)) {
        i++;
    }
    return i == WEFT_TREE_LINKS;
}

/* The request of a neighbour in the tree. AGAIN: of a child, and more follows. */
static weft_status_t root_client_learn(weft_root_client_t *client, bool child)
{
    const char *why;
    weft_join_request_t request;
    uint32_t me = client->mine.rank;
    if (weft_join_request_decode(client->message + WEFT_WIRE_HEADER, &request, &why) != WEFT_OK) {
        return root_client_malformed(why);
    }
    bool expected = child ? request.rank > me && request.rank < client->boot->nranks &&
                                weft_tree_parent(request.rank) == me
                          : request.rank == weft_tree_parent(me);
    if (!expected || (!child && !root_client_knows_children(client))) {
        return root_client_malformed(expected || child ? "child" : "parent");
    }
    if (request.rank != me) {
        weft_boot_learn(client->boot, &request);
    }
    client->welcomed = !child;
    return child ? WEFT_AGAIN : WEFT_OK;
}

/* A whole frame is here: the last of a welcome (OK), FAIL (its status), or more follows (AGAIN). */
static weft_status_t root_client_take(weft_root_client_t *client, uint32_t type)
{
    client->got = 0;
    if (type == WEFT_FRAME_FAIL) {
        return root_client_failed(client);
    }
    if (client->welcomed) {
        /* It is told again on a new connection. */
        return client->again > 0 ? WEFT_AGAIN : root_client_malformed("type");
    }
    return root_client_learn(client, type == WEFT_FRAME_CHILD);
}

/* Receives what the root has sent. IN_PROGRESS until it has welcomed us (OK), or told of a failure
 * (its status). */
static weft_status_t root_client_hear(weft_root_client_t *client)
{
    static const char what[] = "ended while the ranks joined";
    weft_frame_t frame;
    const char *why;
    for (;;) {
        size_t want = WEFT_WIRE_HEADER;
        weft_status_t status = client->seeks ? root_client_return(client, what) : WEFT_OK;
        if (status != WEFT_OK) {
            return status;
        }
        if (client->got >= WEFT_WIRE_HEADER) {
            if (weft_frame_decode(client->message, WEFT_RANKS_MOST, client->boot->comm_id, &frame,
                                  &why) != WEFT_OK) {
                return root_client_malformed(why);
            }
            if (frame.type != WEFT_FRAME_WELCOME && frame.type != WEFT_FRAME_CHILD &&
                frame.type != WEFT_FRAME_FAIL) {
                return root_client_malformed("type");
            }
            want += frame.bytes;
            status = client->got == want ? root_client_take(client, frame.type) : WEFT_IN_PROGRESS;
            if (status != WEFT_IN_PROGRESS && status != WEFT_AGAIN) {
                return status;
            }
            want = status == WEFT_AGAIN ? WEFT_WIRE_HEADER : want;
        }
        int error = 0;
        ssize_t got =
            weft_os_recv(client->fd, client->message + client->got, want - client->got, &error);
        if (got == WEFT_OS_NONE) {
            return WEFT_IN_PROGRESS;
        }
        if (got <= 0 && root_client_seek(client, error)) {
            continue;
        }
        if (got <= 0) {
            return root_client_lost(client, error, what);
        }
        client->got += (uint32_t)got;
    }
}

weft_status_t weft_root_client_welcome(weft_root_client_t *client)
{
    weft_status_t status;
    uint64_t until = weft_boot_grace_until(client->boot);
    while ((status = root_client_hear(client)) == WEFT_IN_PROGRESS) {
        int ready = root_client_poll(client, until);
        if (ready < 0) {
            return weft_error_record()->status;
        }
        if (ready == 0 && weft_os_clock_ns() >= until) {
            return weft_fail(WEFT_ERR_TIMEOUT, 0,
                             "the process that made the unique id has not said before init_timeout "
                             "that all %u ranks have joined: it waits for the others with an "
                             "init_timeout of its own, or does not run",
                             client->boot->nranks);
        }
    }
    return status;
}

/* A neighbour that is not there has mostly failed because of another rank, which the root knows.
 * Waits for what the root says. IN_PROGRESS: it does not know. */
weft_status_t weft_root_client_failure(weft_root_client_t *client)
{
    weft_status_t status;
    uint64_t until = weft_os_clock_ns() + CAUSE_NS;
    while ((status = root_client_hear(client)) == WEFT_IN_PROGRESS && weft_os_clock_ns() < until) {
        if (root_client_poll(client, until) < 0) {
            break;
        }
    }
    return status == WEFT_OK || client->ended ? WEFT_IN_PROGRESS : status;
}

/* The root watches the others meanwhile. It sends a frame only if a rank failed. */
weft_status_t weft_root_client_step(weft_root_client_t *client)
{
    weft_status_t status = root_client_hear(client);
    return status == WEFT_IN_PROGRESS ? WEFT_OK : status;
}

/* Its end is none of ours any more: it has told all that all are ready, or it died. */
weft_status_t weft_root_client_watch(weft_root_client_t *client)
{
    weft_error_t before = *weft_error_record();
    weft_status_t status = weft_root_client_step(client);
    if (status != WEFT_OK && client->ended) {
        *weft_error_record() = before;
        weft_os_close(client->fd);
        client->fd = -1;
        return WEFT_OK;
    }
    return status;
}

void weft_root_client_end(weft_root_client_t *client)
{
    if (client->reached == WEFT_IN_PROGRESS || client->seeks) {
        weft_connector_end(&client->connector);
    }
    weft_os_close(client->fd);
    client->fd = -1;
    weft_id_wipe(&client->id);
}
