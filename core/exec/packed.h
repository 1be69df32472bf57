/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packed MOVEs: one message for the same slice of all their chunks, one behind the other. Used by
 * member.c only. */
#ifndef WEFT_EXEC_PACKED_H
#define WEFT_EXEC_PACKED_H

#include "core/exec/interpreter_state.h"

/* Combines a slice of `count` elements of each chunk, out of the messages that have come and into
 * the slots of those that are to be sent. ERR_RESOURCE: run->blocked has no memory for its slot. */
weft_status_t weft_packed_combine(weft_interpreter_t *run, const weft_lane_run_t *lane,
                                  weft_member_t *m, uint64_t count);

#endif
