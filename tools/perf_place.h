/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the ranks are and what they compute on, and how much memory there is for each. */
#ifndef WEFT_TOOLS_PERF_PLACE_H
#define WEFT_TOOLS_PERF_PLACE_H

#include "tools/perf_job.h"

/* Finds the device, tells the other ranks and hears of theirs (one each in all[]), and sets
 * max_bytes and span to what all have room for; *reduced_p: that is less than was asked for, else 0
 * (perf_place.c). */
weft_status_t perf_place_find(perf_rank_t *rank, perf_identity_t *all, uint64_t *reduced_p);
/* Ranks that compute on the same device as `one`, with it; 0 on host memory. */
uint32_t perf_place_sharers(const perf_identity_t *all, uint32_t nranks,
                            const perf_identity_t *one);

#endif
