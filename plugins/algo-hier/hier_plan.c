/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Three plans. Inside a host a rank sends in one lane and takes in another, chunk after chunk: a
 * wait for one chunk does not keep the next from leaving. Whoever is furthest behind finds its
 * queues empty and can send, so nothing hangs as long as a chunk has no more slices than a queue
 * has slots. Sending a whole piece before taking anything, in one lane, would hang as soon as a
 * piece is longer than a queue.
 *
 * The phases of a pass are lanes, tied by barriers, so that the hosts exchange one pass while the
 * next one is being gathered and the last one is being spread. What crosses a barrier lies in OUT,
 * which is another position in every pass; scratch would be overwritten by the next one. */
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

/* Every rank sends piece j to head j, or takes it from there. */
static void hier_plan_exchange_pieces(const hier_t *hier, int up)
{
    hier_ports(hier, hier->layout->heads, up ? CHANNEL_UP : CHANNEL_DOWN, up ? 1 : 0);
    hier_chunks_begin(hier);
    hier_plan_meet_heads(hier, up);
    hier_chunks_end(hier);
}

/* Head j folds what all ranks of its host send of piece j into OUT. */
static void hier_plan_fold_piece(const hier_t *hier, uint32_t sum)
{
    const hier_layout_t *layout = hier->layout;
    hier_ports(hier, layout->locals, CHANNEL_UP, 0);
    hier_chunks_begin(hier);
    hier_fold(hier, hier_in_of(hier, layout->index), weft_tmp(sum, 0),
              hier_out_of(hier, layout->index));
    hier_chunks_end(hier);
}

/* Head j sends the result of piece j to all. */
static void hier_plan_spread_piece(const hier_t *hier)
{
    hier_ports(hier, hier->layout->locals, CHANNEL_DOWN, 1);
    hier_chunks_begin(hier);
    hier_spread(hier, hier_out_of(hier, hier->layout->index), none);
    hier_chunks_end(hier);
}

/* The lanes of a head behind that in which it sends. It takes results when it has its own: a lane
 * that waits for memory would keep the rank from seeing what comes from other hosts. */
static void hier_plan_head(hier_t *hier, uint32_t between, uint32_t sum)
{
    uint32_t others = hier->layout->heads - 1;
    weft_operand_t piece = weft_out(hier->layout->index * hier->k, 0);
    hier_new_lane(hier);
    hier_plan_fold_piece(hier, sum);
    hier_join_lanes(hier, 1);
    hier->builder->call(hier->builder, hier->lane, between, piece, piece, 0, CHANNEL_BETWEEN);
    hier_join_lanes(hier, others > 0 ? 2 : 1);
    hier_plan_spread_piece(hier);
    if (others > 0) {
        hier->lane++;
        hier_plan_exchange_pieces(hier, 0);
    }
}

/* The first lane sends pieces to heads and the last one takes results; those between them are of
 * heads. The only head of a host has neither. Cost per rank, l ranks on each of h hosts: 2(l−1)/l
 * blocks inside the host, and between hosts what the other algorithm sends for 1/l of a block; two
 * waits inside the host. */
void hier_all_reduce(const hier_job_t *job)
{
    const hier_layout_t *layout = job->layout;
    weft_plan_builder_t *b = job->builder;
    hier_t hier;
    uint32_t tmp, is_head = layout->index < layout->heads;
    uint32_t between =
        hier_ask_between(&hier, job, hier_group(layout, is_head ? layout->index : 0), 0, &tmp);
    b->grid(b, layout->heads * hier.k, tmp + 1);
    if (layout->locals == 1) {
        hier_new_lane(&hier);
        b->call(b, hier.lane, between, weft_in(0, 0), weft_out(0, 0), 0, CHANNEL_BETWEEN);
        return;
    }
    if (layout->heads > is_head) {
        hier_new_lane(&hier);
        hier_plan_exchange_pieces(&hier, 1);
    }
    if (is_head) {
        hier_plan_head(&hier, between, tmp);
    } else {
        hier_new_lane(&hier);
        hier_plan_exchange_pieces(&hier, 0);
    }
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
        hier_join_lanes(&hier, 1);
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
