/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The steps of MOVEs in the abstract run. Private to core/plan. */
#ifndef WEFT_PLAN_RUN_STEP_H
#define WEFT_PLAN_RUN_STEP_H

#include "core/plan/run_state.h"

/* The chunk that the operand starting at chunk `base` has reached. */
static inline uint32_t weft_run_chunk_now(const weft_run_t *run, const weft_run_lane_t *lane,
                                          const weft_run_member_t *member, uint32_t kind,
                                          uint32_t base)
{
    uint32_t chunk = base + member->chunk, chunks = run->ranks[lane->rank].chunks[kind];
    return chunk >= chunks ? chunk - chunks : chunk;
}

/* The cell of a chunk of OUT or TMP, for the slice in progress. */
static inline uint64_t weft_run_cell_of(const weft_run_t *run, const weft_run_lane_t *lane,
                                        const weft_run_member_t *member, uint32_t kind,
                                        uint32_t chunk)
{
    const weft_run_rank_t *rank = &run->ranks[lane->rank];
    uint64_t at = chunk;
    if (kind == WEFT_OPERAND_OUT && rank->windows != 1) {
        at += (uint64_t)lane->cursor.pass * rank->chunks[WEFT_OPERAND_OUT];
    }
    return rank->cells[kind] + at * run->slices + member->slice;
}

/* Moves as many slices as the queues allow. */
void weft_run_advance(weft_run_t *run, weft_run_lane_t *lane, weft_run_member_t *member);

#endif
