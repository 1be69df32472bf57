/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The roll call of a communicator. */
#include "core/comm/roll_call.h"

#include <stdio.h>

#include "core/boot/health.h"

/* Whoever has not answered by then is missing. */
#define ROLL_NS (300 * WEFT_NS_PER_MS)
/* The health channel drops questions of which many wait, so they go out in parts, and again. */
#define ROLL_PART 32u
#define ROLL_PART_NS WEFT_NS_PER_MS
/* Of ranks whose deadlines pass together the lowest has the word: the others wait for so long, and
 * most of them learn of the end from it. Where there are many, they do not even ask before. */
#define ROLL_FIRST_NS (50 * WEFT_NS_PER_MS)
#define ROLL_MANY 64u

enum { ROLL_UNKNOWN = 0, ROLL_BEGUN = 1, ROLL_ABSENT = 2 };

/* A note says of which call it is. A rank that has begun names the operation, so its answer counts
 * for no later call. A rank that is elsewhere does not: its answer counts for the call that is
 * open. */
static uint64_t roll_note(uint32_t sequence, uint32_t answer)
{
    return (uint64_t)sequence << 8 | answer;
}

static uint32_t roll_answer(const weft_roll_call_t *roll, const weft_peer_status_t *peer)
{
    const uint64_t note = atomic_load_explicit(&peer->roll, memory_order_relaxed);
    const bool ours = note >> 8 == atomic_load_explicit(&roll->sequence, memory_order_relaxed);
    return ours ? (uint32_t)(note & 0xff) : ROLL_UNKNOWN;
}

static void roll_begin(weft_roll_call_t *roll, const weft_comm_identity_t *self,
                       weft_peer_status_t *peers, uint32_t sequence, uint64_t now)
{
    atomic_store_explicit(&peers[self->rank].roll, roll_note(sequence, ROLL_BEGUN),
                          memory_order_relaxed);
    roll->since = now;
    roll->asked = 0;
    roll->next = 0;
    atomic_store_explicit(&roll->over, 0, memory_order_relaxed);
    atomic_store_explicit(&roll->sequence, sequence, memory_order_relaxed);
}

/* Asks the next ranks that have not answered. Returns how many of all have not. */
static uint32_t roll_ask(weft_roll_call_t *roll, const weft_comm_identity_t *self,
                         const weft_peer_status_t *peers, const weft_signature_t *mine)
{
    uint32_t silent = 0, first = roll->next;
    for (uint32_t i = 0; i < self->nranks; i++) {
        uint32_t r = (first + i) % self->nranks;
        if (roll_answer(roll, &peers[r]) != ROLL_UNKNOWN) {
            continue;
        }
        if (++silent <= ROLL_PART) {
            weft_health_ask(self->family->boot, self->id, self->family_rank[r], mine);
            roll->next = r + 1;
        }
    }
    return silent;
}

/* Returns whether a lower rank is in the operation, too. */
static bool roll_is_second(const weft_roll_call_t *roll, const weft_comm_identity_t *self,
                           const weft_peer_status_t *peers)
{
    uint32_t r = 0;
    while (r < self->rank && roll_answer(roll, &peers[r]) != ROLL_BEGUN) {
        r++;
    }
    return r < self->rank;
}

bool weft_roll_call_step(weft_roll_call_t *roll, const weft_comm_identity_t *self,
                         weft_peer_status_t *peers, const weft_signature_t *mine, uint64_t now)
{
    if (mine->sequence == 0) {
        return true; /* captured: nobody knows it by a number */
    }
    if (atomic_load_explicit(&roll->sequence, memory_order_relaxed) != mine->sequence) {
        roll_begin(roll, self, peers, mine->sequence, now);
    }
    bool early = now - roll->since < ROLL_FIRST_NS;
    if (now - roll->asked < ROLL_PART_NS ||
        (early && self->rank != 0 && self->nranks > ROLL_MANY)) {
        return false;
    }
    roll->asked = now;
    if (roll_ask(roll, self, peers, mine) != 0 && now - roll->since <= ROLL_NS) {
        return false;
    }
    atomic_store_explicit(&roll->over, 1, memory_order_relaxed);
    return !early || !roll_is_second(roll, self, peers);
}

