/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MOVEs of a draft. Private to core/plan. */
#ifndef WEFT_PLAN_MOVES_H
#define WEFT_PLAN_MOVES_H

#include "core/plan/draft.h"

/* Packs the MOVE and appends it to the plan's moves; the lane's instruction is up to the caller.
 * False after a mistake. */
bool weft_plan_keep_move(weft_plan_draft_t *draft, uint32_t lane, const weft_move_t *move);

#endif
