/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The α–β–γ cost of a plan: a message over an edge costs α + bytes·β, combining costs bytes·γ.
 * R. Hockney's model with the reduction term of Thakur, Rabenseifner and Gropp (IJHPCA 2005). The
 * walk computes, for one pass, the finish time of every MOVE; passes overlap in a pipeline. */
#ifndef WEFT_PLAN_COST_H
#define WEFT_PLAN_COST_H

#include "core/plan/plan.h"

typedef struct weft_cost_model {
    double alpha; /* seconds per slice and edge */
    double beta;  /* seconds per byte and edge */
    double gamma; /* seconds per byte combined or copied */
} weft_cost_model_t;

/* What the walk keeps of a plan: time(pass) = latency·α + chunks·(chunk bytes)·(β + γ) + …, linear in
 * the three parameters, so that one walk prices all sizes. */
typedef struct weft_cost {
    double fill_alpha;    /* slices in sequence until the last rank has its first slice … */
    double fill_bytes;    /* … and the slice transfers in that chain */
    double steady_bytes;  /* chunk transfers per pass of the busiest rank: the pipelined part */
    double steady_moves;  /* MOVE slices per pass of the busiest rank */
    uint64_t link_chunks; /* chunks per pass over the busiest edge */
} weft_cost_t;

/* Prices one pass of the plans of all ranks. ERR_RESOURCE. */
weft_status_t weft_plan_cost(weft_plan_t *const *plans, uint32_t nranks, uint32_t slots,
                             weft_cost_t *cost);

/* Seconds for a block of `bytes` with `slices` slices of `slice_bytes` per chunk, k chunks. */
double weft_cost_time(const weft_cost_t *cost, const weft_cost_model_t *model, uint64_t bytes,
                      uint32_t k, uint32_t slices, uint64_t slice_bytes);

#endif
