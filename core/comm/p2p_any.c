/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Receives from any rank: finding their senders. */
#include "core/comm/p2p_any.h"

#include <inttypes.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/plural.h"
#include "core/comm/p2p_stripes.h"
#include "core/comm/watchdog.h"
#include "core/exec/port_export.h"

/* What a rank sent before it left arrives within this time, or never. */
#define LEFT_BEHIND_NS WEFT_NS_PER_S
#define CHECK_NS (100 * WEFT_NS_PER_MS)

/* Returns whether a message of this rank to itself waits for a receive. */
static bool any_sends_to_itself(const weft_comm_state_t *state)
{
    const weft_p2p_queue_t *queue = &state->p2p.queues[2 * state->self.rank + 1];
    return queue->first != NULL && weft_p2p_queue_is_due(queue);
}

/* Returns whether the next message of a queue belongs to nobody. Else earlier receives are under
 * way, or wait in a stream. */
static bool any_may_take(const weft_p2p_queue_t *queue)
{
    return queue->first == NULL && queue->completed == queue->sequence;
}

/* What a look at the ranks has found beside a message. */
typedef struct any_look {
    bool moved;    /* a link was made */
    bool connects; /* others are to be made */
} any_look_t;

/* Returns whether the next message from `peer` is here and belongs to nobody. Asks for the
 * connection. */
static bool any_has_message(weft_comm_state_t *state, uint32_t peer, any_look_t *look)
{
    weft_p2p_queue_t *queue = weft_p2p_receives(&state->p2p, peer);
    if (!any_may_take(queue)) {
        return false;
    }
    if (peer == state->self.rank) {
        return any_sends_to_itself(state);
    }
    if (queue->port == NULL) {
        look->moved |= weft_p2p_stripes_connect(state, queue) != NULL;
    }
    if (queue->port == NULL) {
        look->connects = true;
        return false;
    }
    weft_port_fetch(queue->port); /* a device may have taken the message before it */
    return weft_port_can_receive(queue->port);
}

/* Returns a rank whose message the first held receive takes; WEFT_ANY_RANK: there is none yet. */
static uint32_t any_find_sender(weft_comm_state_t *state, any_look_t *look)
{
    uint32_t n = state->self.nranks;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t peer = (state->p2p.next_any + i) % n;
        if (any_has_message(state, peer, look)) {
            state->p2p.next_any = (peer + 1) % n;
            return peer;
        }
    }
    return WEFT_ANY_RANK;
}

void weft_p2p_any_find_blocked(const weft_comm_state_t *state, weft_blocked_t *blocked)
{
    for (uint32_t r = 0; r < state->self.nranks; r++) {
        const weft_p2p_queue_t *queue = weft_p2p_receives(&state->p2p, r);
        if (r != state->self.rank && any_may_take(queue)) {
            weft_blocked_add(blocked, queue->port);
        }
    }
}

static void any_progress_links(weft_comm_state_t *state)
{
    weft_status_t status = state->links != NULL ? weft_links_progress(state->links) : WEFT_OK;
    int32_t peer = weft_error_record()->peer;
    if (status == WEFT_ERR_PEER_DEAD || status == WEFT_ERR_LINK) {
        weft_watchdog_link_broke(state, status, peer);
    } else if (status < 0) {
        weft_comm_fail(state, peer);
    }
}

/* The entry of a receive that was held says neither from whom nor which message it is. Whoever
 * reads the record takes an entry as it was made, so it gets another one. */
static void any_record_sender(weft_comm_state_t *state, weft_request_t *request)
{
    weft_flight_entry_t *entry = request->flight;
    if (entry != NULL) {
        atomic_store_explicit(&entry->state, WEFT_FLIGHT_FREE, memory_order_release);
        request->flight = NULL;
        weft_comm_record(state, request, entry->called);
    }
}

bool weft_p2p_any_step(weft_comm_state_t *state)
{
    weft_p2p_t *p2p = &state->p2p;
    any_look_t look = {.moved = false};
    while (p2p->held_first != NULL) {
        weft_request_t *request = p2p->held_first;
        uint32_t peer = request->args.root;
        if (peer == WEFT_ANY_RANK) {
            look.connects = false;
            peer = any_find_sender(state, &look);
        }
        if (peer == WEFT_ANY_RANK) {
            if (look.connects) { /* else no sleep may wait for links */
                any_progress_links(state);
            }
            break;
        }
        weft_p2p_unhold(p2p, peer);
        any_record_sender(state, request);
        look.moved = true;
    }
    return look.moved;
}

