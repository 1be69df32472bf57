/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reduce-scatter by recursive halving. The blocks a rank keeps are folded in TMP; the second rank
 * of a pair sends its blocks on two channels, those that the first gives away and those that it
 * keeps, so that both sides of the first exchange take them in as they go and no step is added. */
#ifndef WEFT_ALGO_HALVING_HALVING_SCATTER_H
#define WEFT_ALGO_HALVING_HALVING_SCATTER_H

#include "halving_plan.h"

void halving_reduce_scatter(const weft_algo_call_t *call, weft_plan_builder_t *builder);

#endif
