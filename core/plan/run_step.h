/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The steps of MOVEs in the abstract run. Private to core/plan. */
#ifndef WEFT_PLAN_RUN_STEP_H
#define WEFT_PLAN_RUN_STEP_H

#include "core/plan/run_state.h"

/* Moves as many slices as the queues allow. */
void weft_run_advance(weft_run_t *run, weft_run_lane_t *lane, weft_run_member_t *member);

#endif