/* Looking -------------------------------------------------------------------------------------- */

static void any_fail_timeout(weft_comm_state_t *state, const weft_request_t *request, uint64_t now)
{
    weft_fail(WEFT_ERR_TIMEOUT, 0,
              "receive of %" PRIu64 " %s from any rank not done after %.3g s: rank %u waits for a "
              "message of any of the other %u rank%s",
              request->args.count, weft_dtype_name(request->args.dtype),
              (double)(now - request->started) / 1e9, state->self.rank, state->self.nranks - 1,
              weft_plural(state->self.nranks - 1));
    weft_comm_fail(state, -1);
}

/* Once for a communicator: many programs wait in such a receive for what there is to do. */
static void any_tell_late(weft_comm_state_t *state, const weft_request_t *request)
{
    weft_p2p_watch_t *watch = &state->p2p.any;
    const uint64_t late_ns = (uint64_t)(state->self.family->settings.boot.late * 1e9);
    char place[WEFT_FAILURE_PLACE];
    if (watch->late_told || late_ns == 0 || watch->waited <= late_ns) {
        return;
    }
    watch->late_told = true;
    weft_log(WEFT_LOG_WARN, "comm",
             "%srank %u has waited %.1f s in a receive of %" PRIu64
             " %s from any rank; no message for it has come",
             weft_failure_place(&state->failure, place), state->self.rank,
             (double)watch->waited / 1e9, request->args.count,
             weft_dtype_name(request->args.dtype));
}

/* What a peer that lives has sent over a link that broke is lost. */
static void any_check_links(weft_comm_state_t *state)
{
    for (uint32_t r = 0; r < state->self.nranks && !weft_comm_has_failed(state); r++) {
        weft_port_t *port = weft_p2p_receives(&state->p2p, r)->port;
        if (port == NULL || weft_peer_has_left(&state->peers[r])) {
            continue;
        }
        weft_status_t health = weft_links_check(state->links, port);
        if (health != WEFT_OK) {
            weft_error_record()->peer = (int32_t)r;
            weft_watchdog_link_broke(state, health, (int32_t)r);
        }
    }
}

/* What is looked at less often. */
static void any_check(weft_comm_state_t *state, const weft_request_t *request, uint64_t now)
{
    weft_p2p_watch_t *watch = &state->p2p.any;
    const uint64_t since = now - watch->checked;
    if (since > CHECK_NS) {
        watch->waited += since <= WEFT_STALL_OWN_NS ? since : 0;
        watch->checked = now;
        any_tell_late(state, request);
        any_check_links(state);
    }
}

/* Returns whether all other ranks have left so long ago that nothing of theirs will arrive. */
static bool any_is_alone(const weft_comm_state_t *state, uint64_t since, uint64_t now)
{
    bool alone = !any_sends_to_itself(state);
    for (uint32_t r = 0; r < state->self.nranks && alone; r++) {
        uint64_t left = atomic_load_explicit(&state->peers[r].left_at, memory_order_acquire);
        alone = r == state->self.rank ||
                (left != UINT64_MAX &&
                 weft_peer_gone_for(&state->peers[r], since, now) >= LEFT_BEHIND_NS);
    }
    return alone && state->self.nranks > 1;
}

void weft_p2p_any_look(weft_comm_state_t *state, uint64_t now)
{
    weft_request_t *request = state->p2p.held_first;
    if (request->started == 0) {
        weft_request_begin(request, now);
        state->p2p.any.checked = now;
        state->p2p.any.waited = 0;
    }
    weft_comm_record_wait(state, request, -1, now);
    if (request->deadline != WEFT_NEVER && now > request->deadline) {
        any_fail_timeout(state, request, now);
    } else if (any_is_alone(state, request->started, now)) {
        weft_fail(WEFT_ERR_PEER_LEFT, 0,
                  "all other ranks left the communicator; rank %u waits for a message of any",
                  state->self.rank);
        weft_comm_fail(state, -1);
    } else {
        any_check(state, request, now);
    }
}

void weft_p2p_any_fail(weft_comm_state_t *state)
{
    weft_p2p_t *p2p = &state->p2p;
    while (p2p->held_first != NULL) {
        weft_request_t *request = p2p->held_first;
        p2p->held_first = request->next;
        weft_request_complete(request, weft_comm_failure(state));
    }
    p2p->held_last = NULL;
}
