/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The lane of a rank and its ports, common to all plans of this plugin. */
#ifndef HALVING_LANE_H
#define HALVING_LANE_H

#include <weft/plugin/algo.h>

#include "halving_steps.h"

#define HALVING_STEPS_MAX 32 /* of 2^32 ranks */

/* The state of a plan that is being written. */
typedef struct halving {
    weft_plan_builder_t *builder;
    uint32_t lane, rank;
    halving_job_t job;
    uint32_t position;    /* the unit of this rank */
    uint32_t first, twin; /* the pair; twin is n for a unit of one rank */
    weft_operand_t to[HALVING_STEPS_MAX], from[HALVING_STEPS_MAX]; /* partner of each step */
    weft_operand_t to_twin, from_twin;                             /* between the two of a pair */
} halving_t;

typedef halving_step_t (*halving_fn_t)(const halving_job_t *job, uint32_t position, uint32_t i);

/* Opens the lane with ports to the partners of all steps and to the other rank of the pair. */
void halving_init(halving_t *h, const weft_algo_call_t *call, weft_plan_builder_t *builder,
                  halving_fn_t step);

weft_operand_t halving_port(const halving_t *h, uint32_t peer, uint32_t channel, uint32_t sends);
int halving_has_twin(const halving_t *h);
/* True for the second rank of a pair, which only talks to the first. */
int halving_is_twin(const halving_t *h);
void halving_copy(const halving_t *h, weft_operand_t dst, weft_operand_t src, uint32_t cnt);
void halving_exchange(const halving_t *h, const weft_move_t *give, const weft_move_t *take);

#endif
