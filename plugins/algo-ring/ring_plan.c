/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The five plans. Every plan has one lane, one port to the next rank and one from the previous one.
 * Equal steps are a LOOP, so a plan has the same size for 3 ranks and for 10,000.
 *
 * Chains of two or more steps never hang as long as a chunk has fewer slices than a queue has slots:
 * in a ring in which every rank first sends a whole chunk, one free slot must remain. */
#include "ring_plan.h"

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
    weft_plan_builder_t *builder;
    uint32_t lane;
    weft_operand_t next, prev; /* kind NONE at the ends of a chain */
} ring_t;

static void ring_init(ring_t *ring, const weft_algo_call_t *call, weft_plan_builder_t *builder,
                      uint32_t k)
{
    uint32_t n = call->nranks;
    builder->grid(builder, k, 0);
    ring->builder = builder;
    ring->lane = builder->lane(builder);
    uint32_t next = ring_rank(call->rank, 1, n), prev = ring_rank(call->rank, -1, n);
    ring->next = weft_port(builder->port(builder, ring->lane, next, 0, 1));
    ring->prev = weft_port(builder->port(builder, ring->lane, prev, 0, 0));
}

/* A chain: position 0 only sends, position n−1 only receives. */
static void ring_plan_chain_init(ring_t *ring, const weft_algo_call_t *call,
                                 weft_plan_builder_t *builder, uint32_t position)
{
    uint32_t n = call->nranks;
    *ring = (ring_t){.builder = builder};
    builder->grid(builder, 1, 0);
    ring->lane = builder->lane(builder);
    if (position + 1 < n) {
        uint32_t next = ring_rank(call->rank, 1, n);
        ring->next = weft_port(builder->port(builder, ring->lane, next, 0, 1));
    }
    if (position > 0) {
        uint32_t prev = ring_rank(call->rank, -1, n);
        ring->prev = weft_port(builder->port(builder, ring->lane, prev, 0, 0));
    }
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

/* Invariant: after step s (1 … n−1) of the first half rank r holds, or has just sent, chunk r−s
 * combined over ranks r−s … r; so after step n−1 chunk r+1 is complete here. After step s of the
 * second half rank r has the results of chunks r+1, r, … r+1−s.
 * Cost: 2n−1 MOVEs and 2(n−1) messages of 1/n each, the least that any all-reduce can send. */
void ring_all_reduce(const weft_algo_call_t *call, weft_plan_builder_t *builder)
{
    uint32_t n = call->nranks, r = call->rank, own = ring_rank(r, 1, n);
    ring_t ring;
    ring_init(&ring, call, builder, n);
    ring_copy(&ring, ring.next, weft_in(r, 0));
    ring_steps(&ring, n - 2, (weft_operand_t[2]){ring.next},
               (weft_operand_t[2]){ring.prev, weft_in(ring_chunk(r, 1, n), -1)});
    ring_move(&ring, (weft_operand_t[2]){weft_out(own, 0), ring.next},
              (weft_operand_t[2]){ring.prev, weft_in(own, 0)}, WEFT_MOVE_FINAL);
    ring_steps(&ring, n - 2, (weft_operand_t[2]){weft_out(r, -1), ring.next},
               (weft_operand_t[2]){ring.prev});
    ring_copy(&ring, weft_out(ring_chunk(r, n - 2, n), 0), ring.prev);
}

/* Invariant: after step s rank r has sent block r−s combined over ranks r−s+1 … r; the last step
 * completes block r here. Cost: n MOVEs, n−1 messages of one block. */
void ring_reduce_scatter(const weft_algo_call_t *call, weft_plan_builder_t *builder)
{
    uint32_t n = call->nranks, r = call->rank, first = ring_rank(r, -1, n);
    ring_t ring;
    ring_init(&ring, call, builder, 1);
    ring_copy(&ring, ring.next, weft_in(first, 0));
    ring_steps(&ring, n - 2, (weft_operand_t[2]){ring.next},
               (weft_operand_t[2]){ring.prev, weft_in(ring_chunk(first, 1, n), -1)});
    ring_move(&ring, (weft_operand_t[2]){weft_out(0, 0)},
              (weft_operand_t[2]){ring.prev, weft_in(r, 0)}, WEFT_MOVE_FINAL);
}

/* Invariant: after step s rank r has blocks r, r−1, … r−s. Cost: n MOVEs, n−1 messages of one
 * block. */
void ring_all_gather(const weft_algo_call_t *call, weft_plan_builder_t *builder)
{
    uint32_t n = call->nranks, r = call->rank;
    ring_t ring;
    ring_init(&ring, call, builder, 1);
    ring_move(&ring, (weft_operand_t[2]){weft_out(r, 0), ring.next},
              (weft_operand_t[2]){weft_in(0, 0)}, 0);
    ring_steps(&ring, n - 2, (weft_operand_t[2]){weft_out(ring_chunk(r, 1, n), -1), ring.next},
               (weft_operand_t[2]){ring.prev});
    ring_copy(&ring, weft_out(ring_chunk(r, n - 1, n), 0), ring.prev);
}

/* Invariant: a slice that position p has passed on is in OUT of positions 0 … p. Cost: one MOVE per rank;
 * the last rank is n−1 slices behind the root, whatever the size. */
void ring_broadcast(const weft_algo_call_t *call, weft_plan_builder_t *builder)
{
    uint32_t position = ring_position(call->rank, call->root, call->nranks);
    ring_t ring;
    ring_plan_chain_init(&ring, call, builder, position);
    ring_move(&ring, (weft_operand_t[2]){weft_out(0, 0), ring.next},
              (weft_operand_t[2]){position == 0 ? weft_in(0, 0) : ring.prev}, 0);
}

/* The chain ends at the root. Invariant: what position p sends is combined over positions 0 … p. Cost: one
 * MOVE per rank, as broadcast. */
void ring_reduce(const weft_algo_call_t *call, weft_plan_builder_t *builder)
{
    uint32_t n = call->nranks;
    uint32_t position = ring_position(call->rank, ring_rank(call->root, 1, n), n);
    ring_t ring;
    ring_plan_chain_init(&ring, call, builder, position);
    ring_move(&ring, (weft_operand_t[2]){position == n - 1 ? weft_out(0, 0) : ring.next},
              (weft_operand_t[2]){ring.prev, weft_in(0, 0)},
              position == n - 1 ? WEFT_MOVE_FINAL : 0);
}
