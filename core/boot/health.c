/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The health channel: calls of other threads, and the loop of the health thread. */
#include "core/boot/health.h"

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/boot/control_frames.h"
#include "core/boot/dissemination.h"
#include "core/boot/failure_detector.h"
#include "core/boot/health_state.h"
#include "core/boot/link_renewal.h"
#include "core/boot/reconnect.h"
#include "core/boot/tree_repair.h"
#include "core/os/os_folder.h"

/* So long for a rank that should connect and whose process cannot be seen: it may have left, with
 * all that knew of it. One that can be seen is asked about in this rhythm. */
#define HEALTH_UNSEEN_NS (100 * WEFT_NS_PER_MS)
#define HEALTH_LOOK_NS (5 * WEFT_NS_PER_MS)
#define HEALTH_PAUSE_NS (100 * WEFT_NS_PER_MS)
/* How long a thread waits until what it said is with the system: microseconds, but on a machine
 * with many more runnable threads than processors. */
#define HEALTH_TOLD_NS WEFT_NS_PER_S

/* Poll entries before those of the neighbours. */
enum { ENTRY_WAKE, ENTRY_LISTENER, ENTRY_RECONNECT, ENTRY_KNOCK, ENTRY_NEIGHBOURS };
_Static_assert(ENTRY_NEIGHBOURS == WEFT_NEIGHBOURS_RESERVED, "poll entries of this file");

static void health_begin_leaving(weft_health_t *health)
{
    if (!health->leaving) {
        uint64_t now = weft_os_clock_ns(), limit = health->detector.unresponsive;
        health->leaving = true;
        health->leave_since = now;
        health->leave_until = now + WEFT_HEALTH_LEAVE_NS;
        health->seek_until = now + (limit > 0 ? limit : WEFT_HEALTH_AWAY_NS);
        weft_disseminate_leave_family(health, NULL, health->boot->rank);
    }
}

/* A question, an answer or a word of ours goes the way of all others. */
static void health_route(weft_health_t *health, const weft_health_event_t *event)
{
    uint8_t payload[WEFT_WIRE_WORD];
    const char *why;
    weft_frame_t frame = {.type = WEFT_FRAME_ASK,
                          .bytes = WEFT_WIRE_SIGNATURE,
                          .from = health->boot->rank,
                          .sequence = event->peer,
                          .number = event->comm_id};
    if (event->type == WEFT_HEALTH_ASK) {
        weft_signature_encode(&event->answer.signature, payload);
    } else if (event->type == WEFT_HEALTH_WORD) {
        frame.type = WEFT_FRAME_WORD;
        frame.bytes = WEFT_WIRE_WORD;
        weft_word_encode(&event->word, payload);
    } else {
        frame.type = WEFT_FRAME_ANSWER;
        frame.bytes = WEFT_WIRE_ANSWER;
        weft_answer_encode(&event->answer, payload);
    }
    (void)weft_disseminate_route(health, &frame, payload, &why);
}

static void health_serve_event(weft_health_t *health, const weft_health_event_t *event)
{
    uint32_t me = health->boot->rank;
    switch (event->type) {
    case WEFT_HEALTH_OPEN:
        weft_disseminate_replay(health, event->comm_id);
        break;
    case WEFT_HEALTH_FAILED:
        weft_disseminate_failure(health, NULL, event->comm_id, &event->error,
                                 event->missing.count > 0 ? &event->missing : NULL);
        break;
    case WEFT_HEALTH_LEAVE_COMM:
        weft_disseminate_leave_comm(health, NULL, event->comm_id, me, &event->leave);
        break;
    default:
        health_route(health, event);
        break;
    }
}

static void health_serve_queue(weft_health_t *health)
{
    bool stop;
    weft_health_event_t *first = weft_health_queue_take(&health->queue, &stop);
    for (const weft_health_event_t *event = first; event != NULL; event = event->next) {
        health_serve_event(health, event);
    }
    weft_health_queue_free(&health->queue, first);
    if (stop) {
        health_begin_leaving(health);
    }
}

