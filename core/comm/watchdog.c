/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The watchdog: judges operations that do not move. */
#include "core/comm/watchdog.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/boot/boot.h"
#include "core/comm/question.h"
#include "core/exec/message_port.h"
#include "core/exec/traffic.h"

/* A broken link is a symptom: the health channel names the cause within this time. */
#define GRACE_NS (300 * WEFT_NS_PER_MS)
/* After this long a waiting rank asks the one it waits for whether they are in the same call. */
#define ASK_NS (100 * WEFT_NS_PER_MS)

/* As far as this question goes. */
static bool watchdog_has_answered(const weft_comm_state_t *state, int32_t peer)
{
    return atomic_load_explicit(&state->peers[peer].answered, memory_order_acquire) ==
           state->stall.question;
}

static bool watchdog_has_left(const weft_comm_state_t *state, int32_t peer)
{
    return peer >= 0 &&
           atomic_load_explicit(&state->peers[peer].left_at, memory_order_acquire) != UINT64_MAX;
}

/* What is known of the process behind a broken link. */
static const char *watchdog_link_cause(const weft_comm_state_t *state, char *text, size_t bytes)
{
    const weft_error_t *error = &state->stall.link_error;
    if (error->status != WEFT_ERR_PEER_DEAD) {
        return "";
    }
    if (watchdog_has_answered(state, error->peer)) {
        return "the connection broke, and the process is not known to have ended: ";
    }
    snprintf(text, bytes,
             "the connection broke, and the process has not answered for %.1f s, as one that is "
             "stopped: ",
             (double)(weft_os_clock_ns() - state->stall.grace_since) / 1e9);
    return text;
}

/* The time has passed. A transport sees the end of a connection and takes it for the end of the
 * peer; the health channel, which would know, has not said so. */
static void watchdog_fail_link(weft_comm_state_t *state)
{
    const weft_error_t *error = &state->stall.link_error;
    char cause[128];
    *weft_error_record() = *error;
    const weft_transport_t *lost = weft_links_avoid_lost(state->links);
    if (lost != NULL) {
        weft_fail(WEFT_ERR_LINK, 0,
                  "device %s of %s failed: %s; weft_comm_revoke() and weft_comm_shrink() make a "
                  "communicator over its other devices",
                  lost->props.name, lost->loaded->plugin->name, error->text);
        weft_error_record()->os_errno = error->os_errno; /* its words are in the text */
    } else if (error->peer >= 0 &&
               (error->status == WEFT_ERR_PEER_DEAD || error->status == WEFT_ERR_LINK)) {
        weft_fail(WEFT_ERR_LINK, 0, "rank %u to rank %d over %s: %s%s", state->self.rank,
                  (int)error->peer, weft_links_transport_name(state->links, (uint32_t)error->peer),
                  watchdog_link_cause(state, cause, sizeof cause), error->text);
        weft_error_record()->os_errno = error->os_errno; /* its words are in the text */
    } else {
        *weft_error_record() = *error;
    }
    weft_comm_fail(state, error->peer);
}

static void watchdog_begin_grace(weft_comm_state_t *state)
{
    const double unresponsive = state->self.family->settings.boot.unresponsive;
    const uint64_t now = weft_os_clock_ns();
    state->stall.grace_since = now;
    state->stall.grace_until = now + GRACE_NS;
    state->stall.grace_most =
        unresponsive > 0 ? weft_os_deadline(unresponsive) : now + WEFT_HEALTH_AWAY_NS;
    state->stall.question++;
    state->stall.questioned = 0;
}

/* Whoever has left or died does not answer, but the word of it comes on the way on which an answer
 * would: behind a cut anywhere on this way both are late. */
