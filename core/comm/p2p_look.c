/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See p2p_look.h. */
#include "core/comm/p2p_look.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/plural.h"
#include "core/comm/question.h"
#include "core/comm/stripes_compare.h"
#include "core/comm/watchdog.h"

#define CHECK_NS (100 * WEFT_NS_PER_MS)
#define CAUSE_BYTES 160

weft_status_t weft_p2p_mismatch(const weft_comm_state_t *state, uint32_t peer,
                                const weft_signature_t *here, const weft_signature_t *there)
{
    char field[WEFT_SIGNATURE_DIFF];
    weft_signature_diff(here, there, field, sizeof field);
    return weft_fail(WEFT_ERR_MISMATCH, 0,
                     "message %" PRIu32 " from rank %u (there) to rank %u (here) differs: %s",
                     here->sequence, peer, state->self.rank, field);
}

void weft_p2p_ask_to_listen(const weft_comm_state_t *state, uint32_t peer)
{
    weft_health_ask(state->self.family->boot, state->self.id, state->self.family_rank[peer],
                    &(weft_signature_t){.coll = WEFT_SEND_RECV, .op = WEFT_ASKS_TO_LISTEN});
}

static bool p2p_look_is(const weft_p2p_wait_t *wait, weft_one_sided_t kind)
{
    return wait->request->args.one_sided == kind;
}

/* A rank needs no connection to itself, and a wait for signals none before the first. */
static bool p2p_look_connects(const weft_comm_state_t *state, const weft_p2p_wait_t *wait)
{
    return !wait->behind && !p2p_look_is(wait, WEFT_ONE_SIDED_WAIT) && wait->port == NULL &&
           wait->request->args.root != state->self.rank;
}

static const char *p2p_look_what_for(const weft_comm_state_t *state, const weft_p2p_wait_t *wait)
{
    return wait->behind                             ? "behind a message that is in a stream"
           : p2p_look_connects(state, wait)         ? "to connect"
           : wait->request->sends                   ? "to take data"
           : p2p_look_is(wait, WEFT_ONE_SIDED_WAIT) ? "to signal"
                                                    : "for data";
}

/* Writes why, as far as it is known. Whoever connects does it when it calls its end of the
 * message. */
static const char *p2p_look_cause(const weft_comm_state_t *state, const weft_p2p_wait_t *wait,
                                  char *text, size_t bytes)
{
    const weft_puts_t *puts = state->windows.puts;
    uint32_t peer = wait->request->args.root;
    if (p2p_look_is(wait, WEFT_ONE_SIDED_WAIT) && puts->from[peer].awaits != 0) {
        snprintf(text, bytes,
                 "; a put of it is here, and waits for window %u, which rank %u has not registered",
                 puts->from[peer].awaits, state->self.rank);
        return text;
    }
    return !p2p_look_connects(state, wait)         ? ""
           : p2p_look_is(wait, WEFT_ONE_SIDED_PUT) ? "; it is in no call of this communicator, and "
                                                     "has made no window or one-sided call in it "
                                                     "before, or cannot be reached"
           : wait->request->sends ? "; it has not called the receive, or cannot be reached"
                                  : "; it has not called the send, or cannot be reached";
}

static void p2p_look_text(const weft_request_t *request, char *text, size_t bytes)
{
    if (request->args.one_sided == WEFT_ONE_SIDED_WAIT) {
        snprintf(text, bytes, "wait for %" PRIu64 " signal%s of rank %u (wait %" PRIu64 ")",
                 request->args.count, weft_plural(request->args.count), request->args.root,
                 request->sequence);
        return;
    }
    if (request->args.one_sided == WEFT_ONE_SIDED_PUT && !request->sends) {
        snprintf(text, bytes, "put of %" PRIu64 " bytes from rank %u (put %" PRIu64 ")",
                 request->args.count, request->args.root, request->sequence);
        return;
    }
    if (request->args.one_sided == WEFT_ONE_SIDED_PUT && request->args.window == NULL) {
        snprintf(text, bytes, "signal to rank %u (put %" PRIu64 ")", request->args.root,
                 request->sequence);
        return;
    }
    if (request->args.one_sided == WEFT_ONE_SIDED_PUT) {
        snprintf(text, bytes, "put of %" PRIu64 " %s to rank %u (put %" PRIu64 ")",
                 request->args.count, weft_dtype_name(request->args.dtype), request->args.root,
                 request->sequence);
        return;
    }
    snprintf(text, bytes, "%s of %" PRIu64 " %s %s rank %u (message %" PRIu64 ")",
             request->sends ? "send" : "receive", request->args.count,
             weft_dtype_name(request->args.dtype), request->sends ? "to" : "from",
             request->args.root, request->sequence);
}

