/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A plan while it is being written: the builder that emitters see, and what the core keeps behind it.
 * Private to core/plan; users call weft_plan_emit() or weft_plan_parse(). */
#ifndef WEFT_PLAN_BUILDER_H
#define WEFT_PLAN_BUILDER_H

#include "core/plan/plan_ir.h"

#define WEFT_PLAN_DEPTH 4 /* plans of plans */

/* A sub-plan, to be placed by call(). */
typedef struct weft_plan_part {
    weft_plan_t *plan; /* NULL: this rank is not in the group */
    uint32_t *group;   /* ranks by place */
    bool partial;      /* no MOVE of it is FINAL */
    char algo[64];
} weft_plan_part_t;

/* Who emits, and what for. */
typedef struct weft_plan_emitter {
    const weft_algo_ops_t *ops;
    weft_algo_t *algo;
    const weft_plan_finder_t *finder; /* may be NULL */
    const weft_algo_topo_t *view;
    uint32_t depth; /* 0: not a sub-plan */
} weft_plan_emitter_t;

typedef struct weft_plan_draft {
    weft_plan_builder_t builder; /* builder.core points back here */
    weft_plan_t *plan;
    const weft_plan_emitter_t *source; /* NULL for a text */
    weft_plan_part_t *parts;
    uint32_t nparts;
    weft_status_t status; /* of the first mistake */
    bool has_grid;
    char why[512];
} weft_plan_draft_t;

/* coll, nranks, rank and root of the plan are set by the caller through `call`. ERR_RESOURCE. */
weft_status_t weft_plan_draft_init(weft_plan_draft_t *draft, const weft_algo_call_t *call);
/* Closes the lanes, checks the plan and hands it over. ERR_PLAN, ERR_RESOURCE. */
weft_status_t weft_plan_draft_finish(weft_plan_draft_t *draft, weft_plan_t **plan_p);
void weft_plan_draft_fini(weft_plan_draft_t *draft);
/* weft_plan_emit() with its place in a plan of plans. */
weft_status_t weft_plan_emit_from(const weft_plan_emitter_t *source, const weft_algo_call_t *call,
                                  weft_plan_t **plan_p);

/* Remembers the first mistake. */
void weft_plan_mistake(weft_plan_draft_t *draft, weft_status_t status, const char *format, ...)
    WEFT_PRINTF(3, 4);
/* Room for one more item behind `used`; NULL after a mistake. */
void *weft_plan_grown(weft_plan_draft_t *draft, void *items, uint32_t used, size_t size);
/* moves.c: appends to the plan's moves; 0 after a mistake. */
bool weft_plan_keep_move(weft_plan_draft_t *draft, uint32_t lane, const weft_move_t *move);
/* True if the lane stands inside a LOOP or a PAR. */
bool weft_plan_lane_is_open(const weft_plan_lane_t *lane);

/* sub.c and splice.c: the builder's sub() and call(). */
uint32_t weft_plan_build_sub(weft_plan_builder_t *builder, const weft_plan_sub_t *sub,
                             uint32_t *k_p, uint32_t *tmp_p);
void weft_plan_build_call(weft_plan_builder_t *builder, uint32_t lane, uint32_t sub,
                          weft_operand_t in, weft_operand_t out, uint32_t tmp, uint32_t channel);

/* One instruction as text, without a newline. */
void weft_plan_print_code(const weft_plan_t *plan, const weft_code_t *code, FILE *out);

#endif
