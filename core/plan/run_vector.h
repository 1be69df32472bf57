/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which vector collectives a plan serves. Private to core/plan. */
#ifndef WEFT_PLAN_RUN_VECTOR_H
#define WEFT_PLAN_RUN_VECTOR_H

#include "core/plan/run_state.h"

/* Returns what the plan serves if no slice leaves its block. */
weft_vector_t weft_run_vector(const weft_run_t *run);
/* Returns the block of the job to which a chunk of this rank's buffer belongs. */
uint32_t weft_run_extent(const weft_plan_t *plan, uint32_t kind, uint32_t chunk);

#endif
