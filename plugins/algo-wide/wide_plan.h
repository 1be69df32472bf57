/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans over one wide, shallow tree. Pure functions; no I/O, no state. */
#ifndef WIDE_PLAN_H
#define WIDE_PLAN_H

#include <weft/plugin/algo.h>

#define WIDE_WIDTH_MAX 64u

/* Position of a rank in the tree: ranks are numbered from the root on, and those below number v
 * are width·v + 1 … width·v + width. */
typedef struct wide_position {
    int64_t up;                    /* rank above, −1: none */
    uint32_t down[WIDE_WIDTH_MAX]; /* ranks below */
    uint32_t ndown;
} wide_position_t;

void wide_position(const weft_algo_call_t *call, uint32_t width, wide_position_t *position);

/* Each writes the plan of call->rank. */
void wide_all_reduce(const weft_algo_call_t *call, uint32_t width, weft_plan_builder_t *builder);
void wide_broadcast(const weft_algo_call_t *call, uint32_t width, weft_plan_builder_t *builder);
void wide_reduce(const weft_algo_call_t *call, uint32_t width, weft_plan_builder_t *builder);

#endif
