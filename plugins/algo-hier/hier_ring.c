/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rings of heads. The hosts stand on a ring in the order in which neighbours are near; head j of
 * all hosts are ring j, and the blocks of the ranks at positions j, j+L, j+2L … of their hosts go
 * round it. One block of each host at a time, a round; where a host has no rank at that position,
 * nothing moves for it. Every MOVE speaks of one block, so the plans serve blocks of different
 * lengths, too.
 *
 * A head sends one block of a round before it takes one, so nothing hangs as long as a chunk has
 * fewer slices than a queue has slots. */
#include "hier_ring.h"

#include "layout.h"

enum { NO_BLOCK = -1 };

static const weft_operand_t none = {WEFT_OPERAND_NONE, 0, 0};

typedef struct hier_ring {
    hier_t hier;
    const hier_layout_t *layout;
    weft_operand_t next, prev; /* of this head's ring */
    uint32_t rounds;
    int is_head;
} hier_ring_t;

/* The rank whose block ring `ring` carries in `round` for the host `back` places before this
 * one. */
static int64_t hier_ring_block(const hier_ring_t *r, uint32_t round, uint32_t back, uint32_t ring)
{
    const hier_layout_t *layout = r->layout;
    uint32_t host = layout->ring[(layout->place + layout->nhosts - back) % layout->nhosts];
    uint32_t position = round * layout->heads + ring;
    uint32_t first = layout->first[host];
    return position < layout->first[host + 1] - first ? (int64_t)layout->ranks[first + position]
                                                      : NO_BLOCK;
}

/* A port of the ring, `away` places from this host. */
static weft_operand_t hier_ring_port(const hier_ring_t *r, uint32_t away, uint32_t sends)
{
    const hier_layout_t *layout = r->layout;
    weft_plan_builder_t *b = r->hier.builder;
    uint32_t host = layout->ring[(layout->place + away) % layout->nhosts];
    uint32_t peer = layout->ranks[layout->first[host] + layout->index];
    return weft_port(b->port(b, r->hier.lane, peer, CHANNEL_BETWEEN, sends));
}

static void hier_ring_init(hier_ring_t *r, const hier_job_t *job, uint32_t tmp)
{
    const hier_layout_t *layout = job->layout;
    *r = (hier_ring_t){.hier = {.job = job, .layout = layout, .builder = job->builder, .k = 1},
                       .layout = layout,
                       .rounds = (layout->widest + layout->heads - 1) / layout->heads,
                       .is_head = layout->index < layout->heads};
    job->builder->grid(job->builder, 1, tmp);
    hier_new_lane(&r->hier);
    if (r->is_head) {
        r->next = hier_ring_port(r, 1, 1);
        r->prev = hier_ring_port(r, layout->nhosts - 1, 0);
    }
}

/* All-gather ----------------------------------------------------------------------------------- */

/* How the two lanes of an all-gather meet: where the ring has taken each block, and where a block
 * that another rank of this host gave came in. */
typedef struct hier_ring_waits {
    uint32_t *pc; /* by rank of the block */
    uint32_t lane;
} hier_ring_waits_t;

/* The ring of this head. Blocks of this host beyond the heads' come from their ranks (`given`). */
static void hier_ring_gather(const hier_ring_t *r, const hier_ring_waits_t *taken,
                             const hier_ring_waits_t *given)
{
    uint32_t nhosts = r->layout->nhosts;
    for (uint32_t step = 0; step < r->rounds * nhosts; step++) {
        uint32_t round = step / nhosts, back = step % nhosts;
        int64_t block = hier_ring_block(r, round, back, r->layout->index);
        if (block == NO_BLOCK) {
            continue;
        }
        weft_operand_t out = weft_out((uint32_t)block, 0);
        weft_move_t move = {.src = {r->prev}, .dst = {out, r->next}, .nsrc = 1, .ndst = 2};
        if (back == 0) {
            move.src[0] = round == 0 ? weft_in(0, 0) : out;
            move.dst[0] = r->next;
            move.ndst = 1;
            if (round > 0) {
                move.after[move.nafter++] = (weft_after_t){given->lane, given->pc[block]};
            }
        } else if (back + 1 == nhosts) {
            move.ndst = 1;
        }
        taken->pc[block] = r->hier.builder->move(r->hier.builder, r->hier.lane, &move);
    }
}

