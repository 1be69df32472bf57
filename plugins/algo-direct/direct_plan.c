/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The six plans: one lane, one port per peer and direction.
 *
 * The exchanges (all-to-all, all-gather, gather, scatter) move a peer's data and this rank's in one
 * PAR, so they never hang, whatever the depth of the queues. The reductions send a whole chunk to
 * every peer before they fold, as algo-flat does; its result is passed on while it is folded, which
 * needs one free slot behind a chunk.
 *
 * Folds go in rank order 0 … n−1, four contributions at first, then the accumulator and three more:
 * the order and the grouping of algo-flat, so both give the same bits. The accumulator is TMP and
 * not OUT: in place OUT is IN, which later folds still read. */
#include "direct_plan.h"

typedef struct direct {
    const direct_job_t *job;
    weft_plan_builder_t *builder;
    uint32_t lane, n, rank;
} direct_t;

/* MOVEs that fold n contributions: four at first, then the accumulator and three more. */
static uint32_t direct_folds(uint32_t n)
{
    uint32_t more = n <= WEFT_MOVE_MAX ? 0 : n - WEFT_MOVE_MAX;
    return 1 + (more + WEFT_MOVE_MAX - 2) / (WEFT_MOVE_MAX - 1);
}

static void direct_plan_begin(direct_t *direct, const direct_job_t *job, uint32_t k, uint32_t tmp)
{
    *direct = (direct_t){
        .job = job, .builder = job->builder, .n = job->call->nranks, .rank = job->call->rank};
    job->builder->grid(job->builder, k, tmp);
    direct->lane = job->builder->lane(job->builder);
}

/* Declares the port once; plans use the queues of a peer in both phases. */
static weft_operand_t direct_plan_port_to(const direct_t *direct, uint32_t peer)
{
    weft_plan_builder_t *b = direct->builder;
    return weft_port(direct->job->to[peer] = b->port(b, direct->lane, peer, 0, 1));
}

static weft_operand_t direct_plan_port_from(const direct_t *direct, uint32_t peer)
{
    weft_plan_builder_t *b = direct->builder;
    return weft_port(direct->job->from[peer] = b->port(b, direct->lane, peer, 0, 0));
}

static void direct_plan_add(const direct_t *direct, const weft_move_t *move)
{
    direct->builder->move(direct->builder, direct->lane, move);
}

static void direct_plan_copy(const direct_t *direct, weft_operand_t dst, weft_operand_t src)
{
    direct_plan_add(direct, &(weft_move_t){.dst = {dst}, .src = {src}, .ndst = 1, .nsrc = 1});
}

static void direct_plan_together(const direct_t *direct, uint32_t members)
{
    if (members > 1) {
        direct->builder->par(direct->builder, direct->lane, members);
    }
}

static uint32_t direct_plan_smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Invariant: after round k this rank has sent its blocks to the targets of rounds 0 … k and has the
 * blocks of their sources. Cost: n−1 blocks out and in. Each MOVE goes from IN to a port, from a
 * port to OUT or from IN to OUT: only two ranks handle a block. */
void direct_all_to_all(const direct_job_t *job)
{
    direct_t direct;
    direct_round_t round = {0};
    direct_plan_begin(&direct, job, 1, 0);
    direct_plan_copy(&direct, weft_out(direct.rank, 0), weft_in(direct.rank, 0));
    for (uint32_t left = direct.n - 1; left > 0;) {
        uint32_t pairs = direct_plan_smaller(job->pairs, left);
        left -= pairs;
        direct_plan_together(&direct, 2 * pairs);
        for (uint32_t i = 0; i < pairs; i++) {
            direct_round_next(job->schedule, &round);
            uint32_t target = direct_target(job->schedule, &round, direct.rank);
            uint32_t source = direct_source(job->schedule, &round, direct.rank);
            direct_plan_copy(&direct, direct_plan_port_to(&direct, target), weft_in(target, 0));
            direct_plan_copy(&direct, weft_out(source, 0), direct_plan_port_from(&direct, source));
        }
    }
}

/* The root meets all others, `pairs` at a time, in the order of the schedule: the next one sends as
 * soon as there is room in its queue. Cost: n−1 blocks into the root, one MOVE elsewhere. */
