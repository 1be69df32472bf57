/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All-reduce and all-gather. Every plan has one lane; its exchanges are PARs of one MOVE each way,
 * and each MOVE walks a run of consecutive chunks, so a plan has O(log n) instructions.
 *
 * The operands of a reduction stand in the order of their ranks. So the partial result of a group
 * of ranks is the same expression wherever it is made, and every element of every rank gets the
 * bits of one and the same tree. */
#include "halving_plan.h"

#include "halving_lane.h"
#include "halving_steps.h"

/* dst ← own combined with what the partner of step i sends; the lower ranks stand on the left. */
static void halving_fold(const halving_t *h, uint32_t i, uint32_t peer, weft_operand_t own,
                         weft_move_t *move)
{
    int lower = h->position < peer;
    move->src[lower ? 0 : 1] = own;
    move->src[lower ? 1 : 0] = h->from[i];
    move->nsrc = 2;
    move->flags = i + 1 == h->job.steps ? WEFT_MOVE_FINAL : 0;
}

/* Invariant: after step i this rank holds range `keep` of the message combined over the 2^(i+1)
 * units that agree with its position in all higher bits. The first of a pair starts with both
 * inputs. */
static void halving_plan_reduce_halves(const halving_t *h)
{
    int folded = halving_has_twin(h);
    for (uint32_t i = 0; i < h->job.steps; i++) {
        halving_step_t s = halving_near(&h->job, h->position, i);
        int raw = i == 0 && !folded;
        weft_move_t give = {.dst = {h->to[i]}, .ndst = 1, .nsrc = 1, .cnt = s.cnt};
        weft_move_t take = {.dst = {weft_out(s.keep, 0)}, .ndst = 1, .cnt = s.cnt};
        give.src[0] = raw ? weft_in(s.give, 0) : weft_out(s.give, 0);
        halving_fold(h, i, s.peer, raw ? weft_in(s.keep, 0) : weft_out(s.keep, 0), &take);
        halving_exchange(h, &give, &take);
    }
}

/* The same ranges back, which double. What comes in goes on to the second of the pair at once. */
static void halving_plan_gather_ranges(const halving_t *h)
{
    for (uint32_t i = h->job.steps; i-- > 0;) {
        halving_step_t s = halving_near(&h->job, h->position, i);
        weft_move_t give = {.dst = {h->to[i]}, .src = {weft_out(s.keep, 0)}, .cnt = s.cnt};
        weft_move_t take = {.dst = {weft_out(s.give, 0)}, .src = {h->from[i]}, .cnt = s.cnt};
        give.ndst = give.nsrc = take.ndst = take.nsrc = 1;
        if (halving_has_twin(h)) {
            take.dst[take.ndst++] = h->to_twin;
        }
        halving_exchange(h, &give, &take);
    }
}

/* Hands over all its data, and gets the ranges of the result in the order in which the first of the
 * pair has them. */
static void halving_plan_all_reduce_of_twin(const halving_t *h)
{
    halving_copy(h, h->to_twin, weft_in(0, 0), h->job.units);
    uint32_t last = h->job.steps - 1;
    halving_step_t s = halving_near(&h->job, h->position, last);
    halving_copy(h, weft_out(s.keep, 0), h->from_twin, 1);
    for (uint32_t i = h->job.steps; i-- > 0;) {
        s = halving_near(&h->job, h->position, i);
        halving_copy(h, weft_out(s.give, 0), h->from_twin, s.cnt);
    }
}

/* Cost: log2 n exchanges of 1/2, 1/4 … of the message to reduce and as many to gather; 2(n−1)/n of
 * the message in all, as a ring. Pairs add the message once each way. */
void halving_all_reduce(const weft_algo_call_t *call, weft_plan_builder_t *builder)
{
    halving_t h;
    builder->grid(builder, halving_job(call->nranks).units, 0);
    halving_init(&h, call, builder, halving_near);
    if (halving_is_twin(&h)) {
        halving_plan_all_reduce_of_twin(&h);
        return;
    }
    if (halving_has_twin(&h)) {
        weft_move_t fold = {.dst = {weft_out(0, 0)},
                            .src = {weft_in(0, 0), h.from_twin},
                            .ndst = 1,
                            .nsrc = 2,
                            .cnt = h.job.units};
        builder->move(builder, h.lane, &fold);
    }
    halving_plan_reduce_halves(&h);
    if (halving_has_twin(&h)) {
        halving_step_t s = halving_near(&h.job, h.position, h.job.steps - 1);
        halving_copy(&h, h.to_twin, weft_out(s.keep, 0), 1);
    }
    halving_plan_gather_ranges(&h);
}

/* Invariant: before step i (p−1 … 0) this rank has the blocks of the 2^(p−1−i) units that agree
 * with its position in all bits above. Cost: log2 n exchanges, n−1 blocks in; no scratch. */
void halving_all_gather(const weft_algo_call_t *call, weft_plan_builder_t *builder)
{
    halving_t h;
    builder->grid(builder, 1, 0);
    halving_init(&h, call, builder, halving_far);
    int twin = halving_is_twin(&h), pair = halving_has_twin(&h);
    if (pair && !twin) {
        halving_copy(&h, weft_out(h.twin, 0), h.from_twin, 1);
    }
    weft_move_t own = {.dst = {weft_out(h.rank, 0), h.to_twin},
                       .src = {weft_in(0, 0)},
                       .ndst = pair ? 2 : 1,
                       .nsrc = 1};
    builder->move(builder, h.lane, &own);
    if (twin) {
        halving_copy(&h, weft_out(h.first, 0), h.from_twin, 1);
    }
    for (uint32_t i = h.job.steps; i-- > 0;) {
        halving_step_t s = halving_far(&h.job, h.position, i);
        uint32_t keep = halving_first(&h.job, s.keep), give = halving_first(&h.job, s.give);
        weft_move_t send = {.dst = {h.to[i]}, .src = {weft_out(keep, 0)}, .ndst = 1, .nsrc = 1};
        weft_move_t take = {.dst = {weft_out(give, 0), h.to_twin}, .nsrc = 1};
        send.cnt = halving_first(&h.job, s.keep + s.cnt) - keep;
        take.cnt = halving_first(&h.job, s.give + s.cnt) - give;
        take.ndst = pair && !twin ? 2 : 1;
        take.src[0] = twin ? h.from_twin : h.from[i];
        if (twin) {
            builder->move(builder, h.lane, &take);
        } else {
            halving_exchange(&h, &send, &take);
        }
    }
}
