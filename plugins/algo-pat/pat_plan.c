/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The two plans. Each has a lane that sends and a lane that receives, tied together by waits: so a
 * rank never waits for the answer to one block before it sends the next, and a round takes one hop
 * of latency however many blocks move in it. The blocks of a round are a LOOP with a stride of 2d
 * blocks, of MOVEs that pack as many of them as fit into a message, and a MOVE of the rest: so a
 * plan has O(log n) instructions.
 *
 * The sending lane waits for the receives of the round before only, and the receiving lane for its
 * ports; round by round each rank gets on, so the plans do not hang whatever the depth of the
 * queues. */
#include "pat_plan.h"

#include <stdbool.h>

#define ROUNDS_MAX 32

typedef struct pat {
    weft_plan_builder_t *builder;
    uint32_t n, rank, rounds;
    uint32_t pack;          /* blocks of a message */
    uint32_t send, receive; /* lanes */
    weft_operand_t to[ROUNDS_MAX], from[ROUNDS_MAX];
} pat_t;

uint32_t pat_rounds(uint32_t n)
{
    uint32_t rounds = 0;
    while ((UINT64_C(1) << rounds) < n) {
        rounds++;
    }
    return rounds;
}

uint32_t pat_blocks(uint32_t n, uint32_t d)
{
    return d < n ? 1 + (n - 1 - d) / d / 2 : 0;
}

uint32_t pat_before(uint32_t rank, uint32_t distance, uint32_t n)
{
    return rank >= distance ? rank - distance : rank + (n - distance);
}

uint32_t pat_after(uint32_t rank, uint32_t distance, uint32_t n)
{
    return pat_before(rank, n - distance, n);
}

uint32_t pat_wanted(const weft_algo_call_t *call)
{
    uint32_t most = pat_blocks(call->nranks, 1);
    int64_t limit = call->params[PAT_AGGREGATE];
    return limit > 0 && limit < most ? (uint32_t)limit : most;
}

static void pat_init(pat_t *pat, const weft_algo_call_t *call, weft_plan_builder_t *builder)
{
    *pat = (pat_t){.builder = builder, .n = call->nranks, .rank = call->rank};
    pat->rounds = pat_rounds(pat->n);
    uint32_t wanted = pat_wanted(call), fit = weft_algo_call_pack(call);
    pat->pack = wanted < fit ? wanted : fit;
    pat->send = builder->lane(builder);
    pat->receive = builder->lane(builder);
    for (uint32_t i = 0; i < pat->rounds; i++) {
        uint32_t d = UINT32_C(1) << i;
        uint32_t to = pat_after(pat->rank, d, pat->n), from = pat_before(pat->rank, d, pat->n);
        pat->to[i] = weft_port(builder->port(builder, pat->send, to, 0, 1));
        pat->from[i] = weft_port(builder->port(builder, pat->receive, from, 0, 0));
    }
}

/* `times` times the MOVE; returns its pc. */
static uint32_t pat_loop(const pat_t *pat, uint32_t lane, uint32_t times, const weft_move_t *move)
{
    if (times > 1) {
        pat->builder->loop(pat->builder, lane, times);
    }
    uint32_t pc = pat->builder->move(pat->builder, lane, move);
    if (times > 1) {
        pat->builder->end(pat->builder, lane);
    }
    return pc;
}

/* The operand `blocks` strides further on. IN and OUT have a block for each rank where that goes
 * round, and TMP is long enough. */
static void pat_skip_operand(const pat_t *pat, weft_operand_t *operand, uint32_t blocks)
{
    int64_t n = pat->n, at = operand->index + (int64_t)operand->stride * blocks;
    operand->index = (uint32_t)(operand->stride == 0 ? at : (at % n + n) % n);
}

static void pat_skip(const pat_t *pat, weft_move_t *move, uint32_t blocks)
{
    for (uint32_t i = 0; i < move->ndst; i++) {
        pat_skip_operand(pat, &move->dst[i], blocks);
    }
    for (uint32_t i = 0; i < move->nsrc; i++) {
        pat_skip_operand(pat, &move->src[i], blocks);
    }
    pat_skip_operand(pat, &move->like, blocks);
}

/* The MOVE for each of `blocks` blocks, as many in a message as fit; returns the pc of the last. */
static uint32_t pat_repeat(const pat_t *pat, uint32_t lane, uint32_t blocks,
                           const weft_move_t *first)
{
    weft_move_t move = *first;
    uint32_t pack = blocks < pat->pack ? blocks : pat->pack, rest = blocks % pack;
    move.cnt = pack;
    move.flags |= pack > 1 ? WEFT_MOVE_PACKED : 0;
    uint32_t pc = pat_loop(pat, lane, blocks / pack, &move);
    if (rest > 0) {
        pat_skip(pat, &move, blocks - rest);
        move.cnt = rest;
        pc = pat->builder->move(pat->builder, lane, &move);
    }
    return pc;
}

static void pat_wait(const pat_t *pat, weft_move_t *move, uint32_t pc)
{
    move->after[0] = (weft_after_t){.lane = pat->receive, .pc = pc};
    move->nafter = 1;
}

/* Invariant: before the round of hop d this rank has the blocks of the ranks 0, 2d, 4d … before it.
 * Cost: ⌈log2 n⌉ rounds, n−1 blocks out and in, each stored where it belongs. */