static bool roll_is_over(const weft_roll_call_t *roll)
{
    return atomic_load_explicit(&roll->over, memory_order_relaxed) != 0;
}

void weft_roll_call_note_begun(weft_roll_call_t *roll, weft_peer_status_t *peer, uint32_t sequence)
{
    if (!roll_is_over(roll) &&
        atomic_load_explicit(&roll->sequence, memory_order_relaxed) == sequence) {
        atomic_store_explicit(&peer->roll, roll_note(sequence, ROLL_BEGUN), memory_order_relaxed);
    }
}

void weft_roll_call_note_absent(weft_roll_call_t *roll, weft_peer_status_t *peer)
{
    const uint32_t sequence = atomic_load_explicit(&roll->sequence, memory_order_relaxed);
    uint64_t before = atomic_load_explicit(&peer->roll, memory_order_relaxed);
    if (!roll_is_over(roll) && before >> 8 != sequence) {
        atomic_compare_exchange_strong_explicit(&peer->roll, &before,
                                                roll_note(sequence, ROLL_ABSENT),
                                                memory_order_relaxed, memory_order_relaxed);
    }
}

uint32_t weft_roll_call_missing(const weft_roll_call_t *roll, const weft_comm_identity_t *self,
                                const weft_peer_status_t *peers, uint32_t *ranks, uint32_t max)
{
    uint32_t count = 0;
    if (!roll_is_over(roll)) {
        return 0;
    }
    for (uint32_t r = 0; r < self->nranks; r++) {
        if (roll_answer(roll, &peers[r]) == ROLL_BEGUN) {
            continue;
        }
        if (count < max) {
            ranks[count] = r;
        }
        count++;
    }
    return count;
}

void weft_roll_call_list(const weft_roll_call_t *roll, const weft_comm_identity_t *self,
                         const weft_peer_status_t *peers, weft_missing_t *list)
{
    *list = (weft_missing_t){.count = 0};
    for (uint32_t r = 0; roll_is_over(roll) && r < self->nranks; r++) {
        if (roll_answer(roll, &peers[r]) != ROLL_BEGUN) {
            weft_missing_add(list, r);
        }
    }
}

int32_t weft_roll_call_culprit(const weft_roll_call_t *roll, const weft_comm_identity_t *self,
                               const weft_peer_status_t *peers, int32_t peer)
{
    uint32_t first = 0;
    bool known = weft_roll_call_missing(roll, self, peers, &first, 1) > 0;
    bool came = peer >= 0 && roll_answer(roll, &peers[peer]) == ROLL_BEGUN;
    return known && (came || peer < 0) ? (int32_t)first : peer;
}

const char *weft_roll_call_text(const weft_roll_call_t *roll, const weft_comm_identity_t *self,
                                const weft_peer_status_t *peers, int32_t peer, char *text,
                                size_t bytes)
{
    enum { NAMED = 8 };
    uint32_t ranks[NAMED];
    uint32_t count = weft_roll_call_missing(roll, self, peers, ranks, NAMED);
    text[0] = '\0';
    if (count == 0 || (count == 1 && (int32_t)ranks[0] == peer)) {
        return text;
    }
    int used = snprintf(text, bytes, "; missing %s", count == 1 ? "is rank" : "are ranks");
    for (uint32_t i = 0; i < count && i < NAMED && used > 0 && (size_t)used < bytes; i++) {
        used += snprintf(text + used, bytes - (size_t)used, "%s %u", i > 0 ? "," : "", ranks[i]);
    }
    if (count > NAMED && used > 0 && (size_t)used < bytes) {
        snprintf(text + used, bytes - (size_t)used, " and %u more", count - NAMED);
    }
    return text;
}
