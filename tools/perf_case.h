/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Timing of one case. One look at the clock separates two iterations. */
#ifndef WEFT_TOOLS_PERF_CASE_H
#define WEFT_TOOLS_PERF_CASE_H

#include "tools/perf_job.h"

/* Measures and checks one case. */
weft_status_t perf_case_run(perf_rank_t *rank, const perf_case_t *test, uint64_t seed,
                            perf_sample_t *sample);
weft_status_t perf_case_warm_up(perf_rank_t *rank, const perf_case_t *test);

#endif