void pat_all_gather(const weft_algo_call_t *call, weft_plan_builder_t *builder)
{
    pat_t pat;
    builder->grid(builder, 1, 0);
    pat_init(&pat, call, builder);
    uint32_t received = 0;
    for (uint32_t i = pat.rounds; i-- > 0;) {
        uint32_t d = UINT32_C(1) << i, blocks = pat_blocks(pat.n, d);
        int32_t stride = blocks > 1 ? -2 * (int32_t)d : 0;
        weft_move_t give = {.dst = {pat.to[i]}, .ndst = 1, .nsrc = 1};
        weft_move_t take = {.src = {pat.from[i]}, .ndst = 1, .nsrc = 1};
        give.src[0] = weft_out(pat.rank, stride);
        take.dst[0] = weft_out(pat_before(pat.rank, d, pat.n), stride);
        if (i + 1 == pat.rounds) {
            give.src[0] = weft_in(0, 0);
            give.dst[give.ndst++] = weft_out(pat.rank, 0);
        } else {
            pat_wait(&pat, &give, received);
        }
        pat_repeat(&pat, pat.send, blocks, &give);
        received = pat_repeat(&pat, pat.receive, blocks, &take);
    }
}

/* Returns whether the last distance of round i has nothing to receive, so that it leaves from IN:
 * the distance n−1 of an odd n. Where blocks are packed it has a message of its own. */
static bool pat_leaves_input(const pat_t *pat, uint32_t i)
{
    uint32_t d = UINT32_C(1) << i, last = d + 2 * d * (pat_blocks(pat->n, d) - 1);
    return i > 0 && last == pat->n - 1 && pat->n % 2 == 1;
}

/* Sends of round i: partial sums at the distances d, 3d … ahead. TMP chunk s/2 belongs to distance
 * s. */
static void pat_plan_scatter_send(const pat_t *pat, uint32_t i, uint32_t received)
{
    uint32_t d = UINT32_C(1) << i, blocks = pat_blocks(pat->n, d);
    int32_t stride = (int32_t)d;
    weft_operand_t raw = weft_in(pat_after(pat->rank, d, pat->n), blocks > 1 ? 2 * stride : 0);
    weft_move_t move = {.dst = {pat->to[i]}, .src = {raw}, .ndst = 1, .nsrc = 1, .like = raw};
    uint32_t sums = blocks - pat_leaves_input(pat, i);
    if (i > 0) {
        move.src[0] = weft_tmp(d / 2, blocks > 1 ? stride : 0);
        pat_wait(pat, &move, received);
    }
    if (sums > 0) {
        pat_repeat(pat, pat->send, sums, &move);
    }
    if (sums < blocks) {
        weft_move_t tail = {.dst = {pat->to[i]}, .ndst = 1, .nsrc = 1};
        tail.src[0] = weft_in(pat_after(pat->rank, pat->n - 1, pat->n), 0);
        pat->builder->move(pat->builder, pat->send, &tail);
    }
}

/* Receives of round i: into the partial sums at the distances 0, 2d …; the last round has one. */
static uint32_t pat_plan_scatter_receive(const pat_t *pat, uint32_t i)
{
    uint32_t d = UINT32_C(1) << i, blocks = pat_blocks(pat->n, d);
    int last = i + 1 == pat->rounds;
    int32_t stride = blocks > 1 ? (int32_t)d : 0;
    weft_operand_t raw = weft_in(pat->rank, 2 * stride), sum = weft_tmp(0, stride);
    weft_move_t move = {.ndst = 1, .nsrc = 2, .like = raw};
    move.dst[0] = last ? weft_out(0, 0) : sum;
    move.src[0] = i == 0 ? raw : sum;
    move.src[1] = pat->from[i];
    move.flags = last ? WEFT_MOVE_FINAL : 0;
    bool apart = pat->pack > 1 && blocks > 1 && pat_leaves_input(pat, i);
    uint32_t received = pat_repeat(pat, pat->receive, blocks - apart, &move);
    if (apart) {
        pat_skip(pat, &move, blocks - 1);
        received = pat->builder->move(pat->builder, pat->receive, &move);
    }
    return received;
}

/* Invariant: after the round of hop d the partial sum for the owner s ahead, s a multiple of 2d, is
 * combined over this rank and the 2d−1 before it, as far as they are less than n away from the
 * owner. Cost: ⌈log2 n⌉ rounds, n−1 blocks out and in; TMP of n/2 blocks. */
void pat_reduce_scatter(const weft_algo_call_t *call, weft_plan_builder_t *builder)
{
    pat_t pat;
    uint32_t tmp = call->nranks > 2 ? call->nranks / 2 : 0;
    builder->grid(builder, 1, tmp);
    pat_init(&pat, call, builder);
    uint32_t received = 0;
    for (uint32_t i = 0; i < pat.rounds; i++) {
        pat_plan_scatter_send(&pat, i, received);
        received = pat_plan_scatter_receive(&pat, i);
    }
    if (tmp > 0) { /* the next pass must not overwrite sums that are still to be sent */
        uint64_t both = UINT64_C(1) << pat.send | UINT64_C(1) << pat.receive;
        builder->bar(builder, pat.send, both);
        builder->bar(builder, pat.receive, both);
    }
}
