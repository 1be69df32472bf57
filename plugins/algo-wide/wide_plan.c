/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One lane: up the tree, then down. A rank sends up once and then waits for what comes down, which
 * ends at ranks that only store, so plans do not hang for any depth of the queues. */
#include "wide_plan.h"

#include <stdbool.h>

typedef struct wide {
    weft_plan_builder_t *builder;
    wide_position_t position;
    uint32_t lane;
    uint32_t below[WIDE_WIDTH_MAX]; /* ports to the ranks below */
} wide_t;

void wide_position(const weft_algo_call_t *call, uint32_t width, wide_position_t *position)
{
    uint32_t n = call->nranks, number = (call->rank + n - call->root % n) % n;
    *position = (wide_position_t){.up = -1};
    if (number > 0) {
        position->up = ((number - 1) / width + call->root) % n;
    }
    for (uint64_t i = 1; i <= width && (uint64_t)number * width + i < n; i++) {
        uint64_t below = (uint64_t)number * width + i;
        position->down[position->ndown++] = (uint32_t)((below + call->root) % n);
    }
}

static void wide_init(wide_t *wide, const weft_algo_call_t *call, uint32_t width,
                      weft_plan_builder_t *builder)
{
    wide->builder = builder;
    wide_position(call, width, &wide->position);
}

static void wide_grid(wide_t *wide, uint32_t tmp)
{
    wide->builder->grid(wide->builder, 1, tmp);
    wide->lane = wide->builder->lane(wide->builder);
}

static weft_operand_t wide_port(const wide_t *wide, uint32_t peer, uint32_t sends)
{
    return weft_port(wide->builder->port(wide->builder, wide->lane, peer, 0, sends));
}

static void wide_move(const wide_t *wide, weft_move_t *move)
{
    wide->builder->move(wide->builder, wide->lane, move);
}

static void wide_ports_below(wide_t *wide)
{
    for (uint32_t i = 0; i < wide->position.ndown; i++) {
        wide->below[i] =
            wide->builder->port(wide->builder, wide->lane, wide->position.down[i], 0, 1);
    }
}

/* Adds ranks below to the destinations of a MOVE, as many as it takes. Returns the next one. */
static uint32_t wide_add_below(const wide_t *wide, uint32_t at, weft_move_t *move)
{
    while (at < wide->position.ndown && move->ndst < WEFT_MOVE_MAX) {
        move->dst[move->ndst++] = weft_port(wide->below[at++]);
    }
    return at;
}

/* Finishes a MOVE that has sources and a first destination: it goes to the ranks below too, those
 * that it does not take get what it stored. */
static void wide_spread(const wide_t *wide, weft_move_t *move, weft_operand_t stored)
{
    uint32_t at = wide_add_below(wide, 0, move);
    wide_move(wide, move);
    while (at < wide->position.ndown) {
        weft_move_t more = {.src = {stored}, .nsrc = 1, .like = weft_in(0, 0)};
        at = wide_add_below(wide, at, &more);
        wide_move(wide, &more);
    }
}

/* Folds this rank's data and that of the ranks below, in their order. `last` is the MOVE that
 * completes the sum; its destinations are set. It is the caller's to write. */
static void wide_gather(const wide_t *wide, weft_move_t *last)
{
    uint32_t nsrc = 1;
    weft_operand_t src[WEFT_MOVE_MAX] = {weft_in(0, 0)};
    for (uint32_t i = 0; i < wide->position.ndown; i++) {
        if (nsrc == WEFT_MOVE_MAX) {
            weft_move_t fold = {.dst = {weft_tmp(0, 0)}, .ndst = 1, .like = weft_in(0, 0)};
            for (fold.nsrc = 0; fold.nsrc < nsrc; fold.nsrc++) {
                fold.src[fold.nsrc] = src[fold.nsrc];
            }
            wide_move(wide, &fold);
            src[0] = weft_tmp(0, 0);
            nsrc = 1;
        }
        src[nsrc++] = wide_port(wide, wide->position.down[i], 0);
    }
    for (last->nsrc = 0; last->nsrc < nsrc; last->nsrc++) {
        last->src[last->nsrc] = src[last->nsrc];
    }
    last->like = weft_in(0, 0);
}

static uint32_t wide_tmp_chunks(const wide_t *wide)
{
    return wide->position.ndown + 1 > WEFT_MOVE_MAX ? 1 : 0;
}

/* Cost: on the longest way 2·depth edges; a rank sends and receives at most width + 1 blocks. */
void wide_all_reduce(const weft_algo_call_t *call, uint32_t width, weft_plan_builder_t *builder)
{
    weft_algo_call_t from_zero = *call;
    wide_t wide;
    from_zero.root = 0;
    wide_init(&wide, &from_zero, width, builder);
    wide_grid(&wide, wide_tmp_chunks(&wide));
    wide_ports_below(&wide);
    weft_move_t up = {.flags = WEFT_MOVE_FINAL};
    if (wide.position.up < 0) {
        up.dst[up.ndst++] = weft_out(0, 0);
        wide_gather(&wide, &up);
        wide_spread(&wide, &up, weft_out(0, 0));
        return;
    }
    uint32_t above = (uint32_t)wide.position.up;
    up = (weft_move_t){.dst = {wide_port(&wide, above, 1)}, .ndst = 1};
    wide_gather(&wide, &up);
    wide_move(&wide, &up);
    weft_move_t down = {
        .dst = {weft_out(0, 0)}, .ndst = 1, .src = {wide_port(&wide, above, 0)}, .nsrc = 1};
    wide_spread(&wide, &down, weft_out(0, 0));
}

/* Cost: depth edges; a rank sends at most width blocks. */
void wide_broadcast(const weft_algo_call_t *call, uint32_t width, weft_plan_builder_t *builder)
{
    wide_t wide;
    wide_init(&wide, call, width, builder);
    wide_grid(&wide, 0);
    wide_ports_below(&wide);
    weft_operand_t from =
        wide.position.up < 0 ? weft_in(0, 0) : wide_port(&wide, (uint32_t)wide.position.up, 0);
    weft_move_t down = {.dst = {weft_out(0, 0)}, .ndst = 1, .src = {from}, .nsrc = 1};
    wide_spread(&wide, &down, weft_out(0, 0));
}

/* Cost: depth edges; a rank receives at most width blocks. */
void wide_reduce(const weft_algo_call_t *call, uint32_t width, weft_plan_builder_t *builder)
{
    wide_t wide;
    wide_init(&wide, call, width, builder);
    wide_grid(&wide, wide_tmp_chunks(&wide));
    bool top = wide.position.up < 0;
    weft_move_t up = {.ndst = 1, .flags = top ? WEFT_MOVE_FINAL : 0};
    up.dst[0] = top ? weft_out(0, 0) : wide_port(&wide, (uint32_t)wide.position.up, 1);
    wide_gather(&wide, &up);
    wide_move(&wide, &up);
}
