/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Failure of a communicator: the record, and the events of the health channel. */
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/comm/comm.h"

static void fill_culprit(const weft_comm_state_t *state, weft_error_t *error)
{
    error->comm_id = state->id;
    error->rank = (int32_t)state->rank;
    if (error->peer >= 0 && (uint32_t)error->peer < state->nranks && state->boot != NULL) {
        const weft_boot_peer_t *peer = &weft_boot_peers(state->boot)[error->peer];
        error->peer_pid = peer->pid;
        snprintf(error->peer_host, sizeof error->peer_host, "%s", peer->host_name);
    }
}

void weft_comm_fail(weft_comm_state_t *state, const weft_error_t *error, bool tell)
{
    weft_os_lock(&state->failure_lock);
    bool first = !weft_comm_has_failed(state);
    if (first) {
        state->failure = *error;
        state->failure.size = sizeof state->failure;
        fill_culprit(state, &state->failure);
        atomic_store_explicit(&state->failed, 1, memory_order_release);
    }
    weft_error_t kept = state->failure;
    weft_os_unlock(&state->failure_lock);
    if (!first) {
        return;
    }
    weft_log(WEFT_LOG_ERROR, "comm", "rank %u of %u: %s: %s", state->rank, state->nranks,
             weft_status_name(kept.status), kept.text);
    if (tell && state->boot != NULL) {
        weft_health_report(state->boot, &kept);
    }
}

weft_status_t weft_comm_failure(weft_comm_state_t *state)
{
    weft_os_lock(&state->failure_lock);
    *weft_error_record() = state->failure;
    weft_os_unlock(&state->failure_lock);
    return weft_error_record()->status;
}

/* Signatures of the last operations, one entry per run of equal calls: a rank that runs ahead by
 * thousands of them still knows what it called. The lock is the engine's only when a call differs from
 * the one before. */
void weft_history_put(weft_comm_state_t *state, const weft_signature_t *signature)
{
    weft_history_t *history = &state->history;
    weft_signature_t *last = &history->run[(history->runs - 1) & (WEFT_HISTORY - 1)];
    weft_signature_t now = *signature;
    now.sequence = last->sequence;
    if (history->runs > 0 && weft_signature_equal(last, &now)) {
        atomic_store_explicit(&history->last, signature->sequence, memory_order_release);
        return;
    }
    weft_os_lock(&history->lock);
    history->run[history->runs++ & (WEFT_HISTORY - 1)] = *signature;
    atomic_store_explicit(&history->last, signature->sequence, memory_order_release);
    weft_os_unlock(&history->lock);
}

/* The signature of operation `sequence`; false if it has not begun or is forgotten. */
static bool history_get(weft_comm_state_t *state, uint32_t sequence, weft_signature_t *signature)
{
    weft_history_t *history = &state->history;
    bool found = false;
    weft_os_lock(&history->lock);
    uint32_t last = atomic_load_explicit(&history->last, memory_order_acquire);
    uint32_t kept = history->runs < WEFT_HISTORY ? history->runs : WEFT_HISTORY;
    for (uint32_t i = 1; i <= kept && !found && history->runs > 0; i++) {
        *signature = history->run[(history->runs - i) & (WEFT_HISTORY - 1)];
        /* Differences of sequence numbers are right across a wrap. */
        found = last - sequence < UINT32_MAX / 2 && sequence - signature->sequence < UINT32_MAX / 2;
    }
    weft_os_unlock(&history->lock);
    signature->sequence = sequence;
    return found;
}

static void on_failed(void *arg, const weft_error_t *error)
{
    weft_comm_fail(arg, error, false);
}

/* Rank `from` waits for us. If we are, or were, in the operation of that number with other arguments,
 * the ranks disagree although no slice crossed between them. */
static void on_asked(void *arg, uint32_t from, const weft_signature_t *theirs)
{
    weft_comm_state_t *state = arg;
    weft_signature_t mine;
    if (!history_get(state, theirs->sequence, &mine)) {
        return;
    }
    if (weft_signature_equal(&mine, theirs)) {
        if (from < state->nranks) {
            atomic_store_explicit(&state->met_at[from], theirs->sequence, memory_order_release);
        }
        return;
    }
    char field[128];
    weft_error_t error;
    weft_signature_diff(&mine, theirs, field, sizeof field);
    weft_error_clear(&error);
    error.status = WEFT_ERR_MISMATCH;
    error.peer = (int32_t)from;
    error.sequence = theirs->sequence;
    snprintf(error.text, sizeof error.text,
             "operation %u differs between rank %u (here) and rank %u (there): %s",
             theirs->sequence, state->rank, from, field);
    weft_comm_fail(state, &error, true);
}

static void on_left(void *arg, uint32_t rank, uint64_t sequence)
{
    weft_comm_state_t *state = arg;
    if (rank < state->nranks) {
        atomic_store_explicit(&state->left_at[rank], sequence, memory_order_release);
    }
}

const weft_health_events_t weft_comm_events = {
    .failed = on_failed, .asked = on_asked, .left = on_left};