void direct_gather(const direct_job_t *job)
{
    direct_t direct;
    direct_round_t round = {0};
    direct_plan_begin(&direct, job, 1, 0);
    if (direct.rank != job->call->root) {
        direct_plan_copy(&direct, direct_plan_port_to(&direct, job->call->root), weft_in(0, 0));
        return;
    }
    direct_plan_copy(&direct, weft_out(direct.rank, 0), weft_in(0, 0));
    for (uint32_t left = direct.n - 1; left > 0;) {
        uint32_t peers = direct_plan_smaller(job->pairs, left);
        left -= peers;
        direct_plan_together(&direct, peers);
        for (uint32_t i = 0; i < peers; i++) {
            direct_round_next(job->schedule, &round);
            uint32_t source = direct_source(job->schedule, &round, direct.rank);
            direct_plan_copy(&direct, weft_out(source, 0), direct_plan_port_from(&direct, source));
        }
    }
}

/* As gather, the other way. */
void direct_scatter(const direct_job_t *job)
{
    direct_t direct;
    direct_round_t round = {0};
    direct_plan_begin(&direct, job, 1, 0);
    if (direct.rank != job->call->root) {
        direct_plan_copy(&direct, weft_out(0, 0), direct_plan_port_from(&direct, job->call->root));
        return;
    }
    direct_plan_copy(&direct, weft_out(0, 0), weft_in(direct.rank, 0));
    for (uint32_t left = direct.n - 1; left > 0;) {
        uint32_t peers = direct_plan_smaller(job->pairs, left);
        left -= peers;
        direct_plan_together(&direct, peers);
        for (uint32_t i = 0; i < peers; i++) {
            direct_round_next(job->schedule, &round);
            uint32_t target = direct_target(job->schedule, &round, direct.rank);
            direct_plan_copy(&direct, direct_plan_port_to(&direct, target), weft_in(target, 0));
        }
    }
}

/* `pairs` rounds as one PAR: IN to the targets, four destinations to a MOVE, and the sources'
 * blocks to OUT. */
static void direct_plan_gather_rounds(const direct_t *direct, direct_round_t *round, uint32_t pairs)
{
    const direct_schedule_t *schedule = direct->job->schedule;
    weft_move_t fan_out = {.src = {weft_in(0, 0)}, .nsrc = 1};
    direct_plan_together(direct, pairs + (pairs + WEFT_MOVE_MAX - 1) / WEFT_MOVE_MAX);
    for (uint32_t i = 0; i < pairs; i++) {
        direct_round_next(schedule, round);
        uint32_t target = direct_target(schedule, round, direct->rank);
        uint32_t source = direct_source(schedule, round, direct->rank);
        fan_out.dst[fan_out.ndst++] = direct_plan_port_to(direct, target);
        if (fan_out.ndst == WEFT_MOVE_MAX || i + 1 == pairs) {
            direct_plan_add(direct, &fan_out);
            fan_out.ndst = 0;
        }
        direct_plan_copy(direct, weft_out(source, 0), direct_plan_port_from(direct, source));
    }
}

/* Cost: n−1 blocks out and in, n/4 reads of this rank's own. */
void direct_all_gather(const direct_job_t *job)
{
    direct_t direct;
    direct_round_t round = {0};
    direct_plan_begin(&direct, job, 1, 0);
    direct_plan_copy(&direct, weft_out(direct.rank, 0), weft_in(0, 0));
    for (uint32_t left = direct.n - 1; left > 0;) {
        uint32_t pairs = direct_plan_smaller(job->pairs, left);
        left -= pairs;
        direct_plan_gather_rounds(&direct, &round, pairs);
    }
}

/* Chunk p of IN to rank p, for all p; the ports of all peers are known afterwards. */
static void direct_plan_send_slices(const direct_t *direct)
{
    const direct_job_t *job = direct->job;
    direct_round_t round = {0};
    for (uint32_t left = direct->n - 1; left > 0;) {
        uint32_t peers = direct_plan_smaller(job->pairs, left);
        left -= peers;
        direct_plan_together(direct, peers);
        for (uint32_t i = 0; i < peers; i++) {
            direct_round_next(job->schedule, &round);
            uint32_t target = direct_target(job->schedule, &round, direct->rank);
            direct_plan_copy(direct, direct_plan_port_to(direct, target), weft_in(target, 0));
        }
    }
}

