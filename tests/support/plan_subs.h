/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans made of plans, for their tests: algorithms that a plan under test may ask for, and what its
 * plan must be. Failures are cmocka's. */
#ifndef TESTS_SUPPORT_PLAN_SUBS_H
#define TESTS_SUPPORT_PLAN_SUBS_H

#include "tests/support/plan_fixture.h"

typedef weft_status_t (*plan_subs_emit_t)(weft_algo_t *algo, const weft_algo_call_t *call,
                                          const weft_algo_topo_t *view,
                                          weft_plan_builder_t *builder);

/* What plans find: algo-ring, algo-flat, and "own", an algorithm of the test. */
extern const weft_plan_finder_t plan_subs_finder;
extern plan_fixture_t plan_subs_ring;
extern weft_algo_ops_t plan_subs_own;
/* supports() of an algorithm that does whatever is asked. */
weft_status_t plan_subs_serves(weft_algo_t *algo, const weft_algo_call_t *call);

/* Set-up and tear-down of a group of tests. */
int plan_subs_open(void **state);
int plan_subs_close(void **state);

/* Plans of all ranks of one host, or NULL, and the reason is the thread's error. */
weft_plan_t **plan_subs_emit_with(plan_subs_emit_t emit, weft_coll_t coll, uint32_t n,
                                  uint32_t root, const weft_plan_finder_t *others);
weft_plan_t **plan_subs_emit(plan_subs_emit_t what, weft_coll_t coll, uint32_t n);

/* Proves them at several depths, has the reference executor run them in random orders, frees
 * them. */
void plan_subs_expect_right(weft_plan_t **plans, uint32_t n);

#endif
