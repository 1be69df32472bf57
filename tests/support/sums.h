/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Elements of ranks that differ by rank, round and place, and the sums of all ranks, which wrap. */
#ifndef WEFT_TEST_SUMS_H
#define WEFT_TEST_SUMS_H

#include <stdint.h>

static inline int32_t sums_value(uint32_t rank, uint32_t round, uint32_t i)
{
    return (int32_t)(rank * 1000003 + round * 101 + i);
}

static inline int32_t sums_all(uint32_t n, uint32_t round, uint32_t i)
{
    uint32_t sum = 0;
    for (uint32_t r = 0; r < n; r++) {
        sum += (uint32_t)sums_value(r, round, i);
    }
    return (int32_t)sum;
}

#endif
