/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Arithmetic of the ring: the neighbour of a rank, and the chunk that moves at each step. Pure
 * functions, and the plans made of them; no I/O, no state.
 *
 * Source: P. Patarasuk and X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
 * workstations", J. Parallel Distrib. Comput. 69 (2009). The chain forms of broadcast and reduce
 * are the pipelines of J. Watts and R. van de Geijn, "A pipelined broadcast for multidimensional
 * meshes", Parallel Process. Lett. 5 (1995). */
#ifndef RING_PLAN_H
#define RING_PLAN_H

#include <weft/plugin/algo.h>

/* The rank `distance` positions after `rank` on a ring of n; distance may be negative. */
uint32_t ring_rank(uint32_t rank, int64_t distance, uint32_t n);

/* The chunk that `rank` sends at step k of a reduce-scatter or all-gather phase in which it starts
 * with chunk `first`: each step goes one chunk back, as the chunk that just came in goes on. */
uint32_t ring_chunk(uint32_t first, uint32_t step, uint32_t n);

/* Place of `rank` in the chain that starts at `head`: 0 … n−1. */
uint32_t ring_position(uint32_t rank, uint32_t head, uint32_t n);

/* What is asked for. */
typedef struct ring_job {
    const weft_algo_call_t *call;
    const weft_algo_topo_t *topo;
    weft_plan_builder_t *builder;
    uint32_t most; /* rings of the topology */
    uint32_t ways; /* 2: each also backwards */
} ring_job_t;

/* Each writes the plan of call->rank. */
void ring_all_reduce(const ring_job_t *job);
void ring_reduce_scatter(const ring_job_t *job);
void ring_all_gather(const ring_job_t *job);
void ring_broadcast(const ring_job_t *job);
void ring_reduce(const ring_job_t *job);

#endif
