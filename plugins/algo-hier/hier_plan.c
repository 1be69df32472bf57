/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Three plans. Inside a host chunks go one at a time: a rank sends its chunk to all who want it, then
 * takes what is sent to it. Whoever is furthest behind finds its queues empty and can send, so
 * nothing hangs as long as a chunk has no more slices than a queue has slots. Sending a whole piece
 * before taking anything would hang as soon as a piece is longer than a queue.
 *
 * The phases of a pass are lanes, tied by barriers, so that the hosts exchange one pass while the next
 * one is being gathered and the last one is being spread. What crosses a barrier lies in OUT, which
 * is another place in every pass; scratch would be overwritten by the next one. */
#include "hier_plan.h"

enum { CHANNEL_UP = 0, CHANNEL_DOWN = 1, CHANNEL_BETWEEN = 2 };

#define TOGETHER_MAX 16u /* MOVEs of one PAR */

typedef struct hier {
    const hier_job_t *job;
    const hier_layout_t *layout;
    weft_plan_builder_t *builder;
    uint32_t k;    /* chunks of a piece: of the sub-plan's block */
    uint32_t lane; /* that is being written */
} hier_t;

/* Has the algorithm between hosts write its plan for `group`; learns k. */
static uint32_t ask_between(hier_t *hier, const hier_job_t *job, const uint32_t *group,
                            uint32_t root_place, uint32_t *tmp_p)
{
    *hier = (hier_t){.job = job, .layout = job->layout, .builder = job->builder};
    weft_plan_sub_t sub = {.size = sizeof sub,
                           .algo = job->between,
                           .coll = job->call->coll,
                           .group = group,
                           .n = job->layout->nhosts,
                           .root = root_place};
    return job->builder->sub(job->builder, &sub, &hier->k, tmp_p);
}

static void new_lane(hier_t *hier)
{
    hier->lane = hier->builder->lane(hier->builder);
}

static void port(const hier_t *hier, uint32_t place, uint32_t channel, uint32_t sends)
{
    uint32_t *ports = sends ? hier->job->to : hier->job->from;
    ports[place] = hier->builder->port(hier->builder, hier->lane, hier_local(hier->layout, place),
                                       channel, sends);
}

/* A port for each of the first `count` places of the host but this rank's. */
static void ports(const hier_t *hier, uint32_t count, uint32_t channel, uint32_t sends)
{
    for (uint32_t place = 0; place < count; place++) {
        if (place != hier->layout->index) {
            port(hier, place, channel, sends);
        }
    }
}

static weft_operand_t to(const hier_t *hier, uint32_t place)
{
    return weft_port(hier->job->to[place]);
}

static weft_operand_t from(const hier_t *hier, uint32_t place)
{
    return weft_port(hier->job->from[place]);
}

static void add(const hier_t *hier, const weft_move_t *move)
{
    hier->builder->move(hier->builder, hier->lane, move);
}

static void copy(const hier_t *hier, weft_operand_t dst, weft_operand_t src)
{
    add(hier, &(weft_move_t){.dst = {dst}, .src = {src}, .ndst = 1, .nsrc = 1});
}

/* What stands between these two is done for each of the k chunks of a piece. */
static void chunks_begin(const hier_t *hier)
{
    if (hier->k > 1) {
        hier->builder->loop(hier->builder, hier->lane, hier->k);
    }
}

static void chunks_end(const hier_t *hier)
{
    if (hier->k > 1) {
        hier->builder->end(hier->builder, hier->lane);
    }
}

static weft_operand_t in_of(const hier_t *hier, uint32_t piece)
{
    return weft_in(piece * hier->k, 1);
}

static weft_operand_t out_of(const hier_t *hier, uint32_t piece)
{
    return weft_out(piece * hier->k, 1);
}

/* Makes a PAR of the next MOVEs, of which `left` are to come; returns how many it holds. */
static uint32_t together(const hier_t *hier, uint32_t left)
{
    uint32_t members = left < TOGETHER_MAX ? left : TOGETHER_MAX;
    if (members > 1) {
        hier->builder->par(hier->builder, hier->lane, members);
    }
    return members;
}

/* The current chunk of each head's piece: from IN to the head, or from the head to OUT. Ranks start
 * with different heads. */
static void meet_heads(const hier_t *hier, int up)
{
    const hier_layout_t *layout = hier->layout;
    uint32_t left = layout->heads - (layout->index < layout->heads ? 1 : 0), members = 0;
    for (uint32_t distance = 1; left > 0; distance++) {
        uint32_t head = (layout->index + distance) % layout->heads;
        if (head == layout->index) {
            continue;
        }
        members = members == 0 ? together(hier, left) : members;
        if (up) {
            copy(hier, to(hier, head), in_of(hier, head));
        } else {
            copy(hier, out_of(hier, head), from(hier, head));
        }
        members--;
        left--;
    }
}

/* result ← own and what the others of the host send, in rank order; `sum` holds the parts. */
static void fold(const hier_t *hier, weft_operand_t own, weft_operand_t sum, weft_operand_t result)
{
    const hier_layout_t *layout = hier->layout;
    weft_move_t move = {.ndst = 1, .like = own};
    for (uint32_t place = 0; place < layout->locals; place++) {
        move.src[move.nsrc++] = place == layout->index ? own : from(hier, place);
        int last = place + 1 == layout->locals;
        if (move.nsrc < WEFT_MOVE_MAX && !last) {
            continue;
        }
        move.dst[0] = last ? result : sum;
        add(hier, &move);
        move.src[0] = sum;
        move.nsrc = 1;
    }
}

