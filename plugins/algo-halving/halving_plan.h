/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plans of recursive halving and doubling. Pure functions; no I/O, no state.
 *
 * Sources: R. Rabenseifner, "Optimization of collective reduction operations", ICCS 2004 (halving,
 * then doubling, and the fold of numbers of ranks that are no power of two); R. Thakur,
 * R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in MPICH", IJHPCA
 * 19 (2005). */
#ifndef HALVING_PLAN_H
#define HALVING_PLAN_H

#include <weft/plugin/algo.h>

/* Each writes the plan of call->rank. */
void halving_all_reduce(const weft_algo_call_t *call, weft_plan_builder_t *builder);
void halving_all_gather(const weft_algo_call_t *call, weft_plan_builder_t *builder);

#endif
