/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The root thread. A connection is first a pending peer of the listener. Then it has proved that it
 * holds the id and is a joiner, whose first frame is awaited: a claim of the id, or a join request.
 * Then it belongs to the seat of its rank. */
#include "core/boot/join_root.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/plural.h"
#include "core/boot/auth.h"
#include "core/boot/connector.h"
#include "core/boot/control_listener.h"
#include "core/boot/join_notice.h"
#include "core/boot/root_joiners.h"
#include "core/boot/root_table.h"
#include "core/boot/root_word.h"
#include "core/os/os.h"

#define LINGER_NS (10 * WEFT_NS_PER_S)
#define LOOK_NS (10 * WEFT_NS_PER_MS) /* rhythm of looking at those that are lost, or not watched */
#define EVENTS 64
/* Ranks that are missed before anybody has said how many there are. */
#define EARLY_MOST 64

/* A rank that was heard of and has no connection. */
typedef struct root_missed {
    uint32_t rank;
    int error;       /* by which its connection broke; 0: it has ended */
    const char *why; /* the bad field of what it said; NULL: it said nothing */
} root_missed_t;

typedef struct root {
    weft_control_listener_t listener;
    bool listens; /* the listener is in the watch */
    int watch;
    weft_root_joiners_t joiners;
    weft_root_table_t table;
    bool welcomed, ended;
    bool blind;    /* no watch was left for the listener or a joiner: they are looked at instead */
    uint32_t lost; /* seats with `lost` set */
    root_missed_t early[EARLY_MOST]; /* when there were no seats yet */
    uint32_t early_count;
    uint64_t until;
    weft_root_word_t word; /* of rank 0, if that does not get here */
    weft_join_notice_t notice;
} root_t;

static void root_destroy(root_t *root)
{
    weft_control_listener_close(&root->listener);
    weft_root_word_close(&root->word);
    weft_root_joiners_tell(&root->joiners, &root->table);
    weft_root_joiners_fini(&root->joiners);
    weft_root_table_fini(&root->table);
    weft_os_close(root->watch);
    weft_os_free(root);
}

/* Ends the join with a failure, of which all hear. The root stays for the ranks that are still on
 * their way. */
static void root_fail(root_t *root, weft_status_t status, const weft_root_seat_t *culprit,
                      const char *text)
{
    uint64_t linger = weft_os_clock_ns() + LINGER_NS;
    weft_root_fail(&root->table, status, culprit, text);
    root->until = linger < root->until ? linger : root->until;
    root->ended = weft_root_all_told(&root->table);
}

/* It died or, with `why`, it sent a frame with that bad field: then it hears so, too, if it is
 * still connected. */
static void root_seat_end(root_t *root, const weft_root_seat_t *seat, const char *why)
{
    char text[256];
    weft_root_end_text(&root->table, seat, why, text, sizeof text);
    root_fail(root, why == NULL ? WEFT_ERR_PEER_DEAD : WEFT_ERR_PROTO, seat, text);
}

static void root_seat_died(root_t *root, const weft_root_seat_t *seat)
{
    root_seat_end(root, seat, NULL);
}

static void root_seat_found(root_t *root, weft_root_seat_t *seat)
{
    root->lost -= seat->lost != 0;
    weft_root_seat_find(seat);
}

/* `error`: by which its connection broke; 0: it has ended. */
static void root_seat_lose(root_t *root, weft_root_seat_t *seat, int error)
{
    if (seat->lost == 0) {
        weft_root_seat_lose(&root->table, seat, error);
        root->lost++;
    }
}

/* Its connection, of the claim or of the join, broke. It comes again, unless it died. */
static void root_seat_broke(root_t *root, weft_root_seat_t *seat, int *fd, int error)
{
    weft_root_close(&root->table, fd);
    if (weft_root_has_ended(&root->table, seat)) {
        root_seat_died(root, seat);
    } else if (!seat->ready) { /* or its neighbours see what becomes of it */
        root_seat_lose(root, seat, error);
    }
}