/* `src` to all others of the host, four destinations to a MOVE. */
static void spread(const hier_t *hier, weft_operand_t src)
{
    const hier_layout_t *layout = hier->layout;
    weft_move_t move = {.src = {src}, .nsrc = 1};
    for (uint32_t distance = 1; distance < layout->locals; distance++) {
        move.dst[move.ndst++] = to(hier, (layout->index + distance) % layout->locals);
        if (move.ndst == WEFT_MOVE_MAX || distance + 1 == layout->locals) {
            add(hier, &move);
            move.ndst = 0;
        }
    }
}

/* Every rank sends piece j to head j, which folds it into OUT. */
static void gather_pieces(const hier_t *hier, uint32_t sum)
{
    const hier_layout_t *layout = hier->layout;
    int is_head = layout->index < layout->heads;
    ports(hier, layout->heads, CHANNEL_UP, 1);
    ports(hier, is_head ? layout->locals : 0, CHANNEL_UP, 0);
    chunks_begin(hier);
    meet_heads(hier, 1);
    if (is_head) {
        fold(hier, in_of(hier, layout->index), weft_tmp(sum, 0), out_of(hier, layout->index));
    }
    chunks_end(hier);
}

/* Head j sends the result of piece j to all. */
static void spread_pieces(const hier_t *hier)
{
    const hier_layout_t *layout = hier->layout;
    int is_head = layout->index < layout->heads;
    ports(hier, is_head ? layout->locals : 0, CHANNEL_DOWN, 1);
    ports(hier, layout->heads, CHANNEL_DOWN, 0);
    chunks_begin(hier);
    if (is_head) {
        spread(hier, out_of(hier, layout->index));
    }
    meet_heads(hier, 0);
    chunks_end(hier);
}

/* A new lane that begins when all that was written in this one is done. */
static void join_lane(hier_t *hier)
{
    weft_plan_builder_t *b = hier->builder;
    uint32_t first = hier->lane;
    new_lane(hier);
    uint64_t both = UINT64_C(1) << first | UINT64_C(1) << hier->lane;
    b->bar(b, first, both);
    b->bar(b, hier->lane, both);
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
        ask_between(&hier, job, hier_group(layout, is_head ? layout->index : 0), 0, &tmp);
    b->grid(b, layout->heads * hier.k, tmp + 1);
    new_lane(&hier);
    if (layout->locals == 1) {
        b->call(b, hier.lane, between, weft_in(0, 0), weft_out(0, 0), 0, CHANNEL_BETWEEN);
        return;
    }
    gather_pieces(&hier, tmp);
    if (is_head) {
        weft_operand_t part = weft_out(layout->index * hier.k, 0);
        join_lane(&hier);
        b->call(b, hier.lane, between, part, part, 0, CHANNEL_BETWEEN);
        join_lane(&hier);
    } else {
        new_lane(&hier);
    }
    spread_pieces(&hier);
}

/* Lane 0 of a leader works between hosts, the other lane spreads inside the host. */
void hier_broadcast(const hier_job_t *job)
{
    const hier_layout_t *layout = job->layout;
    weft_plan_builder_t *b = job->builder;
    hier_t hier;
    uint32_t tmp, place = 0;
    const uint32_t *leaders = hier_leaders(layout, job->call->root, &place);
    uint32_t between = ask_between(&hier, job, leaders, place, &tmp);
    uint32_t leader = hier_place(layout, leaders[layout->host]);
    b->grid(b, hier.k, tmp);
    new_lane(&hier);
    if (layout->index == leader) {
        b->call(b, hier.lane, between, weft_in(0, 0), weft_out(0, 0), 0, CHANNEL_BETWEEN);
        if (layout->locals == 1) {
            return;
        }
        join_lane(&hier);
        ports(&hier, layout->locals, CHANNEL_DOWN, 1);
    } else {
        port(&hier, leader, CHANNEL_DOWN, 0);
    }
    chunks_begin(&hier);
    if (layout->index == leader) {
        spread(&hier, out_of(&hier, 0));
    } else {
        copy(&hier, out_of(&hier, 0), from(&hier, leader));
    }
    chunks_end(&hier);
}

/* One lane: the sum of the host is scratch, for only the root has OUT. */
void hier_reduce(const hier_job_t *job)
{
    const hier_layout_t *layout = job->layout;
    weft_plan_builder_t *b = job->builder;
    hier_t hier;
    uint32_t tmp, place = 0;
    const uint32_t *leaders = hier_leaders(layout, job->call->root, &place);
    uint32_t between = ask_between(&hier, job, leaders, place, &tmp);
    uint32_t leader = hier_place(layout, leaders[layout->host]);
    b->grid(b, hier.k, tmp + hier.k);
    new_lane(&hier);
    if (layout->index != leader) {
        port(&hier, leader, CHANNEL_UP, 1);
        chunks_begin(&hier);
        copy(&hier, to(&hier, leader), in_of(&hier, 0));
        chunks_end(&hier);
        return;
    }
    weft_operand_t sum = weft_in(0, 0);
    if (layout->locals > 1) {
        sum = weft_tmp(tmp, 0);
        ports(&hier, layout->locals, CHANNEL_UP, 0);
        chunks_begin(&hier);
        fold(&hier, in_of(&hier, 0), weft_tmp(tmp, 1), weft_tmp(tmp, 1));
        chunks_end(&hier);
    }
    b->call(b, hier.lane, between, sum, weft_out(0, 0), 0, CHANNEL_BETWEEN);
}