/* `src` to all others of the host, when the ring has it. */
static void hier_ring_spread(const hier_ring_t *r, weft_operand_t src,
                             const hier_ring_waits_t *taken, int64_t block)
{
    const hier_layout_t *layout = r->layout;
    weft_move_t move = {.src = {src}, .nsrc = 1};
    if (block != NO_BLOCK) {
        move.after[move.nafter++] = (weft_after_t){taken->lane, taken->pc[block]};
    }
    for (uint32_t distance = 1; distance < layout->locals; distance++) {
        move.dst[move.ndst++] = hier_to(&r->hier, (layout->index + distance) % layout->locals);
        if (move.ndst == WEFT_MOVE_MAX || distance + 1 == layout->locals) {
            hier_add(&r->hier, &move);
            move.ndst = 0;
        }
    }
}

/* Takes one block from each of the first `count` ranks of the host that has one. */
static void hier_ring_take(const hier_ring_t *r, uint32_t round, uint32_t back, uint32_t count,
                           const hier_ring_waits_t *given)
{
    const hier_layout_t *layout = r->layout;
    for (uint32_t distance = 1; distance <= count; distance++) {
        uint32_t position = (layout->index + distance) % count;
        int64_t block = hier_ring_block(r, round, back, position);
        if (position == layout->index || block == NO_BLOCK) {
            continue;
        }
        weft_move_t move = {.src = {hier_from(&r->hier, position)},
                            .dst = {weft_out((uint32_t)block, 0)},
                            .nsrc = 1,
                            .ndst = 1};
        given->pc[block] = r->hier.builder->move(r->hier.builder, r->hier.lane, &move);
    }
}

/* The blocks of this host: every rank gives its own to all others. */
static void hier_ring_share_own(const hier_ring_t *r, const hier_ring_waits_t *given)
{
    const hier_layout_t *layout = r->layout;
    hier_ring_spread(r, weft_in(0, 0), NULL, NO_BLOCK);
    for (uint32_t distance = 1; distance < layout->locals; distance++) {
        uint32_t position = (layout->index + distance) % layout->locals;
        uint32_t block = hier_local(layout, position);
        weft_move_t move = {.src = {hier_from(&r->hier, position)},
                            .dst = {weft_out(block, 0)},
                            .nsrc = 1,
                            .ndst = 1};
        given->pc[block] = r->hier.builder->move(r->hier.builder, r->hier.lane, &move);
    }
}

/* OUT of this rank's own block, when nobody reads IN any more: in place the two are one. */
static void hier_ring_keep_own(const hier_ring_t *r, const hier_ring_waits_t *taken)
{
    uint32_t rank = r->hier.job->call->rank;
    weft_move_t move = {.src = {weft_in(0, 0)}, .dst = {weft_out(rank, 0)}, .nsrc = 1, .ndst = 1};
    if (r->is_head) {
        move.after[move.nafter++] = (weft_after_t){taken->lane, taken->pc[rank]};
    }
    hier_add(&r->hier, &move);
}

/* Lane 0 of a head is its ring; the other lane gives every block to the whole host as soon as the
 * ring has it. Cost per head, n ranks, L heads: n/L blocks between hosts, and n/L·(l−1) to the l−1
 * others of its host. */
void hier_ring_all_gather(const hier_job_t *job)
{
    const hier_layout_t *layout = job->layout;
    uint32_t nhosts = layout->nhosts;
    hier_ring_t r, inside;
    hier_ring_init(&r, job, 0);
    inside = r;
    if (r.is_head) {
        hier_new_lane(&inside.hier);
    }
    hier_ring_waits_t taken = {job->waits, r.hier.lane},
                      given = {job->waits + layout->n, inside.hier.lane};
    hier_ports(&inside.hier, layout->locals, CHANNEL_DOWN, 1);
    hier_ports(&inside.hier, layout->locals, CHANNEL_DOWN, 0);
    hier_ring_share_own(&inside, &given);
    if (r.is_head) {
        hier_ring_gather(&r, &taken, &given);
    }
    for (uint32_t step = 0; step < r.rounds * nhosts; step++) {
        uint32_t round = step / nhosts, back = step % nhosts;
        if (back == 0) {
            continue;
        }
        int64_t block =
            r.is_head ? hier_ring_block(&r, round, back, layout->index) : (int64_t)NO_BLOCK;
        if (block != NO_BLOCK) {
            hier_ring_spread(&inside, weft_out((uint32_t)block, 0), &taken, block);
        }
        hier_ring_take(&inside, round, back, layout->heads, &given);
    }
    hier_ring_keep_own(&inside, &taken);
}

