/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The builder's call(). Private to core/plan. */
#ifndef WEFT_PLAN_SPLICE_H
#define WEFT_PLAN_SPLICE_H

#include "core/plan/draft.h"

/* Writes a sub-plan into the plan; the arguments are those of weft_plan_builder_t.call. */
void weft_plan_build_call(weft_plan_builder_t *builder, uint32_t lane, uint32_t sub,
                          weft_operand_t in, weft_operand_t out, uint32_t tmp, uint32_t channel);

#endif
