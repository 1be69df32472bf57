/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One slice of one MOVE in the abstract run: are all sources there and all destinations free, and
 * what comes out. The hot loop of the verifier. */
#include "core/plan/run_step.h"

#include "core/plan/finding.h"
#include "core/plan/race.h"
#include "core/plan/run_result.h"
#include "core/plan/run_vector.h"
#include "core/plan/trail.h"

/* Constants that keep kinds of tree nodes apart. */
#define NODE_FOLD UINT64_C(0x666f6c64)
#define NODE_FINAL UINT64_C(0x66696e616c)
#define NODE_FINAL_ALONE UINT64_C(0x616c6f6e65)
#define NODE_AGAIN UINT64_C(0x616761696e)

typedef struct result {
    uint64_t value, tree;
    uint32_t count;
} result_t;

/* If a queue keeps the slice from moving, the member sleeps until that changes. */
static bool run_step_blocked(weft_run_t *run, const weft_run_lane_t *lane,
                             const weft_run_member_t *member)
{
    const weft_plan_view_t *move = &member->move;
    for (uint32_t i = 0; i < move->nsrc; i++) {
        if (move->src[i].kind == WEFT_OPERAND_PORT && run->queues.list[member->src[i]].used == 0) {
            run->queues.list[member->src[i]].receiver_waits = (uint8_t)(member - lane->members + 1);
            return true;
        }
    }
    for (uint32_t i = 0; i < move->ndst; i++) {
        if (move->dst[i].kind == WEFT_OPERAND_PORT &&
            run->queues.list[member->dst[i]].used == run->slots) {
            run->queues.list[member->dst[i]].sender_waits = (uint8_t)(member - lane->members + 1);
            return true;
        }
    }
    return false;
}

static void run_step_wake_member(weft_run_t *run, uint32_t lane, uint8_t *waits_p)
{
    if (*waits_p != 0) {
        run->lanes[lane].retry |= UINT64_C(1) << (*waits_p - 1);
        *waits_p = 0;
        weft_run_wake(run, lane);
    }
}

static result_t run_step_read_memory(weft_run_t *run, const weft_run_lane_t *lane,
                                     const weft_run_member_t *member, uint32_t kind, uint32_t chunk)
{
    uint64_t at = weft_run_cell_of(run, lane, member, kind, chunk);
    const weft_run_cell_t *cell = &run->cells[at];
    if (lane->clocked) {
        weft_race_read(run, lane, member, at);
    }
    if (cell->tag != lane->cursor.pass + 1) {
        weft_run_finding(run, WEFT_VERDICT_UNWRITTEN, lane, member->pc,
                         "reads %s[%u], which nothing has written in this pass",
                         kind == WEFT_OPERAND_OUT ? "out" : "tmp", chunk);
    }
    return (result_t){cell->value, cell->tree, cell->count};
}

/* In place, a part of IN may have been overwritten; for a reduction its value would then be
 * pre-multiplied a second time. */
static result_t run_step_read_in_place(weft_run_t *run, const weft_run_lane_t *lane,
                                       const weft_run_member_t *member, uint32_t alias,
                                       result_t input)
{
    uint64_t at = weft_run_cell_of(run, lane, member, WEFT_OPERAND_OUT, alias);
    const weft_run_cell_t *cell = &run->cells[at];
    if (lane->clocked) {
        weft_race_read_input(run, lane, member, at);
    }
    if (cell->tag != lane->cursor.pass + 1) {
        return input;
    }
    if (run->both) {
        if (run->reduces || cell->value != input.value || cell->tree != input.tree) {
            weft_run_divergence(run, lane, member->pc, alias, at);
        }
        return input;
    }
    return run->reduces
               ? (result_t){weft_field_mul(cell->value, run->results.factor ^ (lane->rank + 1)),
                            weft_hash_add(NODE_AGAIN, cell->tree), cell->count}
               : (result_t){cell->value, cell->tree, cell->count};
}

