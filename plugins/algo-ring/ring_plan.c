/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The five plans. Every ring has one lane, one port to the next rank and one from the previous one.
 * Without rings of the topology there is one, on which ranks stand in the order in which neighbours
 * are near, so it enters each host once. With R rings each carries every R-th chunk, on a channel
 * of its own; so do rings that are run backwards as well. In what follows p is the position of this
 * rank on a ring and at(p) the rank at a position; where ranks are in order the two are equal.
 * Equal steps are a LOOP, so a plan has the same size for 3 ranks and for 10,000, and grows with
 * the hosts where ranks are dealt to them in turn.
 *
 * Chains of two or more steps never hang as long as a chunk has fewer slices than a queue has
 * slots: in a ring in which every rank first sends a whole chunk, one free slot must remain. */
#include "ring_plan.h"

#include <stdbool.h>

uint32_t ring_rank(uint32_t rank, int64_t distance, uint32_t n)
{
    int64_t at = ((int64_t)rank + distance) % (int64_t)n;
    return (uint32_t)(at < 0 ? at + (int64_t)n : at);
}

uint32_t ring_chunk(uint32_t first, uint32_t step, uint32_t n)
{
    return ring_rank(first, -(int64_t)step, n);
}

uint32_t ring_position(uint32_t rank, uint32_t head, uint32_t n)
{
    return ring_rank(rank, -(int64_t)head, n);
}

/* The state of a plan that is being written. */
typedef struct ring {
    const weft_algo_topo_t *topo;
    weft_plan_builder_t *builder;
    uint32_t n, rings; /* ranks; rings that share the data, those backwards counted */
    uint32_t ways;     /* of each order: 2 if it is also run backwards */
    uint32_t ring, position, lane;
    weft_operand_t next, prev; /* kind NONE at the ends of a chain */
} ring_t;

/* A ring backwards has its positions counted from the other end. */
static uint32_t ring_turn(const ring_t *ring, uint32_t position)
{
    return ring->ring % ring->ways == 0 ? position : ring->n - 1 - position;
}

static uint32_t ring_position_of(const ring_t *ring, uint32_t rank)
{
    return ring_turn(ring, weft_algo_topo_ring_position(ring->topo, ring->ring / ring->ways, rank));
}

/* The rank `distance` positions after this one. */
static uint32_t ring_at(const ring_t *ring, int64_t distance)
{
    uint32_t at = ring_rank(ring->position, distance, ring->n);
    return weft_algo_topo_ring_rank(ring->topo, ring->ring / ring->ways, ring_turn(ring, at));
}

/* The part of this ring in a chunk or block; `step` is how many the next iteration is further. */
static weft_operand_t ring_in(const ring_t *ring, uint32_t chunk, int32_t step)
{
    return weft_in(chunk * ring->rings + ring->ring, step * (int32_t)ring->rings);
}

static weft_operand_t ring_out(const ring_t *ring, uint32_t chunk, int32_t step)
{
    return weft_out(chunk * ring->rings + ring->ring, step * (int32_t)ring->rings);
}

/* Begins a plan of `chunks` chunks to a block and ring. */
static ring_t ring_plan_begin(const ring_job_t *job, uint32_t chunks)
{
    uint32_t rings = weft_algo_topo_nrings(job->topo);
    ring_t ring = {.topo = job->topo, .builder = job->builder, .n = job->call->nranks};
    ring.ways = job->ways;
    ring.rings = (rings < job->most ? rings : job->most) * ring.ways;
    job->builder->grid(job->builder, chunks * ring.rings, 0);
    return ring;
}

/* A port to the rank `distance` positions after this one. Rings that the topology found have
 * NICs. */
static weft_operand_t ring_plan_port(const ring_t *ring, int64_t distance, uint32_t sends)
{
    weft_plan_builder_t *b = ring->builder;
    uint32_t port = b->port(b, ring->lane, ring_at(ring, distance), ring->ring, sends);
    if (weft_algo_topo_has_rings(ring->topo) && ring->topo->nrings > 0) {
        weft_plan_port_along(b, port, ring->ring / ring->ways,
                             ring->ring % ring->ways != 0 ? WEFT_PLAN_WAY_BACK : 0);
    }
    return weft_port(port);
}

static void ring_plan_open_next(ring_t *ring)
{
    ring->next = ring_plan_port(ring, 1, 1);
}

