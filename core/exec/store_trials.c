/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See store_trials.h. */
#include "core/exec/store_trials.h"

#define TRIALS 8u /* of a period, one way and the other in turns; the shortest of a way counts */
#define TURNS 10u /* of a period: timed messages of all lengths */

/* Takes the receiver's part of the last trial. */
static void store_trials_take(weft_store_trials_t *trials, uint64_t report)
{
    if (trials->took == 0 || report >> 32 != (trials->number & UINT32_MAX)) {
        return;
    }
    uint64_t *best = &trials->best[trials->way], took = trials->took + (report & UINT32_MAX);
    *best = *best == 0 || took < *best ? took : *best;
    trials->took = 0;
}

/* A way without a report is not known to be better. */
static void store_trials_choose(weft_store_trials_t *trials)
{
    const uint64_t cached = trials->best[WEFT_STORE_CACHED], past = trials->best[WEFT_STORE_PAST];
    if (cached != 0 && past != 0) {
        trials->chosen = past < cached ? WEFT_STORE_PAST : WEFT_STORE_CACHED;
    }
    trials->best[WEFT_STORE_CACHED] = trials->best[WEFT_STORE_PAST] = 0;
    trials->turns = trials->tried = 0;
}

weft_store_t weft_store_trials_begin(weft_store_trials_t *trials, uint64_t number, uint64_t bytes,
                                     uint64_t report)
{
    store_trials_take(trials, report);
    if (trials->tried == TRIALS || trials->turns == TURNS) {
        store_trials_choose(trials);
    }
    const uint8_t length = (uint8_t)(63 - __builtin_clzll(bytes | 1));
    trials->turns++;
    trials->took = 0;
    if (trials->tried > 0 && trials->length != length) {
        return (weft_store_t)trials->chosen; /* no way is judged by longer messages */
    }
    trials->length = length;
    trials->number = number;
    trials->way = trials->tried++ % WEFT_STORE_WAYS;
    return (weft_store_t)trials->way;
}

void weft_store_trials_end(weft_store_trials_t *trials, uint64_t number, uint64_t took_ns)
{
    if (trials->tried > 0 && trials->number == number) {
        trials->took = took_ns > 0 ? took_ns : 1;
    }
}
