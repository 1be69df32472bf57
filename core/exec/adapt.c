/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Trials of the two ways to write slots. In each period the first call only warms up, the next few are
 * timed, one way and the other in turns; the better way serves the rest. */
#include "core/exec/adapt.h"

#define PERIOD 256u
#define TRIALS 4u /* of each way: the shortest counts, so that page faults and late peers do not */

/* 0 or 1: a trial of that way; −1: none. */
static int trial_of(uint32_t call)
{
    uint32_t at = call % PERIOD;
    if (at == 0 || at > 2 * TRIALS) {
        return -1;
    }
    return at % 2 == 0;
}

bool weft_adapt_begin(weft_adapt_t *adapt)
{
    int trial = trial_of(adapt->calls);
    if (trial < 0) {
        return adapt->stream;
    }
    if (adapt->calls % PERIOD == 1) {
        adapt->best[0] = adapt->best[1] = UINT64_MAX;
    }
    adapt->began = weft_os_clock_ns();
    return trial == 1;
}

void weft_adapt_end(weft_adapt_t *adapt)
{
    int trial = trial_of(adapt->calls);
    if (trial >= 0) {
        uint64_t took = weft_os_clock_ns() - adapt->began;
        adapt->best[trial] = took < adapt->best[trial] ? took : adapt->best[trial];
        adapt->stream = adapt->best[1] < adapt->best[0];
    }
    adapt->calls++;
}
