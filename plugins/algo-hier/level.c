/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See level.h. */
#include "level.h"

#include "layout.h"

#define TOGETHER_MAX 16u /* MOVEs of one PAR */

uint32_t hier_ask_between(hier_t *hier, const hier_job_t *job, const uint32_t *group,
                          uint32_t root_position, uint32_t *tmp_p)
{
    *hier = (hier_t){.job = job, .layout = job->layout, .builder = job->builder};
    weft_plan_sub_t sub = {.size = sizeof sub,
                           .algo = job->between,
                           .coll = job->call->coll,
                           .group = group,
                           .n = job->layout->nhosts,
                           .root = root_position};
    return job->builder->sub(job->builder, &sub, &hier->k, tmp_p);
}

void hier_new_lane(hier_t *hier)
{
    hier->lane = hier->builder->lane(hier->builder);
}

void hier_port(const hier_t *hier, uint32_t position, uint32_t channel, uint32_t sends)
{
    uint32_t *ports = sends ? hier->job->to : hier->job->from;
    ports[position] = hier->builder->port(hier->builder, hier->lane,
                                          hier_local(hier->layout, position), channel, sends);
}

void hier_ports(const hier_t *hier, uint32_t count, uint32_t channel, uint32_t sends)
{
    for (uint32_t position = 0; position < count; position++) {
        if (position != hier->layout->index) {
            hier_port(hier, position, channel, sends);
        }
    }
}

weft_operand_t hier_to(const hier_t *hier, uint32_t position)
{
    return weft_port(hier->job->to[position]);
}

weft_operand_t hier_from(const hier_t *hier, uint32_t position)
{
    return weft_port(hier->job->from[position]);
}

void hier_add(const hier_t *hier, const weft_move_t *move)
{
    hier->builder->move(hier->builder, hier->lane, move);
}

void hier_copy(const hier_t *hier, weft_operand_t dst, weft_operand_t src)
{
    hier_add(hier, &(weft_move_t){.dst = {dst}, .src = {src}, .ndst = 1, .nsrc = 1});
}

void hier_chunks_begin(const hier_t *hier)
{
    if (hier->k > 1) {
        hier->builder->loop(hier->builder, hier->lane, hier->k);
    }
}

void hier_chunks_end(const hier_t *hier)
{
    if (hier->k > 1) {
        hier->builder->end(hier->builder, hier->lane);
    }
}

weft_operand_t hier_in_of(const hier_t *hier, uint32_t piece)
{
    return weft_in(piece * hier->k, 1);
}

weft_operand_t hier_out_of(const hier_t *hier, uint32_t piece)
{
    return weft_out(piece * hier->k, 1);
}

weft_operand_t hier_tmp_of(const hier_t *hier, uint32_t piece)
{
    return weft_tmp(piece * hier->k, 1);
}

uint32_t hier_together(const hier_t *hier, uint32_t left)
{
    uint32_t members = left < TOGETHER_MAX ? left : TOGETHER_MAX;
    if (members > 1) {
        hier->builder->par(hier->builder, hier->lane, members);
    }
    return members;
}

void hier_join_lanes(hier_t *hier, uint32_t count)
{
    weft_plan_builder_t *b = hier->builder;
    uint32_t before = hier->lane;
    hier_new_lane(hier);
    for (uint32_t i = 1; i < count; i++) {
        (void)b->lane(b);
    }
    uint64_t all = UINT64_C(1) << before | ((UINT64_C(1) << count) - 1) << hier->lane;
    b->bar(b, before, all);
    for (uint32_t i = 0; i < count; i++) {
        b->bar(b, hier->lane + i, all);
    }
}

void hier_fold(const hier_t *hier, weft_operand_t own, weft_operand_t sum, weft_operand_t result)
{
    const hier_layout_t *layout = hier->layout;
    weft_move_t move = {.ndst = 1, .like = own};
    for (uint32_t position = 0; position < layout->locals; position++) {
        move.src[move.nsrc++] = position == layout->index ? own : hier_from(hier, position);
        int last = position + 1 == layout->locals;
        if (move.nsrc < WEFT_MOVE_MAX && !last) {
            continue;
        }
        move.dst[0] = last ? result : sum;
        hier_add(hier, &move);
        move.src[0] = sum;
        move.nsrc = 1;
    }
}

void hier_spread(const hier_t *hier, weft_operand_t src, weft_operand_t own)
{
    const hier_layout_t *layout = hier->layout;
    weft_move_t move = {.dst = {own}, .src = {src}, .nsrc = 1, .like = own};
    move.ndst = own.kind != WEFT_OPERAND_NONE ? 1 : 0;
    for (uint32_t distance = 1; distance < layout->locals; distance++) {
        move.dst[move.ndst++] = hier_to(hier, (layout->index + distance) % layout->locals);
        if (move.ndst == WEFT_MOVE_MAX || distance + 1 == layout->locals) {
            hier_add(hier, &move);
            move.ndst = 0;
        }
    }
}
