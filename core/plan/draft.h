/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A plan while it is being written, and the emitter that writes it. The builder and its parts
 * append to the draft; weft_plan_draft_finish() turns it into a plan. Private to core/plan. */
#ifndef WEFT_PLAN_DRAFT_H
#define WEFT_PLAN_DRAFT_H

#include <setjmp.h>

#include "core/plan/plan_ir.h"
#include "core/plan/well_formed.h"

#define WEFT_PLAN_DEPTH 8 /* plans of plans: one for each level that a job may have, and two */

/* A sub-plan that waits for the builder's call(). */
typedef struct weft_plan_part {
    weft_plan_t *plan; /* NULL: this rank is not in the group */
    uint32_t *group;   /* ranks of the job, by rank in the sub-plan */
    bool partial;      /* no MOVE of it is FINAL */
    char algo[64];
} weft_plan_part_t;

/* An algorithm that emits, and what it may use. */
typedef struct weft_plan_emitter {
    const weft_algo_ops_t *ops;
    weft_algo_t *algo;
    const struct weft_plan_finder *finder; /* sub.h; may be NULL */
    const weft_algo_topo_t *view;
    uint32_t depth; /* 0: not a sub-plan */
    /* The builder's; sub() emits through it. */
    weft_status_t (*emit)(const struct weft_plan_emitter *emitter, const weft_algo_call_t *call,
                          weft_plan_t **plan_p);
} weft_plan_emitter_t;

typedef struct weft_plan_draft {
    weft_plan_builder_t builder; /* builder.core points back here */
    weft_plan_t *plan;
    const weft_plan_emitter_t *emitter; /* NULL for a text */
    weft_plan_part_t *parts;
    uint32_t nparts;
    weft_status_t status; /* of the first mistake */
    bool has_grid;
    weft_plan_spot_t spot; /* of what weft_plan_draft_finish() refuses */
    uint32_t ignored;      /* calls of the builder after the first mistake */
    /* Where an emitter that does not end is left; its own memory is lost. */
    jmp_buf out;
    bool may_leave; /* `out` is set */
    char why[512];
} weft_plan_draft_t;

/* Entries of one list of a plan, such as the instructions of a lane. A ring of 1,024 ranks that
 * passes on block by block has a million. */
#define WEFT_PLAN_ENTRIES_MOST (1u << 22)

/* Allocates an empty plan; its coll, nranks, rank and root are those of `call`. ERR_RESOURCE. */
weft_status_t weft_plan_draft_init(weft_plan_draft_t *draft, const weft_algo_call_t *call);
/* Ends all lanes, checks the plan and hands it to the caller. ERR_PLAN, ERR_RESOURCE. */
weft_status_t weft_plan_draft_finish(weft_plan_draft_t *draft, weft_plan_t **plan_p);
void weft_plan_draft_fini(weft_plan_draft_t *draft);

/* Remembers the first mistake; later ones are dropped. */
void weft_plan_mistake(weft_plan_draft_t *draft, weft_status_t status, const char *format, ...)
    WEFT_PRINTF(3, 4);
/* Returns whether a mistake was made, so that what is said now is dropped. Does not return if the
 * emitter has gone on for too long after it. */
bool weft_plan_is_dropped(weft_plan_draft_t *draft);
/* Returns `items` with room for one more item behind `used`; NULL after a mistake. */
void *weft_plan_grown(weft_plan_draft_t *draft, void *items, uint32_t used, size_t size);
/* Appends an instruction to the lane. Returns its pc; 0 after a mistake. */
uint32_t weft_plan_append(weft_plan_draft_t *draft, uint32_t lane, weft_code_t code);
/* Packs the MOVE and appends it to the plan's moves; the lane's instruction is up to the caller.
 * False after a mistake. */
bool weft_plan_keep_move(weft_plan_draft_t *draft, uint32_t lane, const weft_move_t *move);
/* Returns the pc of the lane's LOOP that has no END yet, or −1. */
int64_t weft_plan_open_loop(const weft_plan_lane_t *lane);
/* True if the next instruction of the lane lies inside a LOOP or a PAR. */
bool weft_plan_lane_is_open(const weft_plan_lane_t *lane);

#endif