static void p2p_look_fail_timeout(weft_comm_state_t *state, const weft_p2p_wait_t *wait,
                                  uint64_t now)
{
    const weft_request_t *request = wait->request;
    uint32_t peer = request->args.root;
    char text[128], cause[CAUSE_BYTES];
    p2p_look_text(request, text, sizeof text);
    weft_fail(WEFT_ERR_TIMEOUT, 0, "%s not done after %.3g s: rank %u waits for rank %u %s%s", text,
              (double)(now - request->started) / 1e9, state->self.rank, peer,
              p2p_look_what_for(state, wait), p2p_look_cause(state, wait, cause, sizeof cause));
    weft_comm_fail(state, (int32_t)peer);
}

static void p2p_look_tell_late(weft_comm_state_t *state, const weft_p2p_wait_t *wait)
{
    weft_p2p_watch_t *watch = wait->watch;
    uint64_t late_ns = (uint64_t)(state->self.family->settings.boot.late * 1e9);
    char text[128], cause[CAUSE_BYTES], place[WEFT_FAILURE_PLACE];
    if (watch->late_told || late_ns == 0 || watch->waited <= late_ns) {
        return;
    }
    watch->late_told = true;
    p2p_look_text(wait->request, text, sizeof text);
    weft_log(WEFT_LOG_WARN, "comm", "%srank %u has waited %.1f s in a %s for rank %u %s%s",
             weft_failure_place(&state->failure, place), state->self.rank,
             (double)watch->waited / 1e9, text, wait->request->args.root,
             p2p_look_what_for(state, wait), p2p_look_cause(state, wait, cause, sizeof cause));
}

static bool p2p_look_has_left(weft_comm_state_t *state, const weft_p2p_wait_t *wait, uint64_t now)
{
    uint32_t peer = wait->request->args.root;
    uint64_t at = atomic_load_explicit(&state->peers[peer].left_at, memory_order_acquire);
    if (at == UINT64_MAX ||
        !weft_watchdog_is_left_behind(state, peer, wait->port, wait->idle_since, now)) {
        return false;
    }
    char link[240], text[128], cause[CAUSE_BYTES];
    p2p_look_text(wait->request, text, sizeof text);
    weft_fail(
        WEFT_ERR_PEER_LEFT, 0, "rank %u left the communicator; rank %u waits for it %s: %s%s%s",
        peer, state->self.rank, p2p_look_what_for(state, wait), text,
        p2p_look_connects(state, wait) ? "" : p2p_look_cause(state, wait, cause, sizeof cause),
        weft_watchdog_link_text(wait->port, link, sizeof link));
    weft_comm_fail(state, (int32_t)peer);
    return true;
}

void weft_p2p_look(weft_comm_state_t *state, const weft_p2p_wait_t *wait, uint64_t now)
{
    const weft_request_t *request = wait->request;
    uint32_t peer = request->args.root;
    weft_assert_owner(state);
    if (request->deadline != WEFT_NEVER && now > request->deadline) {
        p2p_look_fail_timeout(state, wait, now);
        return;
    }
    if (wait->behind || peer == state->self.rank || p2p_look_has_left(state, wait, now) ||
        now - wait->watch->checked <= CHECK_NS) {
        return;
    }
    uint64_t since = now - wait->watch->checked;
    wait->watch->waited += since <= WEFT_STALL_OWN_NS ? since : 0;
    wait->watch->checked = now;
    p2p_look_tell_late(state, wait);
    weft_health_ask(state->self.family->boot, 0, state->self.family_rank[peer],
                    &(weft_signature_t){.coll = WEFT_SEND_RECV});
    if (request->args.one_sided == WEFT_ONE_SIDED_PUT && request->sends) {
        weft_p2p_ask_to_listen(state, peer); /* the question before it may have been lost */
    }
    if (wait->port == NULL && request->args.one_sided == WEFT_ONE_SIDED_NONE) {
        weft_stripes_ask(state, request, request->sequence);
    } else if (wait->port != NULL) {
        weft_status_t health = weft_links_check(state->links, wait->port);
        if (health != WEFT_OK) {
            weft_error_record()->peer = (int32_t)peer;
            weft_watchdog_link_broke(state, health, (int32_t)peer);
        }
    }
}
