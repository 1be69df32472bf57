/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The members of a family, and the way of an event of the one health channel to the communicators that
 * it concerns. Events of communicators that this rank does not have, or has no longer, end here; those
 * that it does not have yet are told again when it has (weft_health_open). */
#include "core/comm/family.h"

#include <stdio.h>
#include <string.h>

#include "core/comm/comm.h"

void weft_family_add(weft_family_t *family, weft_comm_state_t *state)
{
    weft_os_lock(&family->lock);
    state->sibling = family->members;
    family->members = state;
    weft_os_unlock(&family->lock);
    weft_health_open(family->boot, state->id);
}

void weft_family_remove(weft_family_t *family, weft_comm_state_t *state)
{
    weft_os_lock(&family->lock);
    weft_comm_state_t **place = &family->members;
    while (*place != NULL && *place != state) {
        place = &(*place)->sibling;
    }
    if (*place != NULL) {
        *place = state->sibling;
    }
    weft_os_unlock(&family->lock);
}

void weft_family_take(weft_family_t *family)
{
    atomic_fetch_add_explicit(&family->references, 1, memory_order_relaxed);
}

void weft_family_release(weft_family_t *family)
{
    if (atomic_fetch_sub_explicit(&family->references, 1, memory_order_acq_rel) == 1) {
        weft_health_goodbye(family->boot);
        weft_family_destroy(family);
    }
}

/* Events -------------------------------------------------------------------------------------------- */

static weft_comm_state_t *find(const weft_family_t *family, uint64_t comm_id)
{
    weft_comm_state_t *state = family->members;
    while (state != NULL && state->id != comm_id) {
        state = state->sibling;
    }
    return state;
}

/* Rank in the communicator; its nranks if it is no member. */
static uint32_t rank_here(const weft_comm_state_t *state, uint32_t family_rank)
{
    uint32_t rank = 0;
    while (rank < state->nranks && state->family_rank[rank] != family_rank) {
        rank++;
    }
    return rank;
}

static void on_failed(void *arg, uint64_t comm_id, const weft_error_t *error)
{
    weft_family_t *family = arg;
    weft_os_lock(&family->lock);
    weft_comm_state_t *state = find(family, comm_id);
    if (state != NULL) {
        weft_comm_fail(state, error, false);
    }
    weft_os_unlock(&family->lock);
}

static void on_died(void *arg, uint64_t comm_id, const weft_error_t *error)
{
    weft_family_t *family = arg;
    weft_os_lock(&family->lock);
    for (weft_comm_state_t *state = family->members; state != NULL; state = state->sibling) {
        uint32_t rank = rank_here(state, (uint32_t)error->peer);
        if (rank < state->nranks && (comm_id == 0 || comm_id == state->id)) {
            weft_comm_on_died(state, rank, error);
        }
    }
    weft_os_unlock(&family->lock);
}

static void on_asked(void *arg, uint64_t comm_id, uint32_t from, const weft_signature_t *theirs)
{
    weft_family_t *family = arg;
    weft_os_lock(&family->lock);
    weft_comm_state_t *state = find(family, comm_id);
    uint32_t rank = state != NULL ? rank_here(state, from) : 0;
    if (state != NULL && rank < state->nranks && !weft_comm_on_asked(state, rank, theirs)) {
        weft_answer_t answer;
        weft_order_here(state, &answer);
        weft_health_answer(family->boot, comm_id, from, &answer);
    }
    weft_os_unlock(&family->lock);
}

static void on_answered(void *arg, uint64_t comm_id, uint32_t from, const weft_answer_t *answer)
{
    weft_family_t *family = arg;
    weft_os_lock(&family->lock);
    weft_comm_state_t *state = find(family, comm_id);
    uint32_t rank = state != NULL ? rank_here(state, from) : 0;
    if (state != NULL && rank < state->nranks) {
        weft_order_on_answered(state, rank, answer);
    }
    weft_os_unlock(&family->lock);
}

static void on_left(void *arg, uint64_t comm_id, uint32_t rank, uint64_t sequence)
{
    weft_family_t *family = arg;
    weft_os_lock(&family->lock);
    for (weft_comm_state_t *state = family->members; state != NULL; state = state->sibling) {
        uint32_t here = rank_here(state, rank);
        if (here < state->nranks && (comm_id == 0 || comm_id == state->id)) {
            weft_comm_on_left(state, here, sequence);
        }
    }
    weft_os_unlock(&family->lock);
}

const weft_health_events_t weft_family_events = {.failed = on_failed,
                                                 .died = on_died,
                                                 .asked = on_asked,
                                                 .answered = on_answered,
                                                 .left = on_left};
