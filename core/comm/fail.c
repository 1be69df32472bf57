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

/* Signatures of the last operations. Words are atomic: the health thread reads while the engine
 * writes; a torn entry shows a wrong sequence or is compared again at the next question. */
void weft_history_put(weft_comm_state_t *state, const weft_signature_t *signature)
{
    uint64_t words[3];
    memcpy(words, signature, sizeof words);
    weft_history_entry_t *entry = &state->history[signature->sequence & (WEFT_HISTORY - 1)];
    for (unsigned i = 0; i < 3; i++) {
        atomic_store_explicit(&entry->word[i], words[i], memory_order_relaxed);
    }
}

static void history_get(weft_comm_state_t *state, uint32_t sequence, weft_signature_t *signature)
{
    uint64_t words[3];
    const weft_history_entry_t *entry = &state->history[sequence & (WEFT_HISTORY - 1)];
    for (unsigned i = 0; i < 3; i++) {
        words[i] = atomic_load_explicit(&entry->word[i], memory_order_relaxed);
    }
    memcpy(signature, words, sizeof words);
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
    history_get(state, theirs->sequence, &mine);
    if (mine.sequence != theirs->sequence) {
        return;
    }
    if (weft_signature_equal(&mine, theirs)) {
        if (from < state->nranks) {
            atomic_store_explicit(&state->met_at[from], theirs->sequence, memory_order_release);
        }
        return;
    }
    weft_signature_t again;
    history_get(state, theirs->sequence, &again);
    if (!weft_signature_equal(&mine, &again)) {
        return; /* being written right now */
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