static uint32_t health_prepare(weft_health_t *health, uint64_t *until)
{
    struct pollfd *entries = health->neighbours.entries;
    entries[ENTRY_WAKE] = (struct pollfd){.fd = health->queue.wake, .events = POLLIN};
    weft_reconnect_prepare(health, &entries[ENTRY_RECONNECT], until);
    weft_control_listener_prepare(&health->boot->listener, &entries[ENTRY_LISTENER], until);
    return weft_neighbours_prepare(&health->neighbours);
}

/* Serves the connections that were polled: none is added meanwhile. */
static void health_serve_neighbours(weft_health_t *health)
{
    const struct pollfd *entries = health->neighbours.entries + WEFT_NEIGHBOURS_RESERVED;
    for (uint32_t i = 0; i < health->neighbours.count; i++) {
        weft_neighbour_t *neighbour = &health->neighbours.list[i];
        if (neighbour->fd >= 0 && entries[2 * i].revents != 0) {
            weft_neighbour_flush(neighbour);
            weft_control_frames_read(health, neighbour);
        }
        if (neighbour->fd >= 0 && neighbour->process >= 0 && entries[2 * i + 1].revents != 0) {
            /* The process has ended, although a child of it may hold the connection open. That it
             * leaves may be its last words. */
            weft_control_frames_read(health, neighbour);
            if (neighbour->fd >= 0) {
                weft_detector_stream_ended(health, neighbour, 0);
            }
        }
    }
}

static void health_serve_listener(weft_health_t *health, const struct pollfd *entry)
{
    int fd;
    uint8_t label[WEFT_AUTH_LABEL];
    while (weft_control_listener_poll(&health->boot->listener, entry, &fd, label) == WEFT_OK) {
        weft_reconnect_accept(health, fd, label);
    }
}

/* Tells whether a rank that should connect to us, and so hear that we leave, may still do so. */
static bool health_is_awaited(const weft_health_t *health, uint32_t rank, uint64_t now)
{
    const weft_join_request_t *peer = &health->boot->requests[rank];
    if (health->membership.states[rank] != WEFT_MEMBER_LIVE) {
        return false;
    }
    return weft_neighbour_is_visible(health->boot, rank)
               ? weft_os_process_runs(peer->pid, peer->started) &&
                     weft_neighbour_listens(health->boot, rank)
               : health->membership.breaks[rank] == WEFT_BREAK_SEEN ||
                     now + WEFT_HEALTH_LEAVE_NS < health->leave_until + HEALTH_UNSEEN_NS;
}

static bool health_awaits(const weft_health_t *health, uint64_t now)
{
    for (uint32_t i = 0; i < health->membership.ndoubts; i++) {
        if (health_is_awaited(health, health->membership.doubts[i], now)) {
            return true;
        }
    }
    return false;
}

/* Tells whether some rank cannot hear yet that we leave, for its connection is broken or is being
 * made. It would find that nobody listens here any more, and take us for dead. */
static bool health_is_cut(const weft_health_t *health, uint64_t now)
{
    return weft_tree_is_cut(health) && now < health->seek_until;
}

/* The same of one that is connected: it has our word when its kernel has acknowledged it. */
static bool health_is_unheard(const weft_health_t *health)
{
    bool unheard = false;
    for (uint32_t i = 0; i < health->neighbours.count && !unheard; i++) {
        unheard = weft_os_unacknowledged(health->neighbours.list[i].fd) > 0;
    }
    return unheard;
}

/* Tells whether the network keeps us waiting: for somebody to have our word, or for a new
 * parent. */
static bool health_is_kept(const weft_health_t *health)
{
    return health->reconnect.active || health_is_unheard(health);
}

