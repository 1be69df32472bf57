/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MOVEs of the smallest calls: one slice, with payloads in the headers of slots or, in memory that
 * ranks share, in the areas for small payloads. An aim says all about them, so they need no member.
 * Used by the interpreter only. */
#ifndef WEFT_EXEC_NEAR_MOVE_H
#define WEFT_EXEC_NEAR_MOVE_H

#include "core/exec/interpreter_state.h"

/* Returns whether a MOVE with that aim is one of them, in every run that keeps aims. The plan's
 * MOVEs must not wait for each other (`after`). */
bool weft_near_move_is_one(const weft_interpreter_t *run, const weft_plan_move_t *move,
                           const weft_aim_t *aim);

/* Does such a MOVE. Where the run has looks left, it looks for a message that comes by memory, with
 * a pause after each look. OK; AGAIN: run->blocked is not ready; ERR_MISMATCH; or the failure of a
 * port. *done_p: it has been done, also if a port failed at its end, and is not done again by a run
 * that goes on. */
weft_status_t weft_near_move(weft_interpreter_t *run, const weft_plan_move_t *move,
                             const weft_aim_t *aim, bool *done_p);

#endif
