/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What becomes of an operation that does not move: deadline, lateness, peers that left or cannot be
 * reached, ranks that called something else; and how a failure that it meets fails the communicator. The
 * same for operations that the host drives and for those that wait in a stream. */
#include <inttypes.h>
#include <stdio.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/comm/comm.h"

/* A broken link is a symptom: the health channel names the cause within this time. */
#define VERDICT_NS (300 * WEFT_NS_PER_MS)
/* After this long a waiting rank asks the one it waits for whether they are in the same call. */
#define ASK_NS (100 * WEFT_NS_PER_MS)
/* What a rank sent before it left arrives within this time, or never. */
#define LEFT_BEHIND_NS WEFT_NS_PER_S

/* Failures ----------------------------------------------------------------------------------------- */

void weft_engine_fail(weft_comm_state_t *state, int32_t peer)
{
    weft_error_t *error = weft_error_record();
    if (peer >= 0) {
        error->peer = peer;
        snprintf(error->transport, sizeof error->transport, "%s",
                 weft_links_transport(state->links, (uint32_t)peer));
    }
    if (error->sequence == 0) {
        error->sequence = state->first != NULL ? state->first->sequence : state->sequence;
    }
    weft_comm_fail(state, error, true);
}

void weft_engine_mismatch(weft_comm_state_t *state, uint32_t peer, const weft_signature_t *mine,
                          const weft_signature_t *theirs)
{
    char field[128];
    weft_signature_diff(mine, theirs, field, sizeof field);
    weft_fail(WEFT_ERR_MISMATCH, 0,
              "operation %" PRIu32 " differs between rank %u (here) and rank %u (there): %s",
              mine->sequence, state->rank, peer, field);
    weft_error_record()->sequence = mine->sequence;
    weft_engine_fail(state, (int32_t)peer);
}

void weft_engine_broken(weft_comm_state_t *state, weft_status_t status, int32_t peer)
{
    if (peer >= 0 &&
        atomic_load_explicit(&state->left_at[peer], memory_order_acquire) != UINT64_MAX) {
        return; /* it left: check_left() decides */
    }
    if (weft_error_record()->status != status) {
        weft_fail(status, 0, "the link to rank %d broke", peer);
    }
    if (state->verdict_by == 0) {
        state->broken = *weft_error_record();
        if (state->broken.peer < 0) {
            state->broken.peer = peer;
        }
        state->verdict_by = weft_os_clock_ns() + VERDICT_NS;
    } else if (weft_os_clock_ns() > state->verdict_by) {
        *weft_error_record() = state->broken;
        weft_engine_fail(state, state->broken.peer);
    }
}

/* Lookout ------------------------------------------------------------------------------------------ */

static void fail_timeout(weft_comm_state_t *state, const weft_pending_t *p, uint64_t now)
{
    char text[96], order[320];
    weft_signature_text(&p->signature, text, sizeof text);
    weft_fail(WEFT_ERR_TIMEOUT, 0,
              "operation %" PRIu64 " (%s) not done after %.3g s: rank %u waits for rank %d %s%s",
              p->sequence, text, (double)(now - p->started) / 1e9, state->rank, (int)p->peer,
              p->port == NULL  ? "to connect"
              : p->port->sends ? "to take data"
                               : "for data",
              weft_order_text(state, p->peer, order, sizeof order));
    weft_error_record()->sequence = p->sequence;
    weft_engine_fail(state, p->peer);
}

/* A rank that left before this operation will never take part. One that left later has sent what it had
 * to send: if nothing of it comes for a while, it took part in something else. */
static bool check_left(weft_comm_state_t *state, const weft_pending_t *p, uint64_t now)
{
    uint32_t peer = (uint32_t)p->peer;
    uint64_t at = atomic_load_explicit(&state->left_at[peer], memory_order_acquire);
    if (at == UINT64_MAX || (at >= p->sequence && weft_comm_gone_for(state, peer, state->idle_since,
                                                                     now) < LEFT_BEHIND_NS)) {
        return false;
    }
    weft_fail(WEFT_ERR_PEER_LEFT, 0,
              "rank %u left the communicator after operation %" PRIu64 "; rank %u waits for it in "
              "operation %" PRIu64,
              peer, at, state->rank, p->sequence);
    weft_error_record()->sequence = p->sequence;
    weft_engine_fail(state, (int32_t)peer);
    return true;
}

/* A peer that is late for the call is no connection fault. Only when it has asked for us, so that both
 * are in the call, does the time for connecting run. */
static void check_connecting(weft_comm_state_t *state, const weft_pending_t *p, uint64_t now)
{
    double limit = state->family->settings.boot.connect_timeout;
    if (p->port != NULL || limit <= 0 ||
        atomic_load_explicit(&state->met_at[p->peer], memory_order_acquire) != p->sequence) {
        state->connecting_since = 0;
        return;
    }
    if (state->connecting_since == 0) {
        state->connecting_since = now;
    } else if (now - state->connecting_since > (uint64_t)(limit * 1e9)) {
        weft_fail(
            WEFT_ERR_TIMEOUT, 0,
            "rank %u and rank %u could not connect over %s within %.3g s; check interfaces and "
            "firewalls",
            state->rank, (uint32_t)p->peer, weft_links_transport(state->links, (uint32_t)p->peer),
            limit);
        weft_engine_fail(state, p->peer);
    }
}

static void ask(weft_comm_state_t *state, const weft_pending_t *p, uint64_t now)
{
    if (now - state->asked <= ASK_NS) {
        return;
    }
    weft_order_ask(state, (uint32_t)p->peer, &p->signature);
    state->asked = now;
    weft_status_t health = p->port != NULL ? weft_links_check(state->links, p->port) : WEFT_OK;
    if (health != WEFT_OK) {
        weft_error_record()->peer = p->peer;
        weft_engine_broken(state, health, p->peer);
    }
}

static void tell_late(weft_comm_state_t *state, const weft_pending_t *p, uint64_t now)
{
    uint64_t late_ns = (uint64_t)(state->family->settings.boot.late * 1e9);
    char text[96], order[320];
    if (state->late_told || late_ns == 0 || now - state->idle_since <= late_ns) {
        return;
    }
    state->late_told = true;
    weft_signature_text(&p->signature, text, sizeof text);
    weft_log(WEFT_LOG_WARN, "comm",
             "rank %u has waited %.1f s for rank %d in operation %" PRIu64 " (%s)%s", state->rank,
             (double)(now - state->idle_since) / 1e9, (int)p->peer, p->sequence, text,
             weft_order_text(state, p->peer, order, sizeof order));
}

void weft_lookout(weft_comm_state_t *state, const weft_pending_t *p, uint64_t now)
{
    if (state->idle_since == 0) {
        state->idle_since = now;
        state->asked = now;
        state->late_told = false;
    }
    if (p->deadline != WEFT_NEVER && now > p->deadline) {
        fail_timeout(state, p, now);
        return;
    }
    if (p->peer < 0 || check_left(state, p, now)) {
        return;
    }
    check_connecting(state, p, now);
    ask(state, p, now);
    tell_late(state, p, now);
}
