/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Events of the health channel. Those for communicators that this rank does not have, or has no
 * longer, end here; those for communicators that it does not have yet are delivered again when it
 * has (weft_health_open). */
#include "core/comm/health_events.h"

#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/comm/comm.h"
#include "core/comm/consensus_records.h"
#include "core/comm/progress.h"
#include "core/comm/puts.h"
#include "core/comm/question.h"
#include "core/comm/side_calls.h"
#include "core/comm/stripes_compare.h"

/* Finds the communicator of an event that rank `from` of the family sent. NULL: it is not here, or
 * the sender is not in it. The caller holds the lock. */
static weft_comm_state_t *events_find(const weft_family_t *family, uint64_t comm_id, uint32_t from,
                                      uint32_t *rank_p)
{
    weft_comm_state_t *state = weft_family_find(family, comm_id);
    *rank_p = state != NULL ? weft_identity_find(&state->self, from) : 0;
    return state != NULL && *rank_p < state->self.nranks ? state : NULL;
}

/* Failures ------------------------------------------------------------------------------------- */

/* Returns the member that is the one process of that host and number, or −1. */
static int32_t events_find_culprit(const weft_comm_identity_t *self, const weft_error_t *error)
{
    const weft_boot_peer_t *peers = weft_boot_peers(self->family->boot);
    int32_t found = -1;
    for (uint32_t r = 0; r < self->nranks; r++) {
        const weft_boot_peer_t *peer = &peers[self->family_rank[r]];
        if (peer->pid == error->peer_pid && strcmp(peer->host_name, error->peer_host) == 0) {
            if (found >= 0) {
                return -1; /* ranks that are threads */
            }
            found = (int32_t)r;
        }
    }
    return found;
}

/* Whoever did not come out of a split does not know the numbers in the child. */
static void events_on_failed(void *arg, uint64_t comm_id, const weft_error_t *error,
                             const weft_missing_t *missing)
{
    weft_family_t *family = arg;
    weft_os_lock(&family->lock);
    weft_comm_state_t *state = weft_family_find(family, comm_id);
    if (error->status == WEFT_ERR_REVOKED) {
        weft_side_calls_hear_revoke(family, comm_id, error->peer);
    }
    if (state != NULL) {
        weft_error_t mine = *error;
        mine.peer = mine.peer < 0 ? events_find_culprit(&state->self, &mine) : mine.peer;
        weft_failure_set(&state->failure, &state->self, &mine, missing, false);
    }
    weft_os_unlock(&family->lock);
}

/* The text names the rank of the family at its beginning: the communicator says its own number. */
static void events_fail_dead(weft_comm_state_t *state, uint32_t rank, const weft_error_t *error)
{
    char there[128], here[128];
    uint32_t family_rank = state->self.family_rank[rank];
    weft_error_t mine = *error;
    size_t skip;
    weft_boot_rank_text(state->self.family->boot, family_rank, there, sizeof there);
    skip = strlen(there);
    mine.peer = (int32_t)rank;
    if (rank != family_rank && strncmp(error->text, there, skip) == 0) {
        const char *behind_number = strchr(there + strlen("rank "), ' ');
        snprintf(here, sizeof here, "rank %u%s", rank, behind_number != NULL ? behind_number : "");
        snprintf(mine.text, sizeof mine.text, "%s%s", here, error->text + skip);
    }
    weft_failure_set(&state->failure, &state->self, &mine, NULL, false);
}

/* comm_id 0: all communicators of the family that contain the rank. */
static void events_on_died(void *arg, uint64_t comm_id, const weft_error_t *error)
{
    weft_family_t *family = arg;
    weft_os_lock(&family->lock);
    for (weft_family_member_t *m = family->members.first; m != NULL; m = m->next) {
        uint32_t rank = weft_identity_find(&m->state->self, (uint32_t)error->peer);
        if (rank < m->state->self.nranks && (comm_id == 0 || comm_id == m->comm_id)) {
            events_fail_dead(m->state, rank, error);
        }
    }
    weft_consensus_note_end(family, 0, (uint32_t)error->peer);
    weft_os_unlock(&family->lock);
}

/* The first word counts: it is the communicator's own, leaving the family comes later. */
static void events_note_left(weft_peer_status_t *peer, const weft_leave_t *leave)
{
    if (weft_peer_has_left(peer)) {
        return;
    }
    peer->left_run = leave->run.length > 0 ? weft_os_alloc(sizeof *peer->left_run, 0) : NULL;
    if (peer->left_run != NULL) {
        *peer->left_run = leave->run;
    }
    atomic_store_explicit(&peer->left_when, weft_os_clock_ns(), memory_order_relaxed);
    atomic_store_explicit(&peer->left_at, leave->sequence, memory_order_release);
}

static void events_on_left(void *arg, uint64_t comm_id, uint32_t rank, const weft_leave_t *leave)
{
    weft_family_t *family = arg;
    weft_os_lock(&family->lock);
    for (weft_family_member_t *m = family->members.first; m != NULL; m = m->next) {
        uint32_t here = weft_identity_find(&m->state->self, rank);
        if (here < m->state->self.nranks && (comm_id == 0 || comm_id == m->comm_id)) {
            events_note_left(&m->state->peers[here], leave);
        }
    }
    weft_consensus_note_end(family, comm_id, rank);
    weft_os_unlock(&family->lock);
}

/* Questions ------------------------------------------------------------------------------------ */

/* Rank `from` waits for this one. If this rank is, or was, in the operation of that number with
 * other arguments, the ranks disagree although no slice crossed between them. False: it has not
 * come there yet. */
