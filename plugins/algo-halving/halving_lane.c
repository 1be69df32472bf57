/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See halving_lane.h. */
#include "halving_lane.h"

#include "halving_steps.h"

weft_operand_t halving_port(const halving_t *h, uint32_t peer, uint32_t channel, uint32_t sends)
{
    return weft_port(h->builder->port(h->builder, h->lane, peer, channel, sends));
}

int halving_has_twin(const halving_t *h)
{
    return h->twin < h->job.n;
}

int halving_is_twin(const halving_t *h)
{
    return h->rank == h->twin;
}

void halving_init(halving_t *h, const weft_algo_call_t *call, weft_plan_builder_t *builder,
                  halving_fn_t step)
{
    *h = (halving_t){.builder = builder, .rank = call->rank, .job = halving_job(call->nranks)};
    h->lane = builder->lane(builder);
    h->position = halving_unit(&h->job, h->rank);
    h->first = halving_first(&h->job, h->position);
    h->twin = halving_second(&h->job, h->position);
    if (halving_has_twin(h)) {
        uint32_t other = halving_is_twin(h) ? h->first : h->twin;
        h->to_twin = halving_port(h, other, 0, 1);
        h->from_twin = halving_port(h, other, 0, 0);
    }
    for (uint32_t i = 0; i < h->job.steps && !halving_is_twin(h); i++) {
        uint32_t peer = halving_first(&h->job, step(&h->job, h->position, i).peer);
        h->to[i] = halving_port(h, peer, 0, 1);
        h->from[i] = halving_port(h, peer, 0, 0);
    }
}

void halving_copy(const halving_t *h, weft_operand_t dst, weft_operand_t src, uint32_t cnt)
{
    weft_move_t move = {.dst = {dst}, .src = {src}, .ndst = 1, .nsrc = 1, .cnt = cnt};
    h->builder->move(h->builder, h->lane, &move);
}

void halving_exchange(const halving_t *h, const weft_move_t *give, const weft_move_t *take)
{
    h->builder->par(h->builder, h->lane, 2);
    h->builder->move(h->builder, h->lane, give);
    h->builder->move(h->builder, h->lane, take);
}
