/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All-reduce: halving by the steps of Swing, then the same way back. A lane for each dimension to
 * begin with, and for each way round, has its share of the data: so all links of a torus carry at
 * once, in both directions. Exchanges are PARs of one MOVE each way over a run of chunks. */
#include "swing_plan.h"

/* One lane of a rank. */
typedef struct swing_lane {
    weft_plan_builder_t *builder;
    swing_order_t order;
    uint32_t place, lane;
    uint32_t base; /* its first chunk */
    weft_operand_t to[SWING_STEPS], from[SWING_STEPS];
} swing_lane_t;

static int swing_is_power_of_two(uint32_t n)
{
    return n != 0 && (n & (n - 1)) == 0;
}

int swing_torus(const swing_settings_t *settings, uint32_t n, uint32_t size[SWING_DIMENSIONS])
{
    const int64_t wanted[SWING_DIMENSIONS] = {settings->x, settings->y, 0};
    uint32_t left = n;
    for (uint32_t d = 0; d < SWING_DIMENSIONS; d++) {
        size[d] = wanted[d] > 0 ? (uint32_t)wanted[d] : left;
        if (!swing_is_power_of_two(size[d]) || left % size[d] != 0) {
            return 0;
        }
        left /= size[d];
    }
    return left == 1;
}

static void swing_lane_open(swing_lane_t *l, const weft_algo_topo_t *topo, uint32_t channel)
{
    l->lane = l->builder->lane(l->builder);
    l->base = channel * l->order.n;
    for (uint32_t i = 0; i < l->order.nsteps; i++) {
        uint32_t peer = weft_algo_topo_rank(topo, swing_step(&l->order, l->place, i).peer);
        l->to[i] = weft_port(l->builder->port(l->builder, l->lane, peer, channel, 1));
        l->from[i] = weft_port(l->builder->port(l->builder, l->lane, peer, channel, 0));
    }
}

static void swing_exchange(const swing_lane_t *l, const weft_move_t *give, const weft_move_t *take)
{
    l->builder->par(l->builder, l->lane, 2);
    l->builder->move(l->builder, l->lane, give);
    l->builder->move(l->builder, l->lane, take);
}

/* Invariant: after step i this rank holds run `keep` combined over the 2^(i+1) ranks that the steps
 * so far join. Of two partners the one with the lower label stands on the left. */
static void swing_halve(const swing_lane_t *l)
{
    for (uint32_t i = 0; i < l->order.nsteps; i++) {
        swing_step_t s = swing_step(&l->order, l->place, i);
        uint32_t keep = l->base + s.keep, give = l->base + s.give, right = s.keep > s.give;
        weft_move_t send = {.dst = {l->to[i]}, .ndst = 1, .nsrc = 1, .cnt = s.cnt};
        weft_move_t fold = {.dst = {weft_out(keep, 0)}, .ndst = 1, .nsrc = 2, .cnt = s.cnt};
        send.src[0] = i == 0 ? weft_in(give, 0) : weft_out(give, 0);
        fold.src[right] = i == 0 ? weft_in(keep, 0) : weft_out(keep, 0);
        fold.src[1 - right] = l->from[i];
        fold.flags = i + 1 == l->order.nsteps ? WEFT_MOVE_FINAL : 0;
        swing_exchange(l, &send, &fold);
    }
}

/* The same runs back, which double. */
static void swing_gather(const swing_lane_t *l)
{
    for (uint32_t i = l->order.nsteps; i-- > 0;) {
        swing_step_t s = swing_step(&l->order, l->place, i);
        weft_move_t send = {.dst = {l->to[i]}, .ndst = 1, .nsrc = 1, .cnt = s.cnt};
        weft_move_t take = {.src = {l->from[i]}, .ndst = 1, .nsrc = 1, .cnt = s.cnt};
        send.src[0] = weft_out(l->base + s.keep, 0);
        take.dst[0] = weft_out(l->base + s.give, 0);
        swing_exchange(l, &send, &take);
    }
}

/* Cost of a lane: 2 log2 n exchanges, 2(n−1)/n of its share out. */
void swing_all_reduce(const swing_settings_t *settings, const weft_algo_call_t *call,
                      const weft_algo_topo_t *topo, weft_plan_builder_t *builder)
{
    uint32_t size[SWING_DIMENSIONS], ways = settings->mirror ? 2 : 1, ndimensions = 0;
    (void)swing_torus(settings, call->nranks, size);
    for (uint32_t d = 0; d < SWING_DIMENSIONS; d++) {
        ndimensions += size[d] > 1;
    }
    builder->grid(builder, ndimensions * ways * call->nranks, 0);
    swing_lane_t l = {.builder = builder, .place = weft_algo_topo_position(topo, call->rank)};
    uint32_t channel = 0;
    for (uint32_t d = 0; d < SWING_DIMENSIONS; d++) {
        for (uint32_t way = 0; way < ways && size[d] > 1; way++) {
            l.order = swing_order(size, d, way);
            swing_lane_open(&l, topo, channel++);
            swing_halve(&l);
            swing_gather(&l);
        }
    }
}