/* Whoever gets our word late may leave, too, and say so behind the same cut, so that its word is
 * late as well, by as much as TCP waits longer from one attempt to the next. It may have ended its
 * connections when it got ours, and pass it on to nobody: then we have to. So may those come late
 * who have to connect to us. */
static void health_expect_replies(weft_health_t *health, uint64_t now)
{
    uint64_t until = now + WEFT_HEALTH_LEAVE_NS + (now - health->leave_since);
    until = until < health->seek_until ? until : health->seek_until;
    if (!health->detection_ended && until > health->leave_until && health_is_kept(health)) {
        health->leave_until = until;
    }
}

/* Neighbours close when they have heard that we leave; then nothing is left to do. */
static bool health_may_end(weft_health_t *health, uint64_t now)
{
    if (!health->leaving) {
        return false;
    }
    weft_neighbours_flush(&health->neighbours); /* nothing else may come to wake this thread */
    for (uint32_t i = 0; i < health->neighbours.count; i++) {
        weft_neighbour_end_sending(&health->neighbours.list[i]);
    }
    bool told =
        health->neighbours.count == 0 &&
        (health->detection_ended || (!health->reconnect.active && !health_awaits(health, now)));
    health_expect_replies(health, now);
    return (told || now >= health->leave_until) && !health_is_cut(health, now);
}

/* There is nobody to return it to. The loop goes on at a rhythm that costs little: what it reads it
 * reads without waiting. */
static void health_cannot_wait(void)
{
    weft_log(WEFT_LOG_WARN, "health", "%s", weft_error_record()->text);
    weft_os_sleep_ns(HEALTH_PAUSE_NS);
}

/* Returns the time to look again, at most `next`. */
static uint64_t health_leaves_at(const weft_health_t *health, uint64_t next)
{
    uint64_t now = weft_os_clock_ns(), until = health->leave_until;
    if (health->membership.awaited > 0 || now >= until ||
        (health->leaving && health_is_kept(health))) {
        until = now + HEALTH_LOOK_NS;
    }
    return health->leaving && until < next ? until : next;
}

/* Nobody else is left to say why this process does not move. */
static void health_look_at_calls(weft_health_t *health)
{
    weft_call_note_t note;
    uint64_t lasted, late = (uint64_t)(health->boot->settings.late * 1e9);
    uint32_t index = 0;
    while (weft_call_watch_next(&health->calls, &index, weft_os_clock_ns(), late, &note, &lasted)) {
        weft_log(WEFT_LOG_WARN, "health", "rank %u has been inside %s, %s, for %.1f s",
                 health->boot->rank, note.plugin, note.method, (double)lasted / 1e9);
    }
}

/* Returns the time to look again, at most `next`: soon while a thread is in a call. */
static uint64_t health_calls_at(uint64_t next)
{
    uint64_t look = weft_call_any() ? weft_os_clock_ns() + WEFT_NS_PER_S : WEFT_NEVER;
    return look < next ? look : next;
}

static void health_publish_held(weft_health_t *health)
{
    uint32_t descriptors = 0;
    uint64_t control = weft_neighbours_bytes(&health->neighbours, &descriptors);
    atomic_store_explicit(&health->held.descriptors, descriptors, memory_order_relaxed);
    atomic_store_explicit(&health->held.control, control, memory_order_relaxed);
    atomic_store_explicit(&health->held.events, weft_event_log_bytes(&health->log),
                          memory_order_relaxed);
}

