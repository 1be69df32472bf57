/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The MOVEs that a lane has under way. Used by the interpreter only. */
#ifndef WEFT_EXEC_MEMBER_H
#define WEFT_EXEC_MEMBER_H

#include "core/exec/interpreter_state.h"

/* Offers the places of what the lane copies from its ports in the pass that it begins, as far as
 * the proof of the plan allows (core/plan/stable.h). IN and OUT are two buffers; no vectors. */
void weft_member_offer_landings(const weft_interpreter_t *run, const weft_lane_run_t *lane);

/* Begins a MOVE of the lane, by its number in the plan. */
void weft_member_enter(const weft_interpreter_t *run, const weft_lane_run_t *lane, weft_member_t *m,
                       uint32_t number);

/* Moves the next slice. OK: done; AGAIN: run->blocked is not ready; ERR_MISMATCH; or the failure of
 * a port. */
weft_status_t weft_member_slice(weft_interpreter_t *run, const weft_lane_run_t *lane,
                                weft_member_t *m);

#endif
