/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Three plans. Inside a host chunks go one at a time: a rank sends its chunk to all who want it, then
 * takes what is sent to it. Whoever is furthest behind finds its queues empty and can send, so
 * nothing hangs as long as a chunk has no more slices than a queue has slots. Sending a whole piece
 * before taking anything would hang as soon as a piece is longer than a queue.
 *
 * The phases of a pass are lanes, tied by barriers, so that the hosts exchange one pass while the next
 * one is being gathered and the last one is being spread. What crosses a barrier lies in OUT, which
 * is another position in every pass; scratch would be overwritten by the next one. */
#include "hier_plan.h"

static const weft_operand_t none = {WEFT_OPERAND_NONE, 0, 0};

/* The current chunk of each head's piece: from IN to the head, or from the head to OUT. Ranks start
 * with different heads. */
static void hier_plan_meet_heads(const hier_t *hier, int up)
{
    const hier_layout_t *layout = hier->layout;
    uint32_t left = layout->heads - (layout->index < layout->heads ? 1 : 0), members = 0;
    for (uint32_t distance = 1; left > 0; distance++) {
        uint32_t head = (layout->index + distance) % layout->heads;
        if (head == layout->index) {
            continue;
        }
        members = members == 0 ? hier_together(hier, left) : members;
        if (up) {
            hier_copy(hier, hier_to(hier, head), hier_in_of(hier, head));
        } else {
            hier_copy(hier, hier_out_of(hier, head), hier_from(hier, head));
        }
        members--;
        left--;
    }
}

/* Every rank sends piece j to head j, which folds it into OUT. */
static void hier_plan_gather_pieces(const hier_t *hier, uint32_t sum)
{
    const hier_layout_t *layout = hier->layout;
    int is_head = layout->index < layout->heads;
    hier_ports(hier, layout->heads, CHANNEL_UP, 1);
    hier_ports(hier, is_head ? layout->locals : 0, CHANNEL_UP, 0);
    hier_chunks_begin(hier);
    hier_plan_meet_heads(hier, 1);
    if (is_head) {
        hier_fold(hier, hier_in_of(hier, layout->index), weft_tmp(sum, 0),
                  hier_out_of(hier, layout->index));
    }
    hier_chunks_end(hier);
}

/* Head j sends the result of piece j to all. */
static void hier_plan_spread_pieces(const hier_t *hier)
{
    const hier_layout_t *layout = hier->layout;
    int is_head = layout->index < layout->heads;
    hier_ports(hier, is_head ? layout->locals : 0, CHANNEL_DOWN, 1);
    hier_ports(hier, layout->heads, CHANNEL_DOWN, 0);
    hier_chunks_begin(hier);
    if (is_head) {
        hier_spread(hier, hier_out_of(hier, layout->index), none);
    }
    hier_plan_meet_heads(hier, 0);
    hier_chunks_end(hier);
}

/* Lane 0 gathers, lane 1 works between hosts, lane 2 spreads; ranks that are not heads have the first
 * and the last only. Cost per rank, l ranks on each of h hosts: 2(l−1)/l blocks inside the host, and
 * between hosts what the other algorithm sends for 1/l of a block. */
void hier_all_reduce(const hier_job_t *job)
{
    const hier_layout_t *layout = job->layout;
    weft_plan_builder_t *b = job->builder;
    hier_t hier;
    uint32_t tmp, is_head = layout->index < layout->heads;
    uint32_t between =
        hier_ask_between(&hier, job, hier_group(layout, is_head ? layout->index : 0), 0, &tmp);
    b->grid(b, layout->heads * hier.k, tmp + 1);
    hier_new_lane(&hier);
    if (layout->locals == 1) {
        b->call(b, hier.lane, between, weft_in(0, 0), weft_out(0, 0), 0, CHANNEL_BETWEEN);
        return;
    }
    hier_plan_gather_pieces(&hier, tmp);
    if (is_head) {
        weft_operand_t part = weft_out(layout->index * hier.k, 0);
        hier_join_lane(&hier);
        b->call(b, hier.lane, between, part, part, 0, CHANNEL_BETWEEN);
        hier_join_lane(&hier);
    } else {
        hier_new_lane(&hier);
    }
    hier_plan_spread_pieces(&hier);
}

/* Lane 0 of a leader works between hosts, the other lane spreads inside the host. */
void hier_broadcast(const hier_job_t *job)
{
    const hier_layout_t *layout = job->layout;
    weft_plan_builder_t *b = job->builder;
    hier_t hier;
    uint32_t tmp, position = 0;
    const uint32_t *leaders = hier_leaders(layout, job->call->root, &position);
    uint32_t between = hier_ask_between(&hier, job, leaders, position, &tmp);
    uint32_t leader = hier_position(layout, leaders[layout->host]);
    b->grid(b, hier.k, tmp);
    hier_new_lane(&hier);
    if (layout->index == leader) {
        b->call(b, hier.lane, between, weft_in(0, 0), weft_out(0, 0), 0, CHANNEL_BETWEEN);
        if (layout->locals == 1) {
            return;
        }
        hier_join_lane(&hier);
        hier_ports(&hier, layout->locals, CHANNEL_DOWN, 1);
    } else {
        hier_port(&hier, leader, CHANNEL_DOWN, 0);
    }
    hier_chunks_begin(&hier);
    if (layout->index == leader) {
        hier_spread(&hier, hier_out_of(&hier, 0), none);
    } else {
        hier_copy(&hier, hier_out_of(&hier, 0), hier_from(&hier, leader));
    }
    hier_chunks_end(&hier);
}

/* One lane: the sum of the host is scratch, for only the root has OUT. */
void hier_reduce(const hier_job_t *job)
{
    const hier_layout_t *layout = job->layout;
    weft_plan_builder_t *b = job->builder;
    hier_t hier;
    uint32_t tmp, position = 0;
    const uint32_t *leaders = hier_leaders(layout, job->call->root, &position);
    uint32_t between = hier_ask_between(&hier, job, leaders, position, &tmp);
    uint32_t leader = hier_position(layout, leaders[layout->host]);
    b->grid(b, hier.k, tmp + hier.k);
    hier_new_lane(&hier);
    if (layout->index != leader) {
        hier_port(&hier, leader, CHANNEL_UP, 1);
        hier_chunks_begin(&hier);
        hier_copy(&hier, hier_to(&hier, leader), hier_in_of(&hier, 0));
        hier_chunks_end(&hier);
        return;
    }
    weft_operand_t sum = weft_in(0, 0);
    if (layout->locals > 1) {
        sum = weft_tmp(tmp, 0);
        hier_ports(&hier, layout->locals, CHANNEL_UP, 0);
        hier_chunks_begin(&hier);
        hier_fold(&hier, hier_in_of(&hier, 0), weft_tmp(tmp, 1), weft_tmp(tmp, 1));
        hier_chunks_end(&hier);
    }
    b->call(b, hier.lane, between, sum, weft_out(0, 0), 0, CHANNEL_BETWEEN);
}