static void health_run(weft_health_t *health)
{
    weft_tree_repair(health); /* a connection may have broken at the end of the join */
    for (;;) {
        weft_neighbours_flush(&health->neighbours);
        weft_health_queue_served(&health->queue);
        health_publish_held(health);
        uint64_t next = weft_detector_next(health);
        uint64_t until = health_calls_at(health_leaves_at(health, next));
        uint32_t count = health_prepare(health, &until);
        if (weft_os_poll(health->neighbours.entries, count, until) < 0) {
            health_cannot_wait();
        }
        /* A copy: a new neighbour may replace the entries. */
        struct pollfd listener = health->neighbours.entries[ENTRY_LISTENER];
        weft_detector_look(health);
        health_serve_neighbours(health);
        health_serve_listener(health, &listener);
        health_serve_queue(health);
        weft_reconnect_step(health);
        uint64_t now = weft_detector_look(health);
        weft_detector_step(health, now);
        health_look_at_calls(health);
        weft_neighbours_compact(&health->neighbours);
        if (health_may_end(health, now)) {
            return;
        }
    }
}

/* The thread is made early, and the connections belong to the exchanges until then. */
static void health_main(void *arg)
{
    weft_health_t *health = arg;
    while (atomic_load_explicit(&health->order, memory_order_acquire) == WEFT_HEALTH_WAIT) {
        weft_os_futex_wait(&health->order, WEFT_HEALTH_WAIT, WEFT_NS_PER_S);
    }
    if (atomic_load_explicit(&health->order, memory_order_relaxed) == WEFT_HEALTH_BEGIN) {
        weft_health_own(health);
        health_run(health);
    }
}

static void health_order(weft_health_t *health, weft_health_order_t order)
{
    atomic_store_explicit(&health->order, order, memory_order_release);
    weft_os_futex_wake(&health->order);
}

static void health_destroy(weft_health_t *health)
{
    weft_reconnect_end(health);
    weft_neighbours_fini(&health->neighbours);
    weft_membership_fini(&health->membership);
    weft_event_log_fini(&health->log);
    weft_health_queue_fini(&health->queue);
    weft_os_free(health);
}

static weft_status_t health_init(weft_health_t *health, weft_boot_t *boot)
{
    health->boot = boot;
    weft_status_t status = weft_health_queue_init(&health->queue);
    if (status == WEFT_OK) {
        status = weft_membership_init(&health->membership, boot->rank, boot->nranks);
    }
    if (status == WEFT_OK) {
        status = weft_event_log_init(&health->log, boot->nranks);
    }
    if (status == WEFT_OK) {
        status = weft_neighbours_init(&health->neighbours, boot);
    }
    if (status == WEFT_OK) {
        status = weft_os_thread_start("weft-health", health_main, health, &health->thread);
    }
    return status;
}

static weft_status_t health_take_links(weft_health_t *health)
{
    weft_boot_t *boot = health->boot;
    weft_status_t status = WEFT_OK;
    for (uint32_t i = 0; status == WEFT_OK && i < WEFT_TREE_LINKS; i++) {
        weft_tree_link_t *link = &boot->links[i];
        weft_link_renewal_end(link);
        if (link->fd >= 0) {
            status = weft_neighbours_add(&health->neighbours, link->fd, link->rank);
            if (status == WEFT_OK) {
                health->neighbours.list[health->neighbours.count - 1].fresh = link->fresh;
            }
            link->fd = -1;
        } else if (link->broke != 0) {
            health->membership.breaks[link->rank] = WEFT_BREAK_NEW;
        }
    }
    weft_detector_init(health);
    health_publish_held(health);
    return status;
}

weft_status_t weft_health_prepare(weft_boot_t *boot, const weft_health_callbacks_t *callbacks,
                                  void *arg)
{
    if (boot->nranks == 1) {
        return WEFT_OK;
    }
    if (boot->health != NULL || boot->prepared != NULL || boot->failed) {
        return weft_fail(WEFT_ERR_STATE, 0, "the health channel cannot start %s",
                         boot->failed ? "after a failure" : "twice");
    }
    weft_health_t *health = weft_os_alloc(sizeof *health, 0);
    if (health == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "out of memory for the health channel");
    }
    health->callbacks = *callbacks;
    health->arg = arg;
    weft_status_t status = health_init(health, boot);
    if (status != WEFT_OK) {
        health_destroy(health);
        return status;
    }
    boot->prepared = health;
    return WEFT_OK;
}

