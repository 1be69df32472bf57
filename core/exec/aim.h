/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Aims: where the operands of a MOVE are, kept from one run of a program to the next. A run that
 * meets a MOVE for the first time works them out; later ones add the addresses of their buffers.
 * Only what is the same in every run is kept: MOVEs of one chunk, outside of a LOOP, in programs of
 * one pass. The thread that owns the communicator makes all calls. */
#ifndef WEFT_EXEC_AIM_H
#define WEFT_EXEC_AIM_H

#include "core/exec/port_base.h"
#include "core/plan/plan_ir.h"

/* Plans of more MOVEs keep nothing: they are for many ranks, where the messages are what costs. */
#define WEFT_AIMS_MOVES 32u

/* What a MOVE does with one chunk, apart from addresses. */
typedef struct weft_shape {
    uint64_t chunk;   /* elements */
    uint8_t sends;    /* mask of operands: destinations that are ports */
    uint8_t receives; /* sources that are ports */
    uint8_t pre_mask; /* sources that are pre-multiplied, from bit 0 */
    bool copies; /* one source, no arithmetic; not of a packed MOVE, which has several places */
    uint8_t holder,
        stable;    /* operand that holds what is sent, if WEFT_STABLE_* of the run says so */
    uint8_t packs; /* weft_shape_packs_t */
} weft_shape_t;

/* Whether a MOVE is packed (packed.h). */
typedef enum weft_shape_packs {
    WEFT_PACKS_NOTHING = 0,
    WEFT_PACKS,       /* … */
    WEFT_PACKS_COPIES /* … and has one source, no arithmetic */
} weft_shape_packs_t;

/* One MOVE of one channel. */
typedef struct weft_aim {
    weft_shape_t shape;
    uint64_t offset[2 * WEFT_MOVE_MAX]; /* by operand: from its buffer to slice 0; or its port */
    uint8_t kind[2 * WEFT_MOVE_MAX];    /* by operand: weft_operand_kind_t */
    uint8_t operands;                   /* 0: not known yet */
    bool is_near;                       /* a MOVE of near_move.h */
} weft_aim_t;

/* All zero keeps nothing. */
typedef struct weft_aims {
    weft_aim_t *aims; /* by channel, then as the plan's MOVEs; NULL: nothing is kept */
    size_t bytes;
} weft_aims_t;

/* Makes room for what runs of the plan keep. False: there is no memory. */
bool weft_aims_init(weft_aims_t *aims, const weft_plan_t *plan, uint32_t channels);
void weft_aims_fini(weft_aims_t *aims);

/* Returns the bytes that weft_aims_init() has allocated. */
static inline size_t weft_aims_bytes(const weft_aims_t *aims)
{
    return aims->bytes;
}

#endif