static result_t run_step_read_input(weft_run_t *run, const weft_run_lane_t *lane,
                                    const weft_run_member_t *member, uint32_t chunk)
{
    uint32_t rank = lane->rank, alias = weft_run_alias(run, rank, chunk);
    result_t input = {weft_run_input(run, rank, chunk, member->slice, lane->cursor.pass),
                      run->ranks[rank].leaf, 1};
    if (lane->clocked) {
        weft_race_read_own(run, lane, member, chunk);
    }
    return alias == WEFT_RUN_NONE ? input : run_step_read_in_place(run, lane, member, alias, input);
}

static void run_step_check_slot(weft_run_t *run, const weft_run_lane_t *lane,
                                const weft_run_member_t *member, const weft_run_way_t *way,
                                const weft_run_slot_t *slot)
{
    uint32_t parts = weft_plan_packs(&member->move) ? member->move.cnt : 1;
    if (slot->parts != parts) {
        weft_run_finding(run, WEFT_VERDICT_MALFORMED, lane, member->pc,
                         "expects %u chunks in a message from rank %u channel %u, which packed %u",
                         parts, way->from, way->channel, slot->parts);
    } else if (slot->pass != lane->cursor.pass) {
        weft_run_finding(run, WEFT_VERDICT_UNMATCHED, lane, member->pc,
                         "takes a slice of pass %u in pass %u from rank %u channel %u", slot->pass,
                         lane->cursor.pass, way->from, way->channel);
    } else if (run->values && (slot->piece != member->piece || slot->slice != member->slice)) {
        weft_run_finding(run, WEFT_VERDICT_MALFORMED, lane, member->pc,
                         "expects piece %u slice %u from rank %u channel %u, which sent piece %u "
                         "slice %u",
                         member->piece, member->slice, way->from, way->channel, slot->piece,
                         slot->slice);
    }
}

/* A MOVE from a port to ports, where such a MOVE passes on what it gets, whatever its `like`
 * says. */
static bool run_step_passes_on(const weft_run_t *run, const weft_plan_view_t *move)
{
    return run->vector == WEFT_VECTOR_PASSED && move->src[0].kind == WEFT_OPERAND_PORT &&
           move->dst[0].kind == WEFT_OPERAND_PORT;
}

/* All that the chunk in progress touches must belong to one block; what ports bring, run_step_pop()
 * sees. */
static void run_step_see_extent(weft_run_t *run, const weft_run_lane_t *lane,
                                weft_run_member_t *member)
{
    const weft_plan_view_t *move = &member->move;
    uint32_t extent = WEFT_RUN_NONE;
    if (run_step_passes_on(run, move)) {
        member->extent = weft_run_front(run, member->src[0])->extent;
        return;
    }
    for (uint32_t i = 0; i < move->nsrc + move->ndst + 1; i++) {
        bool is_src = i < move->nsrc, is_dst = !is_src && i < move->nsrc + move->ndst;
        uint32_t at = is_src ? i : i - move->nsrc;
        const weft_plan_operand_t *operand = is_src   ? &move->src[at]
                                             : is_dst ? &move->dst[at]
                                                      : move->like;
        if (operand->kind != WEFT_OPERAND_IN && operand->kind != WEFT_OPERAND_OUT) {
            continue;
        }
        uint32_t base = is_src ? member->src[at] : is_dst ? member->dst[at] : member->like;
        uint32_t chunk = weft_run_chunk_now(run, lane, member, operand, base);
        uint32_t one = weft_run_extent(lane->plan, operand->kind, chunk);
        if (extent != WEFT_RUN_NONE && one != extent) {
            run->vector = WEFT_VECTOR_NONE;
        }
        extent = one;
    }
    member->extent = extent;
}