static void ring_plan_open_prev(ring_t *ring)
{
    ring->prev = ring_plan_port(ring, -1, 0);
}

static void ring_plan_new_lane(ring_t *ring, const ring_job_t *job)
{
    ring->lane = ring->builder->lane(ring->builder);
    ring->position = ring_position_of(ring, job->call->rank);
    ring->next = ring->prev = (weft_operand_t){.kind = WEFT_OPERAND_NONE};
}

static void ring_plan_closed(ring_t *ring, const ring_job_t *job)
{
    ring_plan_new_lane(ring, job);
    ring_plan_open_next(ring);
    ring_plan_open_prev(ring);
}

/* A chain that starts `distance` positions after the root. Returns this rank's place in it: place 0
 * only sends, place n−1 only receives. */
static uint32_t ring_plan_chain(ring_t *ring, const ring_job_t *job, int64_t distance)
{
    uint32_t n = ring->n;
    ring_plan_new_lane(ring, job);
    uint32_t head = ring_rank(ring_position_of(ring, job->call->root), distance, n);
    uint32_t place = ring_position(ring->position, head, n);
    if (place + 1 < n) {
        ring_plan_open_next(ring);
    }
    if (place > 0) {
        ring_plan_open_prev(ring);
    }
    return place;
}

/* dst0, dst1 ← src0, src1; an operand of kind NONE is left out. */
static void ring_move(const ring_t *ring, const weft_operand_t dst[2], const weft_operand_t src[2],
                      uint32_t flags)
{
    weft_move_t move = {.flags = flags};
    for (int i = 0; i < 2; i++) {
        if (dst[i].kind != WEFT_OPERAND_NONE) {
            move.dst[move.ndst++] = dst[i];
        }
        if (src[i].kind != WEFT_OPERAND_NONE) {
            move.src[move.nsrc++] = src[i];
        }
    }
    ring->builder->move(ring->builder, ring->lane, &move);
}

static void ring_copy(const ring_t *ring, weft_operand_t dst, weft_operand_t src)
{
    ring_move(ring, (weft_operand_t[2]){dst}, (weft_operand_t[2]){src}, 0);
}

/* `times` equal steps; the strides of `dst` and `src` advance them. */
static void ring_steps(const ring_t *ring, uint32_t times, const weft_operand_t dst[2],
                       const weft_operand_t src[2])
{
    if (times == 0) {
        return;
    }
    ring->builder->loop(ring->builder, ring->lane, times);
    ring_move(ring, dst, src, 0);
    ring->builder->end(ring->builder, ring->lane);
}

/* From the block of the rank `distance` positions after this one to that of the rank before it. */
static int32_t ring_plan_stride(const ring_t *ring, int64_t distance)
{
    uint32_t n = ring->n;
    uint32_t up = (ring_at(ring, distance - 1) + n - ring_at(ring, distance)) % n;
    return 2 * up > n ? -(int32_t)(n - up) : (int32_t)up;
}

/* Steps over the blocks of the ranks that are `first`, `first`−1, … positions after this one.
 * Blocks at equal distances are one LOOP. `block` is the operand of `dst` or `src` that is the
 * block. */
static void ring_steps_over(const ring_t *ring, int64_t first, uint32_t times,
                            weft_operand_t dst[2], weft_operand_t src[2], weft_operand_t *block)
{
    while (times > 0) {
        uint32_t run = 1;
        int32_t step = ring_plan_stride(ring, first);
        block->index = ring_at(ring, first) * ring->rings + ring->ring;
        block->stride = step * (int32_t)ring->rings;
        while (run < times && ring_plan_stride(ring, first - run + 1) == step) {
            run++;
        }
        ring_steps(ring, run, dst, src);
        times -= run;
        first -= run;
    }
}

/* Chunks are numbered by positions. Invariant: after step s (1 … n−1) of the first half position p
 * holds, or has just sent, chunk p−s combined over positions p−s … p; so after step n−1 chunk p+1
 * is complete here. After step s of the second half position p has the results of chunks p+1, p, …
 * p+1−s. Cost: 2n−1 MOVEs and 2(n−1) messages of 1/n each, the least that any all-reduce can
 * send. */
