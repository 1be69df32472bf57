/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Order of communicators. Two ranks that block in two communicators in opposite order wait for each
 * other, and neither communicator alone can see why. A rank that is asked for an operation which it has
 * not begun answers where it waits instead; who asked says so when its patience ends. */
#include <inttypes.h>
#include <stdio.h>

#include "core/comm/comm.h"

/* Ranks ask ten times a second: what is older than this no longer holds. */
#define FRESH_NS (WEFT_NS_PER_S / 2)

void weft_order_ask(weft_comm_state_t *state, uint32_t peer, const weft_signature_t *mine)
{
    uint32_t family_rank = state->family_rank[peer];
    atomic_store_explicit(&state->order.stuck_on, family_rank, memory_order_relaxed);
    atomic_store_explicit(&state->order.stuck_at, weft_os_clock_ns(), memory_order_release);
    weft_health_ask(state->family->boot, state->id, family_rank, mine);
}

static bool is_fresh(uint64_t at)
{
    return at != 0 && weft_os_clock_ns() - at < FRESH_NS;
}

void weft_order_here(const weft_comm_state_t *asked, weft_answer_t *answer)
{
    *answer = (weft_answer_t){.waits_for = UINT32_MAX};
    weft_comm_state_t *state = asked->family->members;
    while (state != NULL &&
           (state == asked ||
            !is_fresh(atomic_load_explicit(&state->order.stuck_at, memory_order_acquire)))) {
        state = state->sibling;
    }
    if (state != NULL) {
        uint32_t last = atomic_load_explicit(&state->history.last, memory_order_acquire);
        answer->comm_id = weft_history_get(state, last, &answer->signature) ? state->id : 0;
        answer->waits_for = atomic_load_explicit(&state->order.stuck_on, memory_order_relaxed);
    }
}

void weft_order_on_answered(weft_comm_state_t *state, uint32_t from, const weft_answer_t *answer)
{
    weft_os_lock(&state->order.lock);
    state->order.answer = *answer;
    state->order.answered_by = from;
    state->order.answered_at = weft_os_clock_ns();
    weft_os_unlock(&state->order.lock);
}

const char *weft_order_text(weft_comm_state_t *state, int32_t peer, char *text, size_t bytes)
{
    char op[96];
    text[0] = '\0';
    weft_os_lock(&state->order.lock);
    weft_answer_t answer = state->order.answer;
    bool known = peer >= 0 && state->order.answered_by == (uint32_t)peer &&
                 is_fresh(state->order.answered_at);
    weft_os_unlock(&state->order.lock);
    if (known && answer.comm_id == 0) {
        snprintf(text, bytes, "; rank %d has not begun it", (int)peer);
    } else if (known) {
        bool circle = answer.waits_for == state->family_rank[state->rank];
        weft_signature_text(&answer.signature, op, sizeof op);
        snprintf(text, bytes,
                 " in communicator %016" PRIx64 "; rank %d is in operation %" PRIu32
                 " (%s) of communicator %016" PRIx64 "%s",
                 state->id, (int)peer, answer.signature.sequence, op, answer.comm_id,
                 circle ? " and waits for this rank there: call communicators in one order on all "
                          "ranks, or in a group"
                        : "");
    }
    return text;
}
