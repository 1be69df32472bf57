/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parts of the two-level plans: ports and steps inside a host, and the sub-plan between
 * hosts. */
#ifndef HIER_LEVEL_H
#define HIER_LEVEL_H

#include "layout.h"

enum { CHANNEL_UP = 0, CHANNEL_DOWN = 1, CHANNEL_BETWEEN = 2 };

/* The input of a plan. */
typedef struct hier_job {
    const weft_algo_call_t *call;
    const hier_layout_t *layout;
    weft_plan_builder_t *builder;
    const char *between; /* the algorithm between hosts */
    uint32_t *to, *from; /* memory for the ports of a phase, by position on this rank's host */
    uint32_t *down;      /* as these, where a plan needs a third */
    uint32_t *hosts;     /* memory for ports by host */
    uint32_t *waits;     /* memory for two pcs per rank */
} hier_job_t;

typedef struct hier {
    const hier_job_t *job;
    const hier_layout_t *layout;
    weft_plan_builder_t *builder;
    uint32_t k;    /* chunks of a piece: of the sub-plan's block */
    uint32_t lane; /* the lane that is being written */
} hier_t;

/* Begins: has the algorithm between hosts write its plan for `group`, and learns k. Returns the
 * number of the sub-plan. */
uint32_t hier_ask_between(hier_t *hier, const hier_job_t *job, const uint32_t *group,
                          uint32_t root_position, uint32_t *tmp_p);

void hier_new_lane(hier_t *hier);
/* `count` new lanes, of which the first is written next, that begin when all that was written in
 * this one is done. */
void hier_join_lanes(hier_t *hier, uint32_t count);

/* Ports to (`sends`) or from one position on this host, or the first `count` of them but this
 * rank's. */
void hier_port(const hier_t *hier, uint32_t position, uint32_t channel, uint32_t sends);
void hier_ports(const hier_t *hier, uint32_t count, uint32_t channel, uint32_t sends);
weft_operand_t hier_to(const hier_t *hier, uint32_t position);
weft_operand_t hier_from(const hier_t *hier, uint32_t position);

void hier_add(const hier_t *hier, const weft_move_t *move);
void hier_copy(const hier_t *hier, weft_operand_t dst, weft_operand_t src);
/* Makes a PAR of the next MOVEs, of which `left` are to come; returns how many it holds. */
uint32_t hier_together(const hier_t *hier, uint32_t left);

/* The steps between these two calls are repeated for each of the k chunks of a piece. */
void hier_chunks_begin(const hier_t *hier);
void hier_chunks_end(const hier_t *hier);
/* The current chunk of a piece. */
weft_operand_t hier_in_of(const hier_t *hier, uint32_t piece);
weft_operand_t hier_out_of(const hier_t *hier, uint32_t piece);
weft_operand_t hier_tmp_of(const hier_t *hier, uint32_t piece);

/* result ← own and what the others of the host send, in rank order; `sum` holds the parts. */
void hier_fold(const hier_t *hier, weft_operand_t own, weft_operand_t sum, weft_operand_t result);
/* `src` to `own`, unless its kind is NONE, and to all others of the host, four destinations to a
 * MOVE. */
void hier_spread(const hier_t *hier, weft_operand_t src, weft_operand_t own);

#endif