static void root_welcome(root_t *root, uint32_t rank)
{
    int error = weft_root_welcome(&root->table, rank);
    if (error != 0) {
        root_seat_broke(root, &root->table.seats[rank], &root->table.seats[rank].join, error);
    }
}

/* A rank was heard of, and its connection has ended before it said more than its number, or
 * something wrong: it died, or cannot join, unless it comes again. */
static void root_miss(root_t *root, root_missed_t missed)
{
    if (root->table.nranks == 0) {
        if (root->early_count < EARLY_MOST) {
            root->early[root->early_count++] = missed;
        }
    } else if (missed.rank < root->table.nranks) {
        weft_root_seat_t *seat = &root->table.seats[missed.rank];
        if (!seat->arrived && seat->claim < 0) {
            root_seat_lose(root, seat, missed.error);
            seat->why = missed.why != NULL ? missed.why : seat->why;
        }
    }
}

/* Its hello was good. It may be a recorded one, which does no harm: its rank has come. One of a
 * build that speaks another version has been told so, and nobody can join without it. */
static void root_on_silent(void *arg, const weft_handshake_t *handshake)
{
    root_t *root = arg;
    uint8_t label[WEFT_AUTH_LABEL];
    uint32_t rank;
    int error = errno;
    const bool refused = weft_auth_server_refused(&handshake->auth, label);
    if ((!refused && !weft_auth_server_label(&handshake->auth, label)) ||
        !weft_auth_label_read(label, WEFT_PURPOSE_ROOT, &rank)) {
        return;
    }
    if (!refused) {
        root_miss(root, (root_missed_t){.rank = rank, .error = error});
    } else if (!root->welcomed) {
        char text[sizeof((weft_error_t *)0)->text];
        snprintf(text, sizeof text, "rank %u cannot join: %.400s", rank, weft_error_record()->text);
        root_fail(root, WEFT_ERR_PROTO, rank < root->table.nranks ? &root->table.seats[rank] : NULL,
                  text);
    }
}

/* Returns whether the connection is watched; else the join has failed, on this host. */
static bool root_watches(root_t *root, int fd, uint32_t kind, uint32_t rank)
{
    if (weft_os_watch_add(root->watch, fd, weft_root_tag(kind, rank)) != WEFT_OK) {
        char text[sizeof((weft_error_t *)0)->text];
        snprintf(text, sizeof text, "host %s, pid %d, which made the unique id: %.380s",
                 root->table.self.host_name, (int)root->table.self.pid, weft_error_record()->text);
        root_fail(root, weft_error_record()->status, NULL, text);
        return false;
    }
    return true;
}

/* Takes the connection for the one of a rank's join, also in place of one that broke. */
static bool root_seat_connect(root_t *root, int fd, uint32_t rank)
{
    weft_root_seat_t *seat = &root->table.seats[rank];
    root_seat_found(root, seat);
    weft_root_close(&root->table, &seat->join);
    seat->join = fd;
    seat->from_join.bytes = 0;
    return root_watches(root, fd, WEFT_ROOT_JOIN, rank);
}

/* Its connection broke, here too or only at its end. What it may have missed it is told again. */
static void root_seat_join_again(root_t *root, int fd, const weft_join_request_t *request)
{
    if (root_seat_connect(root, fd, request->rank) && root->welcomed) {
        root_welcome(root, request->rank);
    }
}

static void root_seat_join(root_t *root, int fd, const weft_join_request_t *request)
{
    weft_root_table_t *table = &root->table;
    weft_root_seat_t *seat = &table->seats[request->rank];
    seat->arrived = true;
    seat->request = *request;
    weft_root_close(table, &seat->process);
    if (request->rank == 0 && table->claimed == table->nranks) {
        weft_root_release_claims(table); /* its word for that may have been lost */
    }
    if (root_seat_connect(root, fd, request->rank) && ++table->arrived == table->nranks) {
        root->welcomed = true;
        for (uint32_t i = 0; i < table->nranks && table->failure.status == WEFT_OK; i++) {
            root_welcome(root, i);
        }
    }
}