/* A MOVE is as late as its lane and the first slices of its sources, plus itself. */
static void run_step_chain_begin(weft_run_t *run, const weft_run_lane_t *lane,
                                 weft_run_member_t *member)
{
    const weft_plan_view_t *move = &member->move;
    uint32_t ends[WEFT_LEVELS] = {0};
    member->chain = lane->chain;
    for (uint32_t i = 0; i < move->nsrc; i++) {
        if (move->src[i].kind == WEFT_OPERAND_PORT) {
            weft_run_chain_t arrived = weft_run_front(run, member->src[i])->chain;
            uint32_t level = run->queues.ways[member->src[i]].level;
            arrived.hops[level]++;
            weft_run_lengthen(&member->chain, &arrived);
            ends[level]++;
        }
    }
    for (uint32_t i = 0; i < move->ndst; i++) {
        if (move->dst[i].kind == WEFT_OPERAND_PORT) {
            ends[run->queues.ways[member->dst[i]].level]++;
        }
    }
    member->chain.moves++;
    member->chain.ends[0] += ends[0] * move->cnt;
    member->chain.ends[1] += ends[1] * move->cnt;
    member->chain.messages[0] += ends[0] * weft_plan_messages(move);
    member->chain.messages[1] += ends[1] * weft_plan_messages(move);
    member->chain.touched += (move->nsrc + move->ndst) * move->cnt;
}

static result_t run_step_pop(weft_run_t *run, const weft_run_lane_t *lane,
                             const weft_run_member_t *member, uint32_t index)
{
    weft_run_queue_t *queue = &run->queues.list[index];
    const weft_run_slot_t *slot = weft_run_front(run, index);
    run_step_check_slot(run, lane, member, &run->queues.ways[index], slot);
    if (slot->extent != member->extent) {
        run->vector = WEFT_VECTOR_NONE;
    }
    result_t result = {slot->value, slot->tree, slot->count};
    bool taken = slot->part == 0;
    uint32_t freed = queue->first;
    queue->first = slot->next;
    run->queues.slot[freed].next = run->queues.free_slot;
    run->queues.free_slot = freed + 1;
    queue->values--;
    if (taken) {
        queue->head = queue->head + 1 == queue->room ? 0 : queue->head + 1;
        queue->used--;
        run_step_wake_member(run, queue->sender, &queue->sender_waits);
    }
    return result;
}

static uint32_t run_step_take_slot(weft_run_t *run)
{
    if (run->queues.free_slot == 0) {
        return run->queues.fresh_slot++;
    }
    uint32_t at = run->queues.free_slot - 1;
    run->queues.free_slot = run->queues.slot[at].next;
    return at;
}

static void run_step_push(weft_run_t *run, const weft_run_lane_t *lane,
                          const weft_run_member_t *member, uint32_t index, result_t result)
{
    weft_run_queue_t *queue = &run->queues.list[index];
    uint32_t at = run_step_take_slot(run);
    bool packs = weft_plan_packs(&member->move);
    uint32_t part = packs ? member->chunk : 0;
    run->queues.slot[at] = (weft_run_slot_t){.value = result.value,
                                             .tree = result.tree,
                                             .count = result.count,
                                             .chain = member->chain,
                                             .pass = lane->cursor.pass,
                                             .piece = member->piece,
                                             .slice = member->slice,
                                             .extent = member->extent,
                                             .part = part,
                                             .parts = packs ? member->move.cnt : 1};
    if (queue->values++ == 0) {
        queue->first = at;
    } else {
        run->queues.slot[queue->last].next = at;
    }
    queue->used += part == 0;
    queue->last = at;
    if (queue->used > queue->peak) {
        queue->peak = queue->used;
    }
    run_step_wake_member(run, queue->receiver, &queue->receiver_waits);
}

static void run_step_add(result_t *sum, result_t one)
{
    sum->value = weft_field_add(sum->value, one.value);
    sum->tree = weft_hash_add(sum->tree, one.tree);
    sum->count += one.count;
    sum->count = sum->count < WEFT_RUN_MANY ? sum->count : WEFT_RUN_MANY;
}

/* A fold is divided as it is, and what has been stored as it was rounded: that has other bits. */
static void run_step_finish(const weft_run_t *run, const weft_plan_view_t *move, result_t *sum)
{
    if ((move->flags & WEFT_MOVE_FINAL) != 0) {
        sum->value = weft_field_mul(sum->value, run->results.factor);
        sum->tree = weft_hash_add(move->nsrc > 1 ? NODE_FINAL : NODE_FINAL_ALONE, sum->tree);
    }
}

