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
    if (error->peer >= 0 && (uint32_t)error->peer < state->nranks && state->family->boot != NULL) {
        const weft_boot_peer_t *peer =
            &weft_boot_peers(state->family->boot)[state->family_rank[error->peer]];
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
    if (tell && state->family->boot != NULL) {
        if (kept.peer < 0) { /* For the others it is us. */
            kept.peer = (int32_t)state->rank;
            fill_culprit(state, &kept);
        }
        weft_health_report(state->family->boot, state->id, &kept);
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

bool weft_history_get(weft_comm_state_t *state, uint32_t sequence, weft_signature_t *signature)
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

void weft_comm_on_died(weft_comm_state_t *state, uint32_t rank, const weft_error_t *error)
{
    char there[128], here[128];
    uint32_t family_rank = state->family_rank[rank];
    weft_error_t mine = *error;
    size_t skip;
    weft_boot_rank_text(state->family->boot, family_rank, there, sizeof there);
    skip = strlen(there);
    mine.peer = (int32_t)rank;
    if (rank != family_rank && strncmp(error->text, there, skip) == 0) {
        const char *behind_number = strchr(there + strlen("rank "), ' ');
        snprintf(here, sizeof here, "rank %u%s", rank, behind_number != NULL ? behind_number : "");
        snprintf(mine.text, sizeof mine.text, "%s%s", here, error->text + skip);
    }
    weft_comm_fail(state, &mine, false);
}

/* Rank `from` waits for us. If we are, or were, in the operation of that number with other arguments,
 * the ranks disagree although no slice crossed between them. */
bool weft_comm_on_asked(weft_comm_state_t *state, uint32_t from, const weft_signature_t *theirs)
{
    weft_signature_t mine;
    if (!weft_history_get(state, theirs->sequence, &mine)) {
        return false;
    }
    if (weft_signature_equal(&mine, theirs)) {
        atomic_store_explicit(&state->met_at[from], theirs->sequence, memory_order_release);
        return true;
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
    return true;
}

void weft_comm_on_left(weft_comm_state_t *state, uint32_t rank, uint64_t sequence)
{
    uint64_t here = UINT64_MAX;
    /* The first word is the communicator's own; leaving the family comes later. */
    atomic_store_explicit(&state->left_when[rank], weft_os_clock_ns(), memory_order_relaxed);
    atomic_compare_exchange_strong_explicit(&state->left_at[rank], &here, sequence,
                                            memory_order_release, memory_order_relaxed);
}