static void root_seat_claim(root_t *root, int fd, const weft_join_request_t *request)
{
    root_seat_found(root, &root->table.seats[request->rank]);
    weft_root_take_claim(&root->table, fd, request);
    if (root_watches(root, fd, WEFT_ROOT_CLAIM, request->rank)) {
        weft_root_answer_claim(&root->table, request->rank);
    }
}

static void root_miss_early(root_t *root)
{
    for (uint32_t i = 0; root->table.nranks > 0 && i < root->early_count; i++) {
        root->early[i].error = ECONNRESET;
        root_miss(root, root->early[i]);
    }
}

/* Gives the connection to the seat of its rank, or finds what contradicts it and closes it. */
static void root_admit(root_t *root, int fd, const weft_join_request_t *request, bool joins)
{
    char text[sizeof((weft_error_t *)0)->text];
    const weft_root_seat_t *other = NULL;
    weft_root_table_t *table = &root->table;
    if (table->failure.status != WEFT_OK) {
        weft_root_tell_late(table, fd, request);
        root->ended = weft_root_all_told(table);
        return;
    }
    const bool again = joins && weft_root_comes_again(table, request, true);
    if (root->welcomed && !again) {
        weft_root_refuse(table, fd, request);
        return;
    }
    weft_status_t status = weft_root_check(table, request, joins, text, sizeof text, &other);
    weft_status_t made = WEFT_OK;
    if (status == WEFT_OK && table->nranks == 0) {
        made = weft_root_table_make(table, request);
        snprintf(text, sizeof text, "%s", weft_error_record()->text);
        status = table->seats == NULL ? made : WEFT_OK;
        root_miss_early(root);
    }
    if (status != WEFT_OK) {
        root_fail(root, status, other, text);
        weft_root_tell_late(table, fd, NULL);
        root->ended = weft_root_all_told(table);
    } else if (again) {
        root_seat_join_again(root, fd, request);
    } else if (joins) {
        root_seat_join(root, fd, request);
    } else {
        root_seat_claim(root, fd, request);
    }
    if (status == WEFT_OK && made != WEFT_OK) {
        root_fail(root, made, NULL, text);
    }
}

/* Whoever sent a bad first message hears so. Its rank may still come for a while: the sender may be
 * none of the job. */
static void root_reject(root_t *root, int fd, uint32_t rank, const char *why)
{
    weft_error_t error;
    weft_error_clear(&error);
    error.status = WEFT_ERR_PROTO;
    snprintf(error.text, sizeof error.text, "rank %u sent a first frame with a bad %s", rank, why);
    weft_log(WEFT_LOG_WARN, "boot", "root: %s", error.text);
    weft_root_send_error(&root->table, fd, &error);
    weft_os_close(fd);
    root_miss(root, (root_missed_t){.rank = rank, .why = why});
}

static void join_root_joiner_step(root_t *root, weft_root_joiner_t *joiner)
{
    weft_join_request_t request;
    const char *why;
    bool joins;
    int error = 0;
    ssize_t got = weft_os_recv(joiner->fd, joiner->frame + joiner->bytes,
                               WEFT_ROOT_REQUEST - joiner->bytes, &error);
    if (got == WEFT_OS_NONE) {
        return;
    }
    if (got <= 0) {
        weft_root_close(&root->table, &joiner->fd);
        if (!weft_root_joiner_lives(joiner)) {
            root_miss(root, (root_missed_t){.rank = joiner->rank, .error = got < 0 ? error : 0});
        }
        return;
    }
    joiner->bytes += (uint32_t)got;
    if (joiner->bytes < WEFT_ROOT_REQUEST) {
        return;
    }
    int fd = joiner->fd;
    weft_os_watch_remove(root->watch, fd);
    joiner->fd = -1;
    if (weft_root_read_request(&root->table, joiner->rank, joiner->frame, &request, &joins, &why) ==
        WEFT_OK) {
        root_admit(root, fd, &request, joins);
    } else {
        root_reject(root, fd, joiner->rank, why);
    }
}

