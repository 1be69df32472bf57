/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MOVEs under way. Used by the interpreter of lanes only. */
#ifndef WEFT_EXEC_MEMBER_H
#define WEFT_EXEC_MEMBER_H

#include "core/exec/lanes.h"

/* Begins a MOVE of the lane. */
void weft_member_enter(const weft_lanes_t *run, const weft_lane_run_t *lane, weft_member_t *m,
                       const weft_plan_move_t *move);

/* Moves the next slice. OK: done; AGAIN: a port is not ready, run->blocked; or a failure. */
weft_status_t weft_member_slice(weft_lanes_t *run, const weft_lane_run_t *lane, weft_member_t *m);

#endif