static bool watchdog_awaits_answer(weft_comm_state_t *state, uint64_t now)
{
    const int32_t peer = state->stall.link_error.peer;
    if (peer < 0 || now >= state->stall.grace_most || watchdog_has_answered(state, peer)) {
        return false;
    }
    if (now - state->stall.questioned > ASK_NS) {
        const weft_signature_t mine = {
            .coll = WEFT_SEND_RECV, .op = WEFT_ASKS_TO_ANSWER, .sequence = state->stall.question};
        weft_health_ask(state->self.family->boot, state->self.id, state->self.family_rank[peer],
                        &mine);
        state->stall.questioned = now;
    }
    return true;
}

void weft_watchdog_link_broke(weft_comm_state_t *state, weft_status_t status, int32_t peer)
{
    weft_assert_owner(state);
    if (watchdog_has_left(state, peer)) {
        return; /* watchdog_check_left() decides */
    }
    if (watchdog_has_left(state, state->stall.link_error.peer)) {
        state->stall.grace_until = 0; /* its link may break before the word comes that it left */
    }
    if (weft_error_record()->status != status) {
        weft_fail(status, 0, "the link to rank %d broke", peer);
    }
    if (state->stall.grace_until == 0) {
        state->stall.link_error = *weft_error_record();
        if (state->stall.link_error.peer < 0) {
            state->stall.link_error.peer = peer;
        }
        watchdog_begin_grace(state);
    }
    const uint64_t now = weft_os_clock_ns();
    if (watchdog_awaits_answer(state, now)) {
        state->stall.grace_until = now + GRACE_NS; /* the cause may be on the way */
    } else if (now > state->stall.grace_until) {
        watchdog_fail_link(state);
    }
}

static void watchdog_fail_timeout(weft_comm_state_t *state, const weft_pending_t *p, uint64_t now)
{
    char text[96], order[480], missing[160];
    weft_missing_t list;
    weft_signature_text(&p->signature, text, sizeof text);
    if (p->peer < 0) {
        weft_fail(WEFT_ERR_TIMEOUT, 0,
                  "operation %" PRIu64 " (%s) not done after %.3g s: rank %u waits for no rank",
                  p->sequence, text, (double)(now - p->started) / 1e9, state->self.rank);
        weft_error_record()->sequence = p->sequence;
        weft_comm_fail(state, -1);
        return;
    }
    weft_fail(WEFT_ERR_TIMEOUT, 0,
              "operation %" PRIu64
              " (%s) not done after %.3g s: rank %u waits for rank %d %s%s%s%s",
              p->sequence, text, (double)(now - p->started) / 1e9, state->self.rank, (int)p->peer,
              p->port == NULL  ? "to connect over "
              : p->port->sends ? "to take data"
                               : "for data",
              p->port == NULL ? weft_links_transport_name(state->links, (uint32_t)p->peer) : "",
              weft_deadlock_text(&state->deadlock, &state->self, p->peer, order, sizeof order),
              weft_roll_call_text(&state->roll_call, &state->self, state->peers, p->peer, missing,
                                  sizeof missing));
    weft_error_record()->sequence = p->sequence;
    weft_roll_call_list(&state->roll_call, &state->self, state->peers, &list);
    weft_comm_fail_missing(
        state, weft_roll_call_culprit(&state->roll_call, &state->self, state->peers, p->peer),
        &list);
}

/* A link that carries messages breaks behind the last of them. As long as it has not, something may
 * come: a rank among hundreds on few cores is late to take what lies with its transport. */
bool weft_watchdog_is_left_behind(weft_comm_state_t *state, uint32_t peer, weft_port_t *port,
                                  uint64_t idle_since, uint64_t now)
{
    uint64_t gone = weft_peer_gone_for(&state->peers[peer], idle_since, now);
    if (gone < WEFT_LEFT_BEHIND_NS) {
        return false;
    }
    return gone >= WEFT_LEFT_ON_WIRE_NS || port == NULL || weft_port_is_mapped(port) ||
           (port->broken != WEFT_OK &&
            (port->export.end != NULL ? weft_port_is_dry(port)
                                      : port->sends || !port->ops->can_receive(port)));
}

/* Compares the last operation that both called, this rank and a peer that has left, as far as the
 * peer told. A peer that is here would be asked. */
