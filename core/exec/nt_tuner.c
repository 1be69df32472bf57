/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Trials of the two ways to write slots. In each period the first call only warms up, the next
 * few are timed, one way and the other in turns; the better way serves the rest. */
#include "core/exec/nt_tuner.h"

#define PERIOD 256u
#define TRIALS 4u /* of each way: the shortest counts, so that page faults and late peers do not */

/* Returns the way that this call tries, 0 or 1, or −1 if it is no trial. */
static int tuner_trial(uint32_t call)
{
    uint32_t at = call % PERIOD;
    if (at == 0 || at > 2 * TRIALS) {
        return -1;
    }
    return at % 2 == 0;
}

bool weft_nt_tuner_begin(weft_nt_tuner_t *tuner)
{
    int trial = tuner_trial(tuner->calls);
    if (trial < 0) {
        return tuner->stream;
    }
    if (tuner->calls % PERIOD == 1) {
        tuner->best[0] = tuner->best[1] = UINT64_MAX;
    }
    tuner->began = weft_os_clock_ns();
    return trial == 1;
}

void weft_nt_tuner_end(weft_nt_tuner_t *tuner)
{
    int trial = tuner_trial(tuner->calls);
    if (trial >= 0) {
        uint64_t took = weft_os_clock_ns() - tuner->began;
        tuner->best[trial] = took < tuner->best[trial] ? took : tuner->best[trial];
        tuner->stream = tuner->best[1] < tuner->best[0];
    }
    tuner->calls++;
}
