/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Input and expected data of `weft perf`. Every element is a pure function of (seed, rank, index),
 * made so that any order of combining gives the same bits:
 *
 *   sum, avg, mulsum of floats   small integers from at most K ranks of a window that moves with
 *                                the index, so that every partial sum is representable
 *   prod of floats               powers of two and signs, and one factor with two mantissa bits
 *   min, max, user               any finite value
 *   integers                     any value (they wrap); prod odd values; avg as floats, no
 *                                overflow; band mostly ones, bor mostly zeros, so that they differ
 *   no reduction                 any bits
 *
 * Only avg of floats over a number of ranks that is no power of two may be off, by 2 ulp. */
#ifndef WEFT_TOOLS_PERF_DATA_H
#define WEFT_TOOLS_PERF_DATA_H

#include "tools/perf_job.h"

typedef struct perf_data {
    perf_case_t test;
    uint32_t rank, nranks;
    uint64_t seed;
} perf_data_t;

/* `count` elements of a buffer from number `first` on. */
typedef struct perf_range {
    uint64_t first, count;
} perf_range_t;

/* `piece` holds the elements of the range. */
void perf_data_fill_send(const perf_data_t *data, perf_range_t range, void *piece);
/* Number of elements that differ from what they must be. */
uint64_t perf_data_check_send(const perf_data_t *data, perf_range_t range, const void *piece);
uint64_t perf_data_check_recv(const perf_data_t *data, perf_range_t range, const void *piece);
/* This rank's factor for PREMULSUM; at most 8 bytes. */
void perf_data_scalar(weft_dtype_t dtype, uint32_t rank, void *scalar);

#endif
