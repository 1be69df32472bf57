/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the ranks of `weft perf` tell each other beside the measurement. It goes through weft's own
 * all-reduce and barrier, or through sends and receives along a binomial tree where the algorithm
 * that [plan] algo forces serves no all-reduce. */
#ifndef WEFT_TOOLS_PERF_SYNC_H
#define WEFT_TOOLS_PERF_SYNC_H

#include "tools/perf_job.h"

/* What ranks tell each other beside the measurement (perf_sync.c): a reduction of each value; one
 * by `average` as -a says, where 0 takes rank 0's; `bytes` of every rank in the order of ranks. */
weft_status_t perf_reduce(perf_rank_t *rank, double *values, uint32_t count, weft_op_t op);
weft_status_t perf_combine(perf_rank_t *rank, double *values, uint32_t count, int64_t average);
weft_status_t perf_collect(perf_rank_t *rank, const void *mine, uint32_t bytes, void *all);
weft_status_t perf_barrier(perf_rank_t *rank);

#endif
