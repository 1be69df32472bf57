/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Proofs of one written plan over many sizes, depths and slicings, out of place and in place. */
#ifndef TESTS_SUPPORT_PLAN_SWEEP_H
#define TESTS_SUPPORT_PLAN_SWEEP_H

#include "tests/support/plan_fixture.h"

typedef struct plan_sweep {
    plan_fixture_fn_t write;
    weft_coll_t coll;
    bool packs; /* it serves no vector collective then */
} plan_sweep_t;

/* Proves n ranks at that depth and slicing, out of place and in place: right, the same bits on all
 * ranks, and bindable to all_gather_v and reduce_scatter_v. Fails the test with the verifier's
 * words. */
void plan_sweep_expect_ok(const plan_sweep_t *sweep, uint32_t n, uint32_t slots, uint32_t slices);

/* 2 … 40 ranks at 2, 4 and 8 slots with 1 … slots−1 slices. */
void plan_sweep_small(const plan_sweep_t *sweep);

/* Numbers of ranks up to 300 around powers of two and between them. */
void plan_sweep_large(const plan_sweep_t *sweep);

#endif
