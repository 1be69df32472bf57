/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lengths of the blocks of vector collectives, as weights. */
#ifndef WEFT_TOOLS_PERF_PATTERN_H
#define WEFT_TOOLS_PERF_PATTERN_H

#include <stdint.h>

/* X(NAME, text, what it is): how the blocks of the vector collectives differ in length. */
#define PERF_PATTERN_MAP(X)                                                                        \
    X(EVEN, "even", "all blocks alike, as in the fixed form")                                      \
    X(LINEAR, "linear", "a block grows with the ranks at both of its ends")                        \
    X(RANDOM, "random", "any length from 1 to 1000 parts")                                         \
    X(SPARSE, "sparse", "three of four blocks are empty, the others alike")                        \
    X(ONE, "one", "everything in one block, from one rank to one rank")                            \
    X(ZIPF, "zipf", "to the k-th most popular rank 1/k, as tokens to experts")

typedef enum perf_pattern_kind {
#define PERF_PATTERN_ENUM(name, text, help) PERF_##name,
    PERF_PATTERN_MAP(PERF_PATTERN_ENUM)
#undef PERF_PATTERN_ENUM
        PERF_PATTERN_COUNT
} perf_pattern_kind_t;

typedef struct perf_pattern {
    perf_pattern_kind_t kind;
    uint64_t seed;
} perf_pattern_t;

/* Weights of the blocks of ranks 0 … nranks−1. At least one is not 0. */
void perf_pattern_vector(const perf_pattern_t *pattern, uint32_t nranks, uint64_t *weights);
/* Weight of what rank `from` sends to rank `to`, given the pattern's vector. May be 0 for all pairs
 * with sparse. */
uint64_t perf_pattern_pair(const perf_pattern_t *pattern, uint32_t nranks, const uint64_t *vector,
                           uint32_t from, uint32_t to);

#endif