static bool events_answer(weft_comm_state_t *state, uint32_t from, const weft_signature_t *theirs)
{
    weft_signature_t mine;
    if (!weft_history_get(&state->flight->history, theirs->sequence, &mine)) {
        return false;
    }
    if (weft_signature_equal(&mine, theirs)) {
        atomic_store_explicit(&state->peers[from].met_at, theirs->sequence, memory_order_release);
        return true;
    }
    char field[WEFT_SIGNATURE_DIFF];
    weft_error_t error;
    weft_signature_diff(&mine, theirs, field, sizeof field);
    weft_error_clear(&error);
    error.status = WEFT_ERR_MISMATCH;
    error.peer = (int32_t)from;
    error.sequence = theirs->sequence;
    snprintf(error.text, sizeof error.text,
             "operation %u differs between rank %u (here) and rank %u (there): %s",
             theirs->sequence, state->self.rank, from, field);
    weft_failure_set(&state->failure, &state->self, &error, NULL, true);
    return true;
}

/* Says that this rank has begun the operation. */
static void events_tell_begun(uint64_t comm_id, const weft_signature_t *theirs,
                              weft_answer_t *answer)
{
    *answer = (weft_answer_t){.waits_for = UINT32_MAX, .comm_id = comm_id, .signature = *theirs};
}

/* Says where this rank waits instead, if it does: in a communicator other than `asked`. The caller
 * holds the lock. */
static void events_tell_where(const weft_comm_state_t *asked, weft_answer_t *answer)
{
    const weft_family_t *family = asked->self.family;
    weft_os_mutex_assert_held(&family->lock);
    *answer = (weft_answer_t){.waits_for = UINT32_MAX};
    const weft_family_member_t *m = family->members.first;
    while (m != NULL && (m->state == asked || !weft_deadlock_is_stuck(&m->state->deadlock))) {
        m = m->next;
    }
    if (m != NULL) {
        weft_deadlock_tell(&m->state->deadlock, &m->state->flight->history, m->comm_id, answer);
    }
}

static void events_on_asked(void *arg, uint64_t comm_id, uint32_t from,
                            const weft_signature_t *theirs)
{
    weft_family_t *family = arg;
    uint32_t rank;
    weft_os_lock(&family->lock);
    weft_comm_state_t *state = events_find(family, comm_id, from, &rank);
    weft_answer_t answer = {.waits_for = UINT32_MAX}; /* the communicator is not here */
    if (weft_question_asks(theirs, WEFT_ASKS_TO_ANSWER)) {
        answer.signature = *theirs; /* also of a rank that has left the communicator */
    } else if (theirs->coll == WEFT_SEND_RECV && comm_id != 0) {
        if (state != NULL && theirs->op == WEFT_ASKS_TO_LISTEN) {
            weft_puts_note_asked(state, rank);
            weft_progress_kick(WEFT_PROGRESS_NOW);
        } else if (state != NULL && theirs->op == WEFT_ASKS_TO_CONNECT) {
            weft_wanted_table_add(
                &family->members.wanted,
                &(weft_wanted_link_t){.comm_id = comm_id, .peer = rank, .number = theirs->root});
        } else if (state != NULL) {
            weft_stripes_compare(state, rank, theirs);
        }
        comm_id = 0; /* a failure is the only answer */
    } else if (state != NULL && events_answer(state, rank, theirs)) {
        events_tell_begun(comm_id, theirs, &answer);
    } else if (state != NULL) {
        events_tell_where(state, &answer);
    }
    if (comm_id != 0) { /* 0: a sign of life is wanted, no answer */
        weft_health_answer(family->boot, comm_id, from, &answer);
    }
    weft_os_unlock(&family->lock);
}

/* It is in another communicator, perhaps one of this rank's, too. The caller holds the family's
 * lock. */
static void events_note_where(const weft_family_t *family, weft_comm_state_t *state, uint32_t rank,
                              const weft_answer_t *answer)
{
    char here[WEFT_COMM_NAME_BYTES], there[WEFT_COMM_NAME_BYTES] = "";
    weft_comm_state_t *other = weft_family_find(family, answer->comm_id);
    weft_failure_name(&state->failure, here, sizeof here);
    if (other != NULL) {
        weft_failure_name(&other->failure, there, sizeof there);
    }
    weft_deadlock_note_answer(&state->deadlock, rank, answer, here, there);
}

static void events_on_answered(void *arg, uint64_t comm_id, uint32_t from,
                               const weft_answer_t *answer)
{
    weft_family_t *family = arg;
    uint32_t rank;
    weft_os_lock(&family->lock);
    weft_comm_state_t *state = events_find(family, comm_id, from, &rank);
    if (state != NULL && weft_question_asks(&answer->signature, WEFT_ASKS_TO_ANSWER)) {
        atomic_store_explicit(&state->peers[rank].answered, answer->signature.sequence,
                              memory_order_release);
    } else if (state != NULL && answer->comm_id == comm_id) {
        weft_roll_call_note_begun(&state->roll_call, &state->peers[rank],
                                  answer->signature.sequence);
    } else if (state != NULL) {
        weft_roll_call_note_absent(&state->roll_call, &state->peers[rank]);
        events_note_where(family, state, rank, answer);
    }
    weft_os_unlock(&family->lock);
}

static void events_on_told(void *arg, uint64_t consensus, uint32_t from, const weft_word_t *word)
{
    weft_family_t *family = arg;
    weft_os_lock(&family->lock);
    weft_consensus_note_word(family, consensus, from, word);
    weft_os_unlock(&family->lock);
}

const weft_health_callbacks_t weft_comm_health_events = {.failed = events_on_failed,
                                                         .died = events_on_died,
                                                         .asked = events_on_asked,
                                                         .answered = events_on_answered,
                                                         .told = events_on_told,
                                                         .left = events_on_left};
