/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Statistics of single iterations: of every rank's own times (-I), and of the times of the slowest
 * rank of each iteration (--stats). */
#ifndef WEFT_TOOLS_PERF_SPREAD_H
#define WEFT_TOOLS_PERF_SPREAD_H

#include "tools/perf_job.h"

/* From rank->samples, the ends of the iterations since the begin: the statistics of -I and
 * --stats. */
weft_status_t perf_spread_of_iterations(perf_rank_t *rank, perf_sample_t *sample);

#endif
