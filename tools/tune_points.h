/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Measures all candidates at one size, in turns. */
#ifndef WEFT_TOOLS_TUNE_POINTS_H
#define WEFT_TOOLS_TUNE_POINTS_H

#include "tools/tune_job.h"

/* Makes a communicator for each algorithm of the configuration. All ranks together. */
weft_status_t tune_candidates_open(tune_rank_t *rank);
void tune_candidates_close(tune_rank_t *rank);

/* Lists the candidates that serve the collective with blocks of `bytes`, without their times.
 * *count_p results, equal on all ranks, which call it together. */
weft_status_t tune_point_list(tune_rank_t *rank, weft_coll_t coll, uint64_t bytes,
                              tune_result_t results[TUNE_CANDIDATES_MAX], uint32_t *count_p);

/* Measures the candidates that serve the collective with blocks of `bytes`. *count_p results, equal
 * on all ranks: times are those of the slowest rank. */
weft_status_t tune_point(tune_rank_t *rank, weft_coll_t coll, uint64_t bytes,
                         tune_result_t results[TUNE_CANDIDATES_MAX], uint32_t *count_p);

/* Bytes of each buffer for the largest of the calls. */
uint64_t tune_room(const tune_request_t *request, uint32_t nranks);

/* True for the collectives that can be tuned: those without vectors. */
bool tune_serves(weft_coll_t coll);

#endif