static bool watchdog_check_last(weft_comm_state_t *state, const weft_pending_t *p, uint64_t at)
{
    const weft_signature_run_t *run = state->peers[p->peer].left_run;
    uint64_t common = at < p->sequence ? at : p->sequence;
    weft_signature_t mine;
    if (run == NULL || at - common >= run->length ||
        !weft_history_get(&state->flight->history, (uint32_t)common, &mine)) {
        return false;
    }
    weft_signature_t theirs = run->last;
    theirs.sequence = mine.sequence;
    if (weft_signature_equal(&mine, &theirs)) {
        return false;
    }
    char field[WEFT_SIGNATURE_DIFF];
    weft_signature_diff(&mine, &theirs, field, sizeof field);
    weft_fail(WEFT_ERR_MISMATCH, 0,
              "operation %" PRIu64
              " differs between rank %u (here) and rank %d (there), which left "
              "the communicator after operation %" PRIu64 ": %s",
              common, state->self.rank, (int)p->peer, at, field);
    weft_error_record()->sequence = common;
    weft_comm_fail(state, p->peer);
    return true;
}

const char *weft_watchdog_link_text(const weft_port_t *port, char *text, size_t bytes)
{
    const weft_error_t *why = port != NULL ? weft_message_port_why(port) : NULL;
    text[0] = '\0';
    if (why != NULL) {
        snprintf(text, bytes, " (its link ended: %.200s)", why->text);
    }
    return text;
}

static void watchdog_fail_left(weft_comm_state_t *state, const weft_pending_t *p, uint64_t at)
{
    const weft_signature_run_t *run = state->peers[p->peer].left_run;
    bool called = at >= p->sequence;
    char last[96] = "", here[96], link[240] = "";
    weft_signature_text(&p->signature, here, sizeof here);
    if (run != NULL) {
        weft_signature_text(&run->last, last, sizeof last);
    }
    weft_fail(
        WEFT_ERR_PEER_LEFT, 0,
        "rank %d left the communicator after operation %" PRIu64 "%s%s%s; rank %u waits for it in "
        "operation %" PRIu64 " (%s)%s%s%s",
        (int)p->peer, at, run != NULL ? " (" : "", last, run != NULL ? ")" : "", state->self.rank,
        p->sequence, here, called ? " and nothing comes" : ", which it did not call",
        called ? weft_watchdog_link_text(p->port, link, sizeof link) : "",
        called ? ": check that all ranks call the same operations in the same order, with the same "
                 "roots and counts"
               : "");
    weft_error_record()->sequence = p->sequence;
    weft_comm_fail(state, p->peer);
}

/* Fails the communicator if the peer has left for good. A rank that left before this operation
 * will never take part. One that left later has sent everything it had to send: if nothing of it
 * comes for a while, it took part in something else. */
static bool watchdog_check_left(weft_comm_state_t *state, const weft_pending_t *p, uint64_t now)
{
    uint32_t peer = (uint32_t)p->peer;
    uint64_t at = atomic_load_explicit(&state->peers[peer].left_at, memory_order_acquire);
    if (at == WEFT_NOT_LEFT) {
        return false;
    }
    if (watchdog_check_last(state, p, at)) {
        return true;
    }
    if (at >= p->sequence &&
        !weft_watchdog_is_left_behind(state, peer, p->port, state->stall.idle_since, now)) {
        return false;
    }
    watchdog_fail_left(state, p, at);
    return true;
}

void weft_watchdog_find_absent(const weft_comm_state_t *state, const weft_program_t *program,
                               weft_pending_t *pending, uint64_t now)
{
    /* At once it would end the operation before, which others may not have ended yet. */
    if (state->stall.idle_since == 0 || now - state->stall.idle_since < ASK_NS) {
        return;
    }
    for (uint32_t i = 0; i < program->nports; i++) {
        const weft_plan_port_t *port = weft_program_port(program, i);
        if (!port->sends && atomic_load_explicit(&state->peers[port->peer].left_at,
                                                 memory_order_acquire) < pending->sequence) {
            pending->peer = (int32_t)port->peer;
            pending->port = program->ports[i];
            return;
        }
    }
}