/* A connection of the listener: somebody who holds the secret. */
static void root_accept(root_t *root, int fd, const uint8_t label[WEFT_AUTH_LABEL])
{
    uint32_t rank;
    weft_root_joiner_t *joiner = weft_root_joiners_make(&root->joiners);
    if (joiner == NULL || !weft_auth_label_read(label, WEFT_PURPOSE_ROOT, &rank)) {
        weft_os_close(fd);
        return;
    }
    *joiner = (weft_root_joiner_t){.fd = fd, .rank = rank};
    const uint64_t tag = weft_root_tag(WEFT_ROOT_JOINER, (uint32_t)(joiner - root->joiners.list));
    /* It has not said yet which rank it is, and could not be told of a failure. */
    root->blind |= weft_os_watch_add(root->watch, fd, tag) != WEFT_OK;
    join_root_joiner_step(root, joiner);
}

/* A member that gives up says why. False: with a bad field. */
static bool root_seat_gave_up(root_t *root, weft_root_header_t *from, const weft_root_seat_t *seat)
{
    weft_error_t error;
    if (weft_error_decode(from->failure, root->table.nranks, &error, &from->why) != WEFT_OK) {
        return false;
    }
    if (error.peer < 0) {
        char text[sizeof error.text];
        snprintf(text, sizeof text, "rank %u of host %s, pid %d, gave up: %.380s",
                 seat->request.rank, seat->request.host_name, seat->request.pid, error.text);
        root_fail(root, error.status, seat, text);
    } else {
        weft_root_fail_as(&root->table, &error);
        root_fail(root, error.status, NULL, ""); /* the deadline only */
    }
    return true;
}

/* A connection has ended, or brought what it should not. What is `good` is a frame, but none for
 * this time. */
static void root_serve_end(root_t *root, weft_root_seat_t *seat, int *fd, bool good,
                           const char *why)
{
    why = good && why == NULL ? "type or number" : why;
    if (why == NULL) {
        weft_root_close(&root->table, fd);
    }
    root_seat_end(root, seat, why);
}

/* A member may say that its connections of the tree stand, that it has joined, or why it gives up.
 * Anything else ends the join; the end is its death. */
static void root_serve_join(root_t *root, weft_root_seat_t *seat)
{
    weft_frame_t frame;
    weft_status_t status =
        weft_root_read_header(&root->table, seat->join, &seat->from_join, &frame);
    if (status == WEFT_AGAIN) {
        return;
    }
    bool good = status == WEFT_OK;
    bool ready = good && frame.type == WEFT_FRAME_READY && root->welcomed;
    if (ready && !seat->ready && frame.number == WEFT_READY_WAITS) {
        seat->waits = true;
        return;
    }
    if (ready && frame.number == seat->ready) {
        if (!seat->ready) {
            /* It stays connected, to hear if others fail. */
            seat->ready = true;
            root->ended = ++root->table.ready == root->table.nranks;
            return;
        }
        weft_root_close(&root->table, &seat->join);
        return;
    }
    if (ready && seat->ready && frame.number == 0) {
        return; /* said again on a new connection */
    }
    const bool gave_up =
        good && frame.type == WEFT_FRAME_FAIL && root_seat_gave_up(root, &seat->from_join, seat);
    if (status == WEFT_ERR_LINK) {
        root_seat_broke(root, seat, &seat->join, seat->from_join.error);
        return;
    }
    if (gave_up) {
        weft_root_close(&root->table, &seat->join);
    } else {
        root_serve_end(root, seat, &seat->join, good, seat->from_join.why);
    }
}