/* Reduce-scatter ------------------------------------------------------------------------------- */

/* Sends this rank's part of the blocks that come up in the step to the heads of its host. */
static void hier_ring_give(const hier_ring_t *r, uint32_t round, uint32_t back)
{
    const hier_layout_t *layout = r->layout;
    for (uint32_t distance = 1; distance <= layout->heads; distance++) {
        uint32_t head = (layout->index + distance) % layout->heads;
        int64_t block = hier_ring_block(r, round, back, head);
        if (head != layout->index && block != NO_BLOCK) {
            hier_copy(&r->hier, hier_to(&r->hier, head), weft_in((uint32_t)block, 0));
        }
    }
}

/* result ← what came round the ring, own part, and those of the others of the host. */
static void hier_ring_fold(const hier_ring_t *r, uint32_t block, weft_operand_t before,
                           weft_operand_t result, uint32_t flags)
{
    const hier_layout_t *layout = r->layout;
    weft_operand_t own = weft_in(block, 0);
    weft_move_t move = {.ndst = 1, .like = own};
    if (before.kind != WEFT_OPERAND_NONE) {
        move.src[move.nsrc++] = before;
    }
    for (uint32_t position = 0; position < layout->locals; position++) {
        int last = position + 1 == layout->locals;
        move.src[move.nsrc++] = position == layout->index ? own : hier_from(&r->hier, position);
        if (move.nsrc < WEFT_MOVE_MAX && !last) {
            continue;
        }
        move.dst[0] = last ? result : weft_tmp(0, 0);
        move.flags = last ? flags : 0;
        hier_add(&r->hier, &move);
        move.src[0] = weft_tmp(0, 0);
        move.nsrc = 1;
    }
}

/* A step of a head. The last host on the way of a block is that of its rank, which is the head
 * itself or, in later rounds, another rank of its host. */
static void hier_ring_step(const hier_ring_t *r, uint32_t round, uint32_t back, uint32_t step)
{
    const hier_layout_t *layout = r->layout;
    int64_t block = hier_ring_block(r, round, back, layout->index);
    if (block == NO_BLOCK) {
        return;
    }
    weft_operand_t before = step == 0 ? none : r->prev, result = r->next;
    if (back == 0) {
        uint32_t position = round * layout->heads + layout->index;
        result =
            position == layout->index ? weft_out(0, 0) : weft_port(r->hier.job->down[position]);
    }
    hier_ring_fold(r, (uint32_t)block, before, result, back == 0 ? WEFT_MOVE_FINAL : 0);
}

/* Ports on which results go from heads to the ranks beyond them. */
static weft_operand_t hier_ring_result_ports(const hier_ring_t *r)
{
    const hier_layout_t *layout = r->layout;
    weft_plan_builder_t *b = r->hier.builder;
    for (uint32_t at = layout->index + layout->heads; r->is_head && at < layout->locals;
         at += layout->heads) {
        r->hier.job->down[at] = b->port(b, r->hier.lane, hier_local(layout, at), CHANNEL_DOWN, 1);
    }
    return r->is_head ? none
                      : weft_port(b->port(b, r->hier.lane,
                                          hier_local(layout, layout->index % layout->heads),
                                          CHANNEL_DOWN, 0));
}

/* One lane, for the sum of a host is scratch. A block starts on the host behind its own and ends
 * there. Cost per head, n ranks, L heads, l on this host: n/L blocks between hosts, as many
 * reductions of l+1 sources, and n blocks given to the other heads. */
void hier_ring_reduce_scatter(const hier_job_t *job)
{
    const hier_layout_t *layout = job->layout;
    uint32_t nhosts = layout->nhosts;
    hier_ring_t r;
    hier_ring_init(&r, job, 1);
    hier_ports(&r.hier, layout->heads, CHANNEL_UP, 1);
    hier_ports(&r.hier, r.is_head ? layout->locals : 0, CHANNEL_UP, 0);
    weft_operand_t result = hier_ring_result_ports(&r);
    for (uint32_t at = 0; at < r.rounds * nhosts; at++) {
        uint32_t round = at / nhosts, step = at % nhosts, back = (step + 1) % nhosts;
        hier_ring_give(&r, round, back);
        if (r.is_head) {
            hier_ring_step(&r, round, back, step);
        } else if (back == 0 && round == layout->index / layout->heads) {
            hier_copy(&r.hier, weft_out(0, 0), result);
        }
    }
}