/* The MOVE `final` ← contributions of ranks 0 … n−1 to chunk `rank`. Invariant after step s: the
 * accumulator is the fold of ranks 0 … 3s. */
static void direct_plan_fold_slices(const direct_t *direct, const weft_move_t *final)
{
    weft_move_t move = {.dst = {weft_tmp(0, 0)}, .ndst = 1, .like = weft_in(direct->rank, 0)};
    for (uint32_t rank = 0; rank < direct->n; rank++) {
        move.src[move.nsrc++] =
            rank == direct->rank ? weft_in(rank, 0) : direct_plan_port_from(direct, rank);
        if (rank + 1 < direct->n && move.nsrc < WEFT_MOVE_MAX) {
            continue;
        }
        if (rank + 1 == direct->n) {
            move.ndst = final->ndst;
            for (uint32_t i = 0; i < final->ndst; i++) {
                move.dst[i] = final->dst[i];
            }
            move.flags = WEFT_MOVE_FINAL;
        }
        direct_plan_add(direct, &move);
        move.src[0] = weft_tmp(0, 0);
        move.nsrc = 1;
    }
}

/* Cost: n−1 blocks out and in, n blocks folded in (n−1)/3 MOVEs. */
void direct_reduce_scatter(const direct_job_t *job)
{
    direct_t direct;
    direct_plan_begin(&direct, job, 1, direct_folds(job->call->nranks) > 1 ? 1 : 0);
    direct_plan_send_slices(&direct);
    direct_plan_fold_slices(&direct, &(weft_move_t){.dst = {weft_out(0, 0)}, .ndst = 1});
}

/* The result to the targets that the last fold did not reach, in the order of the schedule. */
static void direct_plan_pass_on(const direct_t *direct, direct_round_t *round, uint32_t left)
{
    while (left > 0) {
        weft_move_t move = {.src = {weft_out(direct->rank, 0)}, .nsrc = 1};
        for (; left > 0 && move.ndst < WEFT_MOVE_MAX; left--) {
            direct_round_next(direct->job->schedule, round);
            uint32_t target = direct_target(direct->job->schedule, round, direct->rank);
            move.dst[move.ndst++] = weft_port(direct->job->to[target]);
        }
        direct_plan_add(direct, &move);
    }
}

/* The results of the others, `pairs` at a time. */
static void direct_plan_receive_results(const direct_t *direct)
{
    const direct_job_t *job = direct->job;
    direct_round_t round = {0};
    for (uint32_t left = direct->n - 1; left > 0;) {
        uint32_t peers = direct_plan_smaller(job->pairs, left);
        left -= peers;
        direct_plan_together(direct, peers);
        for (uint32_t i = 0; i < peers; i++) {
            direct_round_next(job->schedule, &round);
            uint32_t source = direct_source(job->schedule, &round, direct->rank);
            direct_plan_copy(direct, weft_out(source, 0), weft_port(job->from[source]));
        }
    }
}

/* Rank r folds chunk r of n and gives the result to all. Cost: 2(n−1) messages of 1/n each, the
 * least that any all-reduce can send, in two steps. */
void direct_all_reduce(const direct_job_t *job)
{
    direct_t direct;
    direct_round_t round = {0};
    direct_plan_begin(&direct, job, job->call->nranks, direct_folds(job->call->nranks) > 1 ? 1 : 0);
    direct_plan_send_slices(&direct);
    weft_move_t final = {.dst = {weft_out(direct.rank, 0)}, .ndst = 1};
    uint32_t left = direct.n - 1;
    for (; left > 0 && final.ndst < WEFT_MOVE_MAX; left--) {
        direct_round_next(job->schedule, &round);
        uint32_t target = direct_target(job->schedule, &round, direct.rank);
        final.dst[final.ndst++] = weft_port(job->to[target]);
    }
    direct_plan_fold_slices(&direct, &final);
    direct_plan_pass_on(&direct, &round, left);
    direct_plan_receive_results(&direct);
}
