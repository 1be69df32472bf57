/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans in one step: every rank talks to every other rank. Pure functions; no I/O, no state. This
 * is the direct exchange that R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective
 * communication operations in MPICH", IJHPCA 19 (2005), find best for short messages. */
#ifndef FLAT_PLAN_H
#define FLAT_PLAN_H

#include <weft/plugin/algo.h>

#define FLAT_RANKS_MAX 256 /* bounds the table of ports of one plan */

/* MOVEs that fold n contributions: four at first, then the accumulator and three more. */
uint32_t flat_folds(uint32_t n);

/* Each writes the plan of call->rank. */
void flat_all_reduce(const weft_algo_call_t *call, weft_plan_builder_t *builder);
void flat_reduce_scatter(const weft_algo_call_t *call, weft_plan_builder_t *builder);
void flat_all_gather(const weft_algo_call_t *call, weft_plan_builder_t *builder);
void flat_broadcast(const weft_algo_call_t *call, weft_plan_builder_t *builder);
void flat_reduce(const weft_algo_call_t *call, weft_plan_builder_t *builder);

#endif
