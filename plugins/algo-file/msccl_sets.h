/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sets of gpus by number: 0 is the empty one, 1 + g holds gpu g, n + 1 holds all; unions get the
 * next numbers. */
#ifndef ALGO_FILE_MSCCL_SETS_H
#define ALGO_FILE_MSCCL_SETS_H

#include "msccl.h"

#define MSCCL_SET_WORDS_MAX (1u << 25) /* 256 MiB */

typedef struct msccl_sets {
    const weft_host_t *host;
    uint64_t *bits; /* `words` for each set */
    uint32_t n, words, count, capacity;
} msccl_sets_t;

weft_status_t msccl_sets_init(msccl_sets_t *sets, const weft_host_t *host, uint32_t n);
void msccl_sets_fini(msccl_sets_t *sets);
/* Forgets all unions. */
void msccl_sets_reset(msccl_sets_t *sets);
/* The union of two sets; *common_p is a gpu in both, or NONE. ERR_RESOURCE without an error set:
 * too many sets; or with one: no memory. */
weft_status_t msccl_sets_unite(msccl_sets_t *sets, uint32_t x, uint32_t y, uint32_t *union_p,
                               uint32_t *common_p);
bool msccl_sets_full(const msccl_sets_t *sets);
/* A gpu that is not in the set. */
uint32_t msccl_sets_missing(const msccl_sets_t *sets, uint32_t set);

#endif
