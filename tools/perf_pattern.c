/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lengths of the blocks of the vector collectives, as weights: pure functions of (pattern, seed,
 * ranks), so that every rank knows those of all others. */
#include "tools/perf_pattern.h"

#define PARTS UINT64_C(1000)
#define ZIPF_TOP UINT64_C(1000000)

/* The finaliser of D. Stafford's variant 13, in the public domain. */
static uint64_t perf_pattern_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint64_t perf_pattern_chance(const perf_pattern_t *pattern, uint64_t a, uint64_t b)
{
    return perf_pattern_mix(perf_pattern_mix(perf_pattern_mix(pattern->seed + 1) + a) *
                                UINT64_C(0x9e3779b97f4a7c15) +
                            b);
}

/* Ranks that are more popular than `rank`. */
static uint64_t perf_pattern_position(const perf_pattern_t *pattern, uint32_t nranks, uint32_t rank)
{
    uint64_t mine = perf_pattern_chance(pattern, rank, 0);
    uint64_t before = 0;
    for (uint32_t r = 0; r < nranks; r++) {
        uint64_t theirs = perf_pattern_chance(pattern, r, 0);
        before += theirs < mine || (theirs == mine && r < rank);
    }
    return before;
}

static uint32_t perf_pattern_chosen(const perf_pattern_t *pattern, uint32_t nranks)
{
    return (uint32_t)((pattern->seed + nranks - 1) % nranks);
}

static uint64_t perf_pattern_vector_weight(const perf_pattern_t *pattern, uint32_t nranks,
                                           uint32_t rank)
{
    switch (pattern->kind) {
    case PERF_LINEAR:
        return rank + 1;
    case PERF_RANDOM:
        return 1 + perf_pattern_chance(pattern, rank, 1) % PARTS;
    case PERF_SPARSE:
        return perf_pattern_chance(pattern, rank, 2) % 4 == 0 ||
               rank == perf_pattern_chosen(pattern, nranks);
    case PERF_ONE:
        return rank == perf_pattern_chosen(pattern, nranks);
    case PERF_ZIPF:
        return ZIPF_TOP / (1 + perf_pattern_position(pattern, nranks, rank));
    default:
        return 1;
    }
}

void perf_pattern_vector(const perf_pattern_t *pattern, uint32_t nranks, uint64_t *weights)
{
    for (uint32_t r = 0; r < nranks; r++) {
        weights[r] = perf_pattern_vector_weight(pattern, nranks, r);
    }
}

uint64_t perf_pattern_pair(const perf_pattern_t *pattern, uint32_t nranks, const uint64_t *vector,
                           uint32_t from, uint32_t to)
{
    uint32_t last = perf_pattern_chosen(pattern, nranks);
    switch (pattern->kind) {
    case PERF_LINEAR:
        return (uint64_t)from + to + 1;
    case PERF_RANDOM:
        return 1 + perf_pattern_chance(pattern, from, to + UINT64_C(3)) % PARTS;
    case PERF_SPARSE:
        return perf_pattern_chance(pattern, from, to + UINT64_C(3)) % 4 == 0;
    case PERF_ONE:
        return from == (last + 1) % nranks && to == last;
    default:
        return vector[to];
    }
}
