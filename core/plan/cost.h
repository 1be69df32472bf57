/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The cost of a plan: a message over an edge costs α + bytes·β, one that follows another without
 * waiting o + bytes·β, combining costs bytes·γ. R. Hockney's model with the reduction term of Thakur,
 * Rabenseifner and Gropp (IJHPCA 2005) and the overhead of LogGP (D. Culler et al., PPoPP 1993;
 * A. Alexandrov et al., SPAA 1995); o is a part of α. The walk computes, for one pass, the finish time
 * of every MOVE; passes overlap in a pipeline. */
#ifndef WEFT_PLAN_COST_H
#define WEFT_PLAN_COST_H

#include "core/plan/plan_ir.h"

typedef struct weft_cost_model {
    double alpha;    /* seconds per slice and edge, where the slice is waited for */
    double beta;     /* seconds per byte and edge */
    double gamma;    /* seconds per byte combined or copied */
    double overhead; /* seconds per slice and edge of any other slice */
} weft_cost_model_t;

/* Work in the units of the model. A transfer counts half at each end, so a rank that sends and
 * receives at once pays for one; a MOVE touches its sources and destinations, a copy counts one. */
typedef struct weft_cost_work {
    double hops;    /* of the edges, those whose slice is waited for: each costs α, any other o */
    double edges;   /* slice transfers: each costs β per byte */
    double touched; /* slices combined or copied: each costs γ per byte */
} weft_cost_work_t;

/* What the walk keeps of a plan. It is linear in α, β, γ, o and the slice length, so one walk prices all
 * sizes. All per chunk of one slice. */
typedef struct weft_cost {
    weft_cost_work_t fill;    /* on the longest chain of MOVEs of one pass: latency */
    weft_cost_work_t steady;  /* of the busiest rank, per pass: what each further slice costs */
    uint32_t chain;           /* MOVEs on the longest chain */
    uint32_t lanes;           /* of the rank that has most */
    uint64_t link_chunks;     /* chunks per pass over the busiest edge */
    uint64_t link_chunks_min; /* … and over the idlest that is used at all */
    uint64_t total_chunks;    /* … and over all edges together */
    uint64_t links;           /* edges: pairs of ranks in one direction with at least one queue */
} weft_cost_t;

/* The overhead in seconds of a transport that says so or, with 0, does not; at most the latency. */
double weft_cost_overhead(uint64_t latency_ns, uint64_t overhead_ns);

/* Seconds for a block of `bytes` cut in k chunks of `slices` slices of at most `slice_bytes`, in as
 * many passes as that takes: the fill of the first slice, or the work of the busiest rank if that is
 * more, then the busiest rank for all others. */
double weft_cost_time(const weft_cost_t *cost, const weft_cost_model_t *model, uint64_t bytes,
                      uint32_t k, uint32_t slices, uint64_t slice_bytes);

#endif
