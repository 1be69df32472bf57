/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One clock for all ranks: that of rank 0. */
#ifndef WEFT_TOOLS_TUNE_CLOCK_H
#define WEFT_TOOLS_TUNE_CLOCK_H

#include "tools/tune_job.h"

/* A message to rank 0 and its answer: when it was sent and when the answer came, by the clock of
 * the sender, and the time between by that of rank 0; ns. */
typedef struct tune_ping {
    uint64_t sent, there, back;
} tune_ping_t;

/* What to add to the sender's clock to have that of rank 0, ns. No message comes before it was
 * sent: each ping tells the most and the least that it can be. The middle of what all of them
 * leave; the error is half of the difference between the fastest way there and the fastest way
 * back. `count` is at least 1. */
int64_t tune_clock_offset(const tune_ping_t *pings, uint32_t count);

/* Sets rank->clock, to 0 where a rank reads the same clock as rank 0. All ranks together. Clocks of
 * machines drift apart: to be called again every few seconds. */
weft_status_t tune_clock_set(tune_rank_t *rank);

#endif