/* Rank 0 answers once, when all have claimed, or knows of a rank that died. Any rank may say why it
 * gives up. Anything else ends the join; the end is its death. */
static void root_serve_claim(root_t *root, weft_root_seat_t *seat)
{
    weft_frame_t frame;
    weft_status_t status =
        weft_root_read_header(&root->table, seat->claim, &seat->from_claim, &frame);
    if (status == WEFT_AGAIN) {
        return;
    }
    bool good = status == WEFT_OK;
    if (good && frame.type == WEFT_FRAME_CLAIMED && seat == root->table.seats &&
        root->table.claimed == root->table.nranks) {
        weft_root_release_claims(&root->table);
        return;
    }
    if (good && frame.type == WEFT_FRAME_FAIL && root_seat_gave_up(root, &seat->from_claim, seat)) {
        return;
    }
    if (status == WEFT_ERR_LINK || (!good && seat->claim_broke != 0)) {
        root_seat_broke(root, seat, &seat->claim,
                        status == WEFT_ERR_LINK ? seat->from_claim.error : seat->claim_broke);
        return;
    }
    root_serve_end(root, seat, &seat->claim, good, seat->from_claim.why);
}

static void root_judge_lost(root_t *root, uint64_t now)
{
    for (uint32_t i = 0; i < root->table.nranks && root->lost > 0; i++) {
        weft_root_seat_t *seat = &root->table.seats[i];
        if (seat->lost != 0 && weft_root_seat_is_dead(&root->table, seat, now)) {
            const char *why = seat->why;
            root_seat_found(root, seat);
            root_seat_end(root, seat, why);
        }
    }
}

static void root_time_out(root_t *root)
{
    char ranks[256], text[sizeof((weft_error_t *)0)->text];
    weft_root_table_t *table = &root->table;
    weft_error_t word;
    if (weft_root_word_heard(&root->word, &word)) {
        weft_root_fail_as(table, &word);
    }
    if (table->nranks != 0 && table->failure.status == WEFT_OK) {
        uint32_t first,
            count = weft_root_missing(table, root->welcomed, ranks, sizeof ranks, &first);
        snprintf(text, sizeof text, "%u of %u ranks did not %s before init_timeout: rank%s %s%s",
                 count, table->nranks, root->welcomed ? "connect to their neighbours" : "join",
                 weft_plural(count), ranks, root->welcomed ? WEFT_BOOT_CHOOSE_INTERFACE : "");
        root_fail(root, WEFT_ERR_TIMEOUT, count == 1 ? &table->seats[first] : NULL, text);
    }
    weft_root_tell_own(table, WEFT_NEVER); /* also of a failure that was found just now */
    root->ended = true;
}

/* Puts the listener into the watch, or takes it out while it is out of descriptors. Returns the
 * time to wake up. */
static uint64_t root_prepare(root_t *root)
{
    struct pollfd entry;
    uint64_t until = root->until;
    weft_root_table_t *table = &root->table;
    weft_control_listener_prepare(&root->listener, &entry, &until);
    bool listens = entry.fd >= 0;
    if (listens && !root->listens) {
        listens = weft_os_watch_add(root->watch, entry.fd, weft_root_tag(WEFT_ROOT_LISTENER, 0)) ==
                  WEFT_OK;
        root->blind |= !listens;
    } else if (!listens && root->listens) {
        weft_os_watch_remove(root->watch, root->listener.wait_fd);
    }
    root->listens = listens;
    if (table->failure.status != WEFT_OK && !table->own_told && table->own_until < until) {
        until = table->own_until;
    }
    if (root->lost > 0 || root->blind) {
        uint64_t judge = weft_os_clock_ns() + LOOK_NS;
        until = judge < until ? judge : until;
    }
    uint64_t say = weft_join_notice_log(&root->notice, table, root->welcomed);
    return say < until ? say : until;
}