static result_t run_step_fold(weft_run_t *run, const weft_run_lane_t *lane,
                              const weft_run_member_t *member)
{
    const weft_plan_view_t *move = &member->move;
    result_t sum = {0, NODE_FOLD, 0};
    for (uint32_t i = 0; i < move->nsrc; i++) {
        uint32_t kind = move->src[i].kind;
        result_t one = {0, 0, 0};
        if (kind == WEFT_OPERAND_PORT) {
            one = run_step_pop(run, lane, member, member->src[i]);
        } else if (run->values) {
            uint32_t chunk = weft_run_chunk_now(run, lane, member, &move->src[i], member->src[i]);
            one = kind == WEFT_OPERAND_IN ? run_step_read_input(run, lane, member, chunk)
                                          : run_step_read_memory(run, lane, member, kind, chunk);
        }
        if (move->nsrc == 1) {
            sum = one;
        } else {
            run_step_add(&sum, one);
        }
    }
    run_step_finish(run, move, &sum);
    return sum;
}

static void run_step_store(weft_run_t *run, const weft_run_lane_t *lane,
                           const weft_run_member_t *member, uint32_t i, result_t result)
{
    const weft_plan_operand_t *to = &member->move.dst[i];
    uint32_t kind = to->kind, chunk = weft_run_chunk_now(run, lane, member, to, member->dst[i]);
    uint64_t at = weft_run_cell_of(run, lane, member, kind, chunk);
    if (lane->clocked) {
        weft_race_write(run, lane, member, at, result.value);
    }
    run->cells[at] = (weft_run_cell_t){.value = result.value,
                                       .tree = result.tree,
                                       .tag = (lane->cursor.pass + 1) & 3,
                                       .count = result.count & WEFT_RUN_MANY,
                                       .pc = member->pc};
}

/* One value of the message: the slice in progress of the chunk in progress. */
static void run_step_move_value(weft_run_t *run, const weft_run_lane_t *lane,
                                const weft_run_member_t *member)
{
    const weft_plan_view_t *move = &member->move;
    if (run->trail != NULL) {
        weft_trail_read(run, lane, member);
    }
    result_t result = run_step_fold(run, lane, member);
    for (uint32_t i = 0; i < move->ndst; i++) {
        if (move->dst[i].kind == WEFT_OPERAND_PORT) {
            run_step_push(run, lane, member, member->dst[i], result);
        } else if (run->values) {
            run_step_store(run, lane, member, i, result);
        }
    }
    if (run->trail != NULL) {
        weft_trail_write(run, lane, member);
    }
    run->steps++;
}

/* A packed MOVE: the same slice of all chunks. After the last slice it is through with them. */
static void run_step_move_packed(weft_run_t *run, const weft_run_lane_t *lane,
                                 weft_run_member_t *member)
{
    for (; member->chunk < member->move.cnt && run->report->verdict == WEFT_VERDICT_OK;
         member->chunk++) {
        run_step_move_value(run, lane, member);
    }
    if (++member->slice < run->slices) {
        member->chunk = 0;
    }
}

static void run_step_move_slice(weft_run_t *run, const weft_run_lane_t *lane,
                                weft_run_member_t *member)
{
    run_step_move_value(run, lane, member);
    if (++member->slice == run->slices) {
        member->slice = 0;
        member->chunk++;
        member->piece = member->piece + 1 == lane->plan->k ? 0 : member->piece + 1;
    }
}

static void run_step_move(weft_run_t *run, const weft_run_lane_t *lane, weft_run_member_t *member)
{
    if (member->chunk == 0 && member->slice == 0) {
        run_step_chain_begin(run, lane, member);
    }
    if (run->vector != WEFT_VECTOR_NONE && member->slice == 0) {
        run_step_see_extent(run, lane, member);
    }
    if (lane->clocked) {
        weft_race_begin_step(run, lane, member);
    }
    if (weft_plan_packs(&member->move)) {
        run_step_move_packed(run, lane, member);
    } else {
        run_step_move_slice(run, lane, member);
    }
    if (lane->clocked) {
        weft_race_end_step(run, lane, member);
    }
}

void weft_run_advance(weft_run_t *run, weft_run_lane_t *lane, weft_run_member_t *member)
{
    while (member->chunk < member->move.cnt && run->report->verdict == WEFT_VERDICT_OK &&
           !run_step_blocked(run, lane, member)) {
        run_step_move(run, lane, member);
    }
}