void ring_all_reduce(const ring_job_t *job)
{
    uint32_t n = job->call->nranks;
    ring_t ring = ring_plan_begin(job, n);
    for (; ring.ring < ring.rings; ring.ring++) {
        ring_plan_closed(&ring, job);
        uint32_t p = ring.position, own = ring_rank(p, 1, n);
        ring_copy(&ring, ring.next, ring_in(&ring, p, 0));
        ring_steps(&ring, n - 2, (weft_operand_t[2]){ring.next},
                   (weft_operand_t[2]){ring.prev, ring_in(&ring, ring_chunk(p, 1, n), -1)});
        ring_move(&ring, (weft_operand_t[2]){ring_out(&ring, own, 0), ring.next},
                  (weft_operand_t[2]){ring.prev, ring_in(&ring, own, 0)}, WEFT_MOVE_FINAL);
        ring_steps(&ring, n - 2, (weft_operand_t[2]){ring_out(&ring, p, -1), ring.next},
                   (weft_operand_t[2]){ring.prev});
        ring_copy(&ring, ring_out(&ring, ring_chunk(p, n - 2, n), 0), ring.prev);
    }
}

/* Invariant: after step s position p has sent the block of at(p−s) combined over positions p−s+1 …
 * p; the last step completes this rank's block here. Cost: n MOVEs, n−1 messages of one block. */
void ring_reduce_scatter(const ring_job_t *job)
{
    ring_t ring = ring_plan_begin(job, 1);
    for (; ring.ring < ring.rings; ring.ring++) {
        ring_plan_closed(&ring, job);
        weft_operand_t dst[2] = {ring.next}, src[2] = {ring.prev, ring_in(&ring, 0, 0)};
        ring_copy(&ring, ring.next, ring_in(&ring, ring_at(&ring, -1), 0));
        ring_steps_over(&ring, -2, ring.n - 2, dst, src, &src[1]);
        ring_move(&ring, (weft_operand_t[2]){ring_out(&ring, 0, 0)},
                  (weft_operand_t[2]){ring.prev, ring_in(&ring, job->call->rank, 0)},
                  WEFT_MOVE_FINAL);
    }
}

/* Invariant: after step s position p has the blocks of at(p), at(p−1), … at(p−s). Cost: n MOVEs,
 * n−1 messages of one block. */
void ring_all_gather(const ring_job_t *job)
{
    ring_t ring = ring_plan_begin(job, 1);
    for (; ring.ring < ring.rings; ring.ring++) {
        ring_plan_closed(&ring, job);
        weft_operand_t dst[2] = {ring_out(&ring, 0, 0), ring.next}, src[2] = {ring.prev};
        ring_move(&ring, (weft_operand_t[2]){ring_out(&ring, job->call->rank, 0), ring.next},
                  (weft_operand_t[2]){ring_in(&ring, 0, 0)}, 0);
        ring_steps_over(&ring, -1, ring.n - 2, dst, src, &dst[0]);
        ring_copy(&ring, ring_out(&ring, ring_at(&ring, 1), 0), ring.prev);
    }
}

/* Invariant: a slice that place i of the chain has passed on is in OUT of places 0 … i. Cost: one
 * MOVE per rank; the last rank is n−1 slices behind the root, whatever the size. */
void ring_broadcast(const ring_job_t *job)
{
    ring_t ring = ring_plan_begin(job, 1);
    for (; ring.ring < ring.rings; ring.ring++) {
        uint32_t place = ring_plan_chain(&ring, job, 0);
        ring_move(&ring, (weft_operand_t[2]){ring_out(&ring, 0, 0), ring.next},
                  (weft_operand_t[2]){place == 0 ? ring_in(&ring, 0, 0) : ring.prev}, 0);
    }
}

/* The chain ends at the root. Invariant: what place i sends is combined over places 0 … i. Cost:
 * one MOVE per rank, as broadcast. */
void ring_reduce(const ring_job_t *job)
{
    ring_t ring = ring_plan_begin(job, 1);
    for (; ring.ring < ring.rings; ring.ring++) {
        uint32_t place = ring_plan_chain(&ring, job, 1);
        bool last = place == ring.n - 1;
        ring_move(&ring, (weft_operand_t[2]){last ? ring_out(&ring, 0, 0) : ring.next},
                  (weft_operand_t[2]){ring.prev, ring_in(&ring, 0, 0)}, last ? WEFT_MOVE_FINAL : 0);
    }
}