/* What an event stands for may have ended by an event before it. */
static void root_serve_event(root_t *root, uint64_t tag)
{
    uint32_t index = (uint32_t)tag;
    weft_root_seat_t *seat = root->table.seats != NULL ? &root->table.seats[index] : NULL;
    switch (tag >> 32) {
    case WEFT_ROOT_JOINER:
        if (root->joiners.list[index].fd >= 0) {
            join_root_joiner_step(root, &root->joiners.list[index]);
        }
        break;
    case WEFT_ROOT_JOIN:
        if (seat->join >= 0) {
            root_serve_join(root, seat);
        }
        break;
    case WEFT_ROOT_CLAIM:
        if (seat->claim >= 0) {
            root_serve_claim(root, seat);
        }
        break;
    case WEFT_ROOT_PROCESS:
        if (seat->process >= 0) {
            weft_root_close(&root->table, &seat->process);
            root_seat_died(root, seat);
        }
        break;
    default:
        break;
    }
}

static void root_serve_listener(root_t *root, bool readable)
{
    int fd;
    uint8_t label[WEFT_AUTH_LABEL];
    struct pollfd entry = {.revents = readable ? POLLIN : 0};
    while (!root->ended &&
           weft_control_listener_poll(&root->listener, &entry, &fd, label) == WEFT_OK) {
        root_accept(root, fd, label);
    }
}

static void root_run(void *arg)
{
    root_t *root = arg;
    while (!root->ended) {
        uint64_t tags[EVENTS];
        bool readable = false;
        int count = weft_os_watch_wait(root->watch, tags, EVENTS, root_prepare(root));
        for (int i = 0; i < count && !root->ended; i++) {
            root_serve_event(root, tags[i]);
            readable = readable || tags[i] >> 32 == WEFT_ROOT_LISTENER;
        }
        for (uint32_t i = 0; root->blind && i < root->joiners.room; i++) {
            root_serve_event(root, weft_root_tag(WEFT_ROOT_JOINER, i));
        }
        root_serve_listener(root, readable || (root->blind && !root->listens));
        uint64_t now = weft_os_clock_ns();
        root_judge_lost(root, now);
        if (root->table.failure.status != WEFT_OK) {
            weft_root_tell_own(&root->table, now);
            root->ended = root->ended || weft_root_all_told(&root->table);
        }
        if (!root->ended && now >= root->until) {
            root_time_out(root);
        }
    }
    root_destroy(root);
}

weft_status_t weft_boot_root_start(const weft_boot_settings_t *settings, weft_id_t *id,
                                   uint16_t port)
{
    uint8_t key[32];
    root_t *root = weft_os_alloc(sizeof *root, 0);
    if (root == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "out of memory for a unique id");
    }
    root->watch = -1;
    root->until = weft_os_deadline(settings->init_timeout);
    root->listener = (weft_control_listener_t){.port = port, .ports = settings->ports};
    weft_id_key(id, WEFT_PURPOSE_ROOT, key);
    weft_status_t status = weft_control_listener_open(&root->listener, WEFT_PURPOSE_ROOT, key);
    sodium_memzero(key, sizeof key);
    root->listener.acceptor.silent = root_on_silent;
    root->listener.acceptor.silent_arg = root;
    if (status == WEFT_OK) {
        status = weft_os_watch_open(&root->watch);
    }
    weft_root_table_init(&root->table, root->watch, weft_id_comm(id));
    root->table.away = weft_connector_patience(settings->unresponsive);
    weft_root_word_open(&root->word, root->table.comm_id);
    weft_id_key(id, WEFT_PURPOSE_TREE, root->table.tree_key);
    for (uint32_t i = 0; i < id->count; i++) {
        id->addrs[i].port = root->listener.port;
    }
    if (status == WEFT_OK) {
        status = weft_os_thread_launch("weft-root", root_run, root);
    }
    if (status != WEFT_OK) {
        root_destroy(root);
    }
    return status;
}
