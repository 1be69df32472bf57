/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Deadlock diagnosis across communicators. */
#include "core/comm/deadlock.h"

#include <inttypes.h>
#include <stdio.h>

/* Ranks ask ten times a second: what is older than this no longer holds. */
#define FRESH_NS (WEFT_NS_PER_S / 2)
#define PLACE (WEFT_COMM_NAME_BYTES + 24)

void weft_deadlock_ask(weft_deadlock_t *deadlock, const weft_comm_identity_t *self, uint32_t peer,
                       const weft_signature_t *mine)
{
    uint32_t family_rank = self->family_rank[peer];
    atomic_store_explicit(&deadlock->stuck_on, family_rank, memory_order_relaxed);
    atomic_store_explicit(&deadlock->stuck_at, weft_os_clock_ns(), memory_order_release);
    weft_health_ask(self->family->boot, self->id, family_rank, mine);
}

static bool deadlock_is_fresh(uint64_t at)
{
    return at != 0 && weft_os_clock_ns() - at < FRESH_NS;
}

bool weft_deadlock_is_stuck(const weft_deadlock_t *deadlock)
{
    return deadlock_is_fresh(atomic_load_explicit(&deadlock->stuck_at, memory_order_acquire));
}

void weft_deadlock_tell(const weft_deadlock_t *deadlock, weft_history_t *history, uint64_t comm_id,
                        weft_answer_t *answer)
{
    answer->comm_id = weft_history_get_last(history, &answer->signature) ? comm_id : 0;
    answer->waits_for = atomic_load_explicit(&deadlock->stuck_on, memory_order_relaxed);
}

void weft_deadlock_note_answer(weft_deadlock_t *deadlock, uint32_t from,
                               const weft_answer_t *answer, const char *here, const char *there)
{
    weft_os_lock(&deadlock->lock);
    deadlock->answer = *answer;
    snprintf(deadlock->here, sizeof deadlock->here, "%s", here);
    snprintf(deadlock->there, sizeof deadlock->there, "%s", there);
    deadlock->answered_by = from;
    deadlock->answered_at = weft_os_clock_ns();
    weft_os_unlock(&deadlock->lock);
}

/* The name that the user gave, and the id, by which other ranks and flight records know it. */
static const char *deadlock_place(const char *name, uint64_t id, char text[PLACE])
{
    snprintf(text, PLACE, name[0] != '\0' ? "%s (%016" PRIx64 ")" : "%s%016" PRIx64, name, id);
    return text;
}

const char *weft_deadlock_text(weft_deadlock_t *deadlock, const weft_comm_identity_t *self,
                               int32_t peer, char *text, size_t bytes)
{
    char op[96], here[PLACE], there[PLACE];
    text[0] = '\0';
    weft_os_lock(&deadlock->lock);
    weft_answer_t answer = deadlock->answer;
    deadlock_place(deadlock->here, self->id, here);
    deadlock_place(deadlock->there, answer.comm_id, there);
    bool known = peer >= 0 && deadlock->answered_by == (uint32_t)peer &&
                 deadlock_is_fresh(deadlock->answered_at);
    weft_os_unlock(&deadlock->lock);
    if (known && answer.comm_id == 0) {
        snprintf(text, bytes, "; rank %d has not begun it", (int)peer);
    } else if (known) {
        bool circle = answer.waits_for == self->family_rank[self->rank];
        weft_signature_text(&answer.signature, op, sizeof op);
        snprintf(text, bytes,
                 " in communicator %s; rank %d is in operation %" PRIu32
                 " (%s) of communicator %s%s",
                 here, (int)peer, answer.signature.sequence, op, there,
                 circle ? " and waits for this rank there: call communicators in one order on all "
                          "ranks, or in a group"
                        : "");
    }
    return text;
}
