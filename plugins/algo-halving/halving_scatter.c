/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reduce-scatter by recursive halving. The blocks a rank keeps are folded in TMP; the second rank
 * of a pair sends its blocks on two channels, those that the first gives away and those that it
 * keeps, so that both sides of the first exchange take them in as they go and no step is added. */
#include "halving_scatter.h"

#include "halving_lane.h"
#include "halving_steps.h"

/* A run of blocks. */
typedef struct scatter_run {
    uint32_t first, cnt;
} scatter_run_t;

typedef struct scatter {
    halving_t h;
    weft_operand_t twin_gives, twin_keeps; /* from the second of the pair, or to the first */
    uint32_t base;                         /* block that TMP chunk 0 stands for */
} scatter_t;

static scatter_run_t scatter_blocks(const scatter_t *s, uint32_t unit, uint32_t cnt)
{
    uint32_t first = halving_first(&s->h.job, unit);
    return (scatter_run_t){first, halving_first(&s->h.job, unit + cnt) - first};
}

/* The data of the range that this rank has before step i: one operand, or its own and its twin's
 * input. */
static uint32_t scatter_own(const scatter_t *s, uint32_t i, uint32_t block, weft_operand_t twin,
                            weft_operand_t own[2])
{
    own[0] = i == 0 ? weft_in(block, 0) : weft_tmp(block - s->base, 0);
    own[1] = twin;
    return i == 0 && halving_has_twin(&s->h) ? 2 : 1;
}

static weft_move_t scatter_give(const scatter_t *s, uint32_t i, scatter_run_t run)
{
    weft_move_t move = {.dst = {s->h.to[i]}, .ndst = 1, .cnt = run.cnt};
    move.like = weft_in(run.first, 0);
    move.nsrc = scatter_own(s, i, run.first, s->twin_gives, move.src);
    return move;
}

static weft_move_t scatter_take(const scatter_t *s, uint32_t i, scatter_run_t run, uint32_t peer)
{
    weft_move_t move = {.dst = {weft_tmp(run.first - s->base, 0)}, .ndst = 1, .cnt = run.cnt};
    uint32_t lower = s->h.position < peer;
    move.like = weft_in(run.first, 0);
    uint32_t nown = scatter_own(s, i, run.first, s->twin_keeps, &move.src[lower ? 0 : 1]);
    move.src[lower ? nown : 0] = s->h.from[i];
    move.nsrc = nown + 1;
    return move;
}

/* The last step, block by block: the second block that is left belongs to the twin. */
static void scatter_last(const scatter_t *s, scatter_run_t give, scatter_run_t keep, uint32_t peer)
{
    uint32_t last = s->h.job.steps - 1;
    for (uint32_t j = 0; j < give.cnt || j < keep.cnt; j++) {
        weft_move_t out = scatter_give(s, last, (scatter_run_t){give.first + j, 1});
        weft_move_t in = scatter_take(s, last, (scatter_run_t){keep.first + j, 1}, peer);
        in.dst[0] = j == 0 ? weft_out(0, 0) : s->h.to_twin;
        in.flags = WEFT_MOVE_FINAL;
        if (j < give.cnt && j < keep.cnt) {
            halving_exchange(&s->h, &out, &in);
        } else {
            s->h.builder->move(s->h.builder, s->h.lane, j < give.cnt ? &out : &in);
        }
    }
}

/* Invariant: after step i the runs of blocks that are kept are combined over the 2^(i+1) units that
 * agree with this position in all lower bits. */
static void scatter_steps(scatter_t *s)
{
    for (uint32_t i = 0; i < s->h.job.steps; i++) {
        halving_step_t step = halving_far(&s->h.job, s->h.position, i);
        scatter_run_t give = scatter_blocks(s, step.give, step.cnt);
        scatter_run_t keep = scatter_blocks(s, step.keep, step.cnt);
        s->base = i == 0 ? keep.first : s->base;
        if (i + 1 == s->h.job.steps) {
            scatter_last(s, give, keep, step.peer);
            return;
        }
        weft_move_t out = scatter_give(s, i, give), in = scatter_take(s, i, keep, step.peer);
        halving_exchange(&s->h, &out, &in);
    }
}

/* The second of a pair: both runs at once, then its block. */
static void scatter_of_twin(const scatter_t *s)
{
    halving_step_t step = halving_far(&s->h.job, s->h.position, 0);
    scatter_run_t give = scatter_blocks(s, step.give, step.cnt);
    scatter_run_t keep = scatter_blocks(s, step.keep, step.cnt);
    weft_move_t out = {.dst = {s->twin_gives}, .ndst = 1, .nsrc = 1, .cnt = give.cnt};
    weft_move_t in = {.dst = {s->twin_keeps}, .ndst = 1, .nsrc = 1, .cnt = keep.cnt};
    out.src[0] = weft_in(give.first, 0);
    in.src[0] = weft_in(keep.first, 0);
    halving_exchange(&s->h, &out, &in);
    halving_copy(&s->h, weft_out(0, 0), s->h.from_twin, 1);
}

/* Cost: log2 n exchanges, about n−1 blocks each way; TMP of about n/2 blocks, at most 2^p. */
void halving_reduce_scatter(const weft_algo_call_t *call, weft_plan_builder_t *builder)
{
    halving_job_t job = halving_job(call->nranks);
    builder->grid(builder, 1, job.steps > 1 ? halving_first(&job, job.units / 2) : 0);
    scatter_t s;
    halving_init(&s.h, call, builder, halving_far);
    if (halving_has_twin(&s.h)) {
        s.twin_gives = halving_is_twin(&s.h) ? s.h.to_twin : s.h.from_twin;
        uint32_t other = halving_is_twin(&s.h) ? s.h.first : s.h.twin;
        s.twin_keeps = halving_port(&s.h, other, 1, halving_is_twin(&s.h) ? 1 : 0);
    }
    if (halving_is_twin(&s.h)) {
        scatter_of_twin(&s);
    } else {
        scatter_steps(&s);
    }
}