weft_status_t weft_health_start(weft_boot_t *boot)
{
    weft_health_t *health = boot->prepared;
    if (boot->nranks == 1) {
        return WEFT_OK;
    }
    if (health == NULL || boot->failed) {
        return weft_fail(WEFT_ERR_STATE, 0, "the health channel cannot start %s",
                         boot->failed ? "after a failure" : "unprepared");
    }
    weft_status_t status = health_take_links(health);
    if (status == WEFT_OK) {
        boot->prepared = NULL;
        boot->health = health; /* callbacks may post events */
        health_order(health, WEFT_HEALTH_BEGIN);
    }
    return status;
}

static void health_end(weft_health_t *health)
{
    if (health->thread != NULL) {
        weft_os_thread_join(health->thread);
        health->thread = NULL;
    }
}

void weft_health_leave_family(weft_boot_t *boot)
{
    if (boot->health != NULL && boot->health->thread != NULL) {
        weft_health_queue_stop(&boot->health->queue);
        health_end(boot->health);
    }
}

void weft_health_stop(weft_boot_t *boot)
{
    weft_health_t *health = boot->health != NULL ? boot->health : boot->prepared;
    if (health == NULL) {
        return;
    }
    weft_health_leave_family(boot);
    if (boot->health == NULL) {
        health_order(health, WEFT_HEALTH_END);
        health_end(health);
    }
    health_destroy(health);
    boot->health = boot->prepared = NULL;
}

static void health_post(weft_boot_t *boot, const weft_health_event_t *event)
{
    if (boot->health != NULL) {
        weft_health_queue_post(&boot->health->queue, event);
    }
}

void weft_health_open(weft_boot_t *boot, uint64_t comm_id)
{
    health_post(boot, &(weft_health_event_t){.type = WEFT_HEALTH_OPEN, .comm_id = comm_id});
}

void weft_health_report(weft_boot_t *boot, uint64_t comm_id, const weft_error_t *error,
                        const weft_missing_t *missing)
{
    weft_health_event_t event = {.type = WEFT_HEALTH_FAILED, .comm_id = comm_id, .error = *error};
    if (missing != NULL) {
        event.missing = *missing;
    }
    health_post(boot, &event);
}

void weft_health_await(weft_boot_t *boot)
{
    if (boot->health != NULL) {
        weft_health_queue_await(&boot->health->queue, HEALTH_TOLD_NS);
    }
}

void weft_health_ask(weft_boot_t *boot, uint64_t comm_id, uint32_t peer,
                     const weft_signature_t *mine)
{
    if (peer < boot->nranks) {
        health_post(boot, &(weft_health_event_t){.type = WEFT_HEALTH_ASK,
                                                 .comm_id = comm_id,
                                                 .peer = peer,
                                                 .answer = {.signature = *mine}});
    }
}

void weft_health_answer(weft_boot_t *boot, uint64_t comm_id, uint32_t peer,
                        const weft_answer_t *answer)
{
    if (peer < boot->nranks) {
        health_post(boot, &(weft_health_event_t){.type = WEFT_HEALTH_ANSWER,
                                                 .comm_id = comm_id,
                                                 .peer = peer,
                                                 .answer = *answer});
    }
}

void weft_health_tell(weft_boot_t *boot, uint64_t consensus, uint32_t peer, const weft_word_t *word)
{
    if (peer < boot->nranks) {
        health_post(
            boot, &(weft_health_event_t){
                      .type = WEFT_HEALTH_WORD, .comm_id = consensus, .peer = peer, .word = *word});
    }
}

void weft_health_leave_comm(weft_boot_t *boot, uint64_t comm_id, const weft_leave_t *leave)
{
    health_post(boot, &(weft_health_event_t){
                          .type = WEFT_HEALTH_LEAVE_COMM, .comm_id = comm_id, .leave = *leave});
}
