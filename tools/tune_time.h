/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How long a call takes. Calls without a root are measured in a row. Calls with a root are begun
 * apart: in a row the root of a broadcast runs ahead of the others, how far is chance; and behind a
 * barrier it begins before or after the others, as the barrier's algorithm lets it go. */
#ifndef WEFT_TOOLS_TUNE_TIME_H
#define WEFT_TOOLS_TUNE_TIME_H

#include "tools/tune_job.h"

/* Seconds of one of `calls` calls (at least 1), equal on all ranks. All ranks together. A row: of
 * the slowest rank. Apart: where data goes down from the root, from when the root begins, which the
 * others wait for, until the last has ended; else from when the others begin, in the mean, until
 * the root has ended. The clock must be set (tune_clock.h). */
weft_status_t tune_time(const tune_rank_t *rank, weft_comm_t *comm, const weft_args_t *args,
                        uint32_t calls, double *seconds_p);

#endif
