/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A reference executor: all ranks of a plan in one thread with real (64-bit wrapping) sums, lanes
 * chosen at random. It shares no code with the verifier and so is its oracle. In reductions a read
 * of IN multiplies by 5 (a premultiplier), FINAL by 3. */
#ifndef TESTS_SUPPORT_PLAN_REFERENCE_H
#define TESTS_SUPPORT_PLAN_REFERENCE_H

#include "core/plan/plan_ir.h"

typedef enum plan_outcome { PLAN_RIGHT, PLAN_WRONG, PLAN_STUCK } plan_outcome_t;

/* One pass out of place in the interleaving that `seed` gives. */
plan_outcome_t plan_reference_run(weft_plan_t *const *plans, uint32_t nranks, uint32_t slots,
                                  uint32_t slices, uint64_t seed);
/* … with IN and OUT one buffer as the collective's in-place form says. */
plan_outcome_t plan_reference_run_in_place(weft_plan_t *const *plans, uint32_t nranks,
                                           uint32_t slots, uint32_t slices, uint64_t seed);

#endif
