/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The five plans: one lane, one port per peer and direction, first all sends, then all receives. A
 * rank sends a chunk to each peer before it waits for any, so plans never hang as long as a chunk
 * has no more slices than a queue has slots.
 *
 * Folds go in rank order 0 … n−1 with the same grouping everywhere, so every rank that folds gets
 * the same bits. The accumulator is TMP and not OUT: in place OUT is IN, which later folds still
 * read. */
#include "flat_plan.h"

typedef struct flat {
    weft_plan_builder_t *builder;
    uint32_t lane, n, rank;
    uint32_t to[FLAT_RANKS_MAX], from[FLAT_RANKS_MAX]; /* ports by rank */
} flat_t;

uint32_t flat_folds(uint32_t n)
{
    return n <= WEFT_MOVE_MAX ? 1
                              : 1 + (n - WEFT_MOVE_MAX + WEFT_MOVE_MAX - 2) / (WEFT_MOVE_MAX - 1);
}

static void flat_init(flat_t *flat, const weft_algo_call_t *call, weft_plan_builder_t *builder,
                      int folds)
{
    flat->builder = builder;
    flat->n = call->nranks;
    flat->rank = call->rank;
    builder->grid(builder, 1, folds && flat_folds(call->nranks) > 1 ? 1 : 0);
    flat->lane = builder->lane(builder);
}

static void flat_port_to(flat_t *flat, uint32_t peer)
{
    flat->to[peer] = flat->builder->port(flat->builder, flat->lane, peer, 0, 1);
}

static void flat_port_from(flat_t *flat, uint32_t peer)
{
    flat->from[peer] = flat->builder->port(flat->builder, flat->lane, peer, 0, 0);
}

/* The peer `distance` positions after this rank. Ranks start with different peers, so that no rank
 * is asked by all at once. */
static uint32_t flat_peer(const flat_t *flat, uint32_t distance)
{
    return (flat->rank + distance) % flat->n;
}

static void flat_ports_to_all(flat_t *flat)
{
    for (uint32_t distance = 1; distance < flat->n; distance++) {
        flat_port_to(flat, flat_peer(flat, distance));
    }
}

static void flat_ports_from_all(flat_t *flat)
{
    for (uint32_t distance = 1; distance < flat->n; distance++) {
        flat_port_from(flat, flat_peer(flat, flat->n - distance));
    }
}

static void flat_copy(const flat_t *flat, weft_operand_t dst, weft_operand_t src)
{
    weft_move_t move = {.dst = {dst}, .src = {src}, .ndst = 1, .nsrc = 1};
    flat->builder->move(flat->builder, flat->lane, &move);
}

/* all peers [, out[own]] ← in[0], up to four destinations at a time; own < 0: no local copy. */
static void flat_fan_out(const flat_t *flat, int64_t own)
{
    weft_move_t move = {.src = {weft_in(0, 0)}, .nsrc = 1};
    if (own >= 0) {
        move.dst[move.ndst++] = weft_out((uint32_t)own, 0);
    }
    for (uint32_t distance = 1; distance < flat->n; distance++) {
        move.dst[move.ndst++] = weft_port(flat->to[flat_peer(flat, distance)]);
        if (move.ndst == WEFT_MOVE_MAX || distance + 1 == flat->n) {
            flat->builder->move(flat->builder, flat->lane, &move);
            move.ndst = 0;
        }
    }
}

/* out[0] ← contributions of ranks 0 … n−1; this rank's own is in[own]. Invariant after step s: the
 * accumulator is the fold of ranks 0 … 3s. */
static void flat_fold(const flat_t *flat, uint32_t own)
{
    weft_move_t move = {.ndst = 1, .like = weft_in(own, 0)};
    for (uint32_t rank = 0; rank < flat->n; rank++) {
        move.src[move.nsrc++] = rank == flat->rank ? weft_in(own, 0) : weft_port(flat->from[rank]);
        int last = rank + 1 == flat->n;
        if (move.nsrc < WEFT_MOVE_MAX && !last) {
            continue;
        }
        move.dst[0] = last ? weft_out(0, 0) : weft_tmp(0, 0);
        move.flags = last ? WEFT_MOVE_FINAL : 0;
        flat->builder->move(flat->builder, flat->lane, &move);
        move.src[0] = weft_tmp(0, 0);
        move.nsrc = 1;
    }
}

/* Cost: (n−1)/4 and (n−1)/3 MOVEs, n−1 messages of the whole block out and in. */
void flat_all_reduce(const weft_algo_call_t *call, weft_plan_builder_t *builder)
{
    flat_t flat;
    flat_init(&flat, call, builder, 1);
    flat_ports_to_all(&flat);
    flat_ports_from_all(&flat);
    flat_fan_out(&flat, -1);
    flat_fold(&flat, 0);
}

/* Cost: n−1 MOVEs to send, (n−1)/3 to fold; n−1 messages of one block out and in. */
void flat_reduce_scatter(const weft_algo_call_t *call, weft_plan_builder_t *builder)
{
    flat_t flat;
    flat_init(&flat, call, builder, 1);
    flat_ports_to_all(&flat);
    flat_ports_from_all(&flat);
    for (uint32_t distance = 1; distance < flat.n; distance++) {
        uint32_t peer = flat_peer(&flat, distance);
        flat_copy(&flat, weft_port(flat.to[peer]), weft_in(peer, 0));
    }
    flat_fold(&flat, flat.rank);
}

/* Cost: n/4 MOVEs to send, n−1 to store. */
void flat_all_gather(const weft_algo_call_t *call, weft_plan_builder_t *builder)
{
    flat_t flat;
    flat_init(&flat, call, builder, 0);
    flat_ports_to_all(&flat);
    flat_ports_from_all(&flat);
    flat_fan_out(&flat, flat.rank);
    for (uint32_t distance = 1; distance < flat.n; distance++) {
        uint32_t peer = flat_peer(&flat, flat.n - distance);
        flat_copy(&flat, weft_out(peer, 0), weft_port(flat.from[peer]));
    }
}

/* Cost: n/4 MOVEs on the root, one elsewhere. */
void flat_broadcast(const weft_algo_call_t *call, weft_plan_builder_t *builder)
{
    flat_t flat;
    flat_init(&flat, call, builder, 0);
    if (call->rank == call->root) {
        flat_ports_to_all(&flat);
        flat_fan_out(&flat, 0);
        return;
    }
    flat_port_from(&flat, call->root);
    flat_copy(&flat, weft_out(0, 0), weft_port(flat.from[call->root]));
}

/* Cost: (n−1)/3 MOVEs on the root, one elsewhere. */
void flat_reduce(const weft_algo_call_t *call, weft_plan_builder_t *builder)
{
    flat_t flat;
    int is_root = call->rank == call->root;
    flat_init(&flat, call, builder, is_root);
    if (is_root) {
        flat_ports_from_all(&flat);
        flat_fold(&flat, 0);
        return;
    }
    flat_port_to(&flat, call->root);
    flat_copy(&flat, weft_port(flat.to[call->root]), weft_in(0, 0));
}
