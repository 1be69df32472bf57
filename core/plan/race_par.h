/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Races between the members of a PAR in a rank with one lane. Private to core/plan. */
#ifndef WEFT_PLAN_RACE_PAR_H
#define WEFT_PLAN_RACE_PAR_H

#include "core/plan/run_state.h"

/* Marks the rank in race.marks if two members of the PAR that begins use one chunk. */
void weft_race_par(weft_run_t *run, const weft_run_lane_t *lane);

#endif