/* Between ranks of one host neither has a part. */
static const char *watchdog_connecting_hint(const weft_comm_identity_t *self, uint32_t peer)
{
    const weft_boot_peer_t *seats = weft_boot_peers(self->family->boot);
    const bool one_host =
        seats[self->family_rank[self->rank]].host == seats[self->family_rank[peer]].host;
    return one_host ? "" : "; check interfaces and firewalls";
}

/* Checks the time for connecting. A peer that is late for the call is no connection fault: the
 * time runs only once the peer has asked for this rank, so that both are in the call. */
static void watchdog_check_connecting(weft_comm_state_t *state, const weft_pending_t *p,
                                      uint64_t now)
{
    double limit = state->self.family->settings.boot.connect_timeout;
    if (p->port != NULL || limit <= 0 ||
        atomic_load_explicit(&state->peers[p->peer].met_at, memory_order_acquire) !=
            p->signature.sequence) {
        state->stall.connecting_since = 0;
        return;
    }
    if (state->stall.connecting_since == 0) {
        state->stall.connecting_since = now;
    } else if (now - state->stall.connecting_since > (uint64_t)(limit * 1e9)) {
        weft_fail(WEFT_ERR_TIMEOUT, 0,
                  "rank %u and rank %u could not connect over %s within %.3g s%s", state->self.rank,
                  (uint32_t)p->peer, weft_links_transport_name(state->links, (uint32_t)p->peer),
                  limit, watchdog_connecting_hint(&state->self, (uint32_t)p->peer));
        weft_comm_fail(state, p->peer);
    }
}

static void watchdog_ask(weft_comm_state_t *state, const weft_pending_t *p, uint64_t now)
{
    if (now - state->stall.asked <= ASK_NS) {
        return;
    }
    weft_deadlock_ask(&state->deadlock, &state->self, (uint32_t)p->peer, &p->signature);
    state->stall.asked = now;
    weft_links_look_for_idle(state->links, now);
    weft_status_t health = p->port != NULL ? weft_links_check(state->links, p->port) : WEFT_OK;
    if (health != WEFT_OK) {
        weft_error_record()->peer = p->peer;
        weft_watchdog_link_broke(state, health, p->peer);
    }
}

static void watchdog_tell_late(weft_comm_state_t *state, const weft_pending_t *p, uint64_t now)
{
    uint64_t late_ns = (uint64_t)(state->self.family->settings.boot.late * 1e9);
    char text[96], order[480], place[WEFT_FAILURE_PLACE];
    if (state->stall.late_told || late_ns == 0 || now - state->stall.idle_since <= late_ns) {
        return;
    }
    state->stall.late_told = true;
    weft_signature_text(&p->signature, text, sizeof text);
    weft_log(WEFT_LOG_WARN, "comm",
             "%srank %u has waited %.1f s for rank %d in operation %" PRIu64 " (%s)%s",
             weft_failure_place(&state->failure, place), state->self.rank,
             (double)(now - state->stall.idle_since) / 1e9, (int)p->peer, p->sequence, text,
             weft_deadlock_text(&state->deadlock, &state->self, p->peer, order, sizeof order));
}

void weft_watchdog_look(weft_comm_state_t *state, const weft_pending_t *p, uint64_t now)
{
    weft_assert_owner(state);
    weft_stall_look(&state->stall, now);
    if (p->deadline != WEFT_NEVER && now > p->deadline &&
        weft_roll_call_step(&state->roll_call, &state->self, state->peers, &p->signature, now)) {
        watchdog_fail_timeout(state, p, now);
        return;
    }
    if (p->peer < 0 || watchdog_check_left(state, p, now)) {
        return;
    }
    watchdog_check_connecting(state, p, now);
    watchdog_ask(state, p, now);
    watchdog_tell_late(state, p, now);
}
