/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A cursor walks one lane of a plan: LOOP and END, the MOVEs of a PAR, barriers, and waits between
 * lanes. It knows nothing of data, time or threads. The verifier, the timeline and the simulator
 * each run the MOVEs in their own way and use the cursor for everything else. */
#ifndef WEFT_PLAN_CURSOR_H
#define WEFT_PLAN_CURSOR_H

#include "core/plan/plan_ir.h"

typedef struct weft_cursor {
    const weft_code_t *code; /* of the lane */
    uint32_t *finished; /* by pc: passes in which it has finished; NULL: no lane waits for it */
    uint32_t pc;
    uint32_t iteration; /* of the LOOP around pc */
    uint32_t times;     /* iterations of that LOOP, 0 outside of one */
    uint32_t pass;      /* passes completed */
    uint64_t bar;       /* mask of the BAR at which the lane waits, 0: none */
} weft_cursor_t;

/* The cursors of all lanes of a rank, which lie `stride` bytes apart. */
typedef struct weft_cursors {
    weft_cursor_t *first;
    size_t stride;
    uint32_t count;
} weft_cursors_t;

static inline weft_cursor_t *weft_cursor_of(const weft_cursors_t *all, uint32_t lane)
{
    return (weft_cursor_t *)(void *)((char *)all->first + all->stride * lane);
}

/* Steps over LOOPs and ENDs. Returns the instruction at pc: MOVE, PAR, BAR or STOP. There is one in
 * each LOOP (well_formed.c). */
static inline const weft_code_t *weft_cursor_seek(weft_cursor_t *cursor)
{
    const weft_code_t *code = &cursor->code[cursor->pc];
    for (;; code = &cursor->code[cursor->pc]) {
        if (code->opcode == WEFT_CODE_LOOP) {
            cursor->iteration = 0;
            cursor->times = code->n;
            cursor->pc++;
        } else if (code->opcode != WEFT_CODE_END) {
            return code;
        } else if (++cursor->iteration < cursor->times) {
            cursor->pc = code->mate + 1;
        } else {
            cursor->iteration = cursor->times = 0;
            cursor->pc++;
        }
    }
}

/* Returns the number of MOVEs of a MOVE or PAR; those of a PAR follow it. */
static inline uint32_t weft_cursor_moves(const weft_code_t *code)
{
    return code->opcode == WEFT_CODE_PAR ? code->n : 1;
}

/* Steps over the MOVE, PAR or BAR at pc. */
static inline void weft_cursor_next(weft_cursor_t *cursor)
{
    const weft_code_t *code = &cursor->code[cursor->pc];
    cursor->pc += code->opcode == WEFT_CODE_PAR ? code->n + 1 : 1;
}

/* At STOP: back to the first instruction, in the next pass. */
static inline void weft_cursor_end_pass(weft_cursor_t *cursor)
{
    cursor->pc = 0;
    cursor->pass++;
}

/* Notes that instruction `pc` has run. Inside a LOOP only the last iteration finishes it. Returns
 * true if lanes that wait for it may go on. */
static inline bool weft_cursor_finish(weft_cursor_t *cursor, uint32_t pc)
{
    if (cursor->finished == NULL || (cursor->times != 0 && cursor->iteration + 1 < cursor->times)) {
        return false;
    }
    cursor->finished[pc] = cursor->pass + 1;
    return true;
}

/* True if all instructions for which the MOVE waits have finished in this pass. */
static inline bool weft_cursor_waits_over(const weft_cursors_t *all, const weft_cursor_t *cursor,
                                          const weft_plan_view_t *move)
{
    for (uint32_t i = 0; i < move->nafter; i++) {
        const weft_after_t *after = &move->after[i];
        if (weft_cursor_of(all, after->lane)->finished[after->pc] <= cursor->pass) {
            return false;
        }
    }
    return true;
}

/* The lane arrives at a BAR. Returns true if it is the last of the lanes in `mask`: none of them
 * waits any longer, and the caller steps each of them over its BAR. A lane may meet different lanes
 * at different barriers, so a barrier is known by its mask. */
static inline bool weft_cursor_arrive(const weft_cursors_t *all, weft_cursor_t *cursor,
                                      uint64_t mask)
{
    cursor->bar = mask;
    for (uint32_t lane = 0; lane < all->count; lane++) {
        if ((mask >> lane & 1) != 0 && weft_cursor_of(all, lane)->bar != mask) {
            return false;
        }
    }
    for (uint32_t lane = 0; lane < all->count; lane++) {
        if ((mask >> lane & 1) != 0) {
            weft_cursor_of(all, lane)->bar = 0;
        }
    }
    return true;
}

/* Returns the MOVEs of the widest PAR of the lane, 0 if it has none. */
static inline uint32_t weft_cursor_widest_par(const weft_plan_lane_t *lane)
{
    uint32_t width = 0;
    for (uint32_t pc = 0; pc < lane->ncode; pc++) {
        const weft_code_t *code = &lane->code[pc];
        width = code->opcode == WEFT_CODE_PAR && code->n > width ? code->n : width;
    }
    return width;
}

/* Returns the most MOVEs that the lane runs at the same time. */
static inline uint32_t weft_cursor_width(const weft_plan_lane_t *lane)
{
    uint32_t par = weft_cursor_widest_par(lane);
    return par > 1 ? par : 1;
}

#endif
