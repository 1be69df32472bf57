/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Trials of the ways to store. In each period the first call only warms up, the next few are timed,
 * one way and the other in turns; the best way serves the rest. */
#include "core/exec/nt_tuner.h"

#define PERIOD 256u
#define TRIALS 4u /* of each way: the shortest counts, so that page faults and late peers do not */

/* Results of this size are worth a trial; from the next size on a trial only confirms what is
 * known, as they do not stay in any cache. */
#define RESULTS_MIN (UINT64_C(512) << 10)
#define RESULTS_ALWAYS (UINT64_C(8) << 20)

typedef struct tuner_ways {
    uint32_t count;
    uint8_t way[WEFT_NT_WAYS];
} tuner_ways_t;

static const tuner_ways_t *tuner_ways(uint64_t bytes)
{
    static const tuner_ways_t small = {.count = 2, .way = {0, WEFT_NT_SLOTS}};
    static const tuner_ways_t medium = {
        .count = 3, .way = {0, WEFT_NT_RESULTS, WEFT_NT_RESULTS | WEFT_NT_SLOTS}};
    static const tuner_ways_t large = {.count = 2,
                                       .way = {WEFT_NT_RESULTS, WEFT_NT_RESULTS | WEFT_NT_SLOTS}};
    return bytes >= RESULTS_ALWAYS ? &large : bytes >= RESULTS_MIN ? &medium : &small;
}

/* Returns which of the ways this call tries, or −1 if it is no trial. */
static int tuner_trial(uint32_t call, uint32_t ways)
{
    uint32_t at = call % PERIOD;
    return at == 0 || at > ways * TRIALS ? -1 : (int)((at - 1) % ways);
}

uint32_t weft_nt_tuner_default(uint64_t bytes)
{
    return tuner_ways(bytes)->way[0];
}

uint32_t weft_nt_tuner_begin(weft_nt_tuner_t *tuner, uint64_t bytes)
{
    const tuner_ways_t *ways = tuner_ways(bytes);
    tuner->trial = tuner_trial(tuner->calls, ways->count);
    if (tuner->trial < 0) {
        return ways->way[tuner->chosen];
    }
    if (tuner->calls % PERIOD == 1) {
        for (uint32_t i = 0; i < WEFT_NT_WAYS; i++) {
            tuner->best[i] = UINT64_MAX;
        }
    }
    tuner->began = weft_os_clock_ns();
    return ways->way[tuner->trial];
}

void weft_nt_tuner_end(weft_nt_tuner_t *tuner)
{
    if (tuner->trial >= 0) {
        uint64_t took = weft_os_clock_ns() - tuner->began;
        uint64_t *best = &tuner->best[tuner->trial];
        *best = took < *best ? took : *best;
        for (uint32_t i = tuner->chosen = 0; i < WEFT_NT_WAYS; i++) {
            tuner->chosen = tuner->best[i] < tuner->best[tuner->chosen] ? i : tuner->chosen;
        }
    }
    tuner->calls++;
}
