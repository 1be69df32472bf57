/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The engine of the abstract run. Lanes that can move stand in a ring. A lane runs until a queue, a
 * wait or a barrier stops it; the lane that changes this wakes it. The order does not matter, since
 * the network is confluent. */
#include "core/plan/run_engine.h"

#include "core/plan/finding.h"
#include "core/plan/race.h"
#include "core/plan/race_par.h"
#include "core/plan/run_result.h"
#include "core/plan/run_step.h"

static uint32_t run_engine_resolve(const weft_run_t *run, const weft_run_lane_t *lane,
                                   const weft_plan_view_t *move, const weft_plan_operand_t *operand)
{
    const weft_run_rank_t *rank = &run->ranks[lane->rank];
    if (operand->kind == WEFT_OPERAND_PORT) {
        return run->queues.of_port[rank->first_port + operand->index];
    }
    return weft_plan_chunk_of(move, operand, rank->chunks[operand->kind], lane->cursor.iteration,
                              0);
}

static bool run_engine_names_piece(const weft_plan_operand_t *operand)
{
    return operand->kind == WEFT_OPERAND_IN || operand->kind == WEFT_OPERAND_OUT;
}

static void run_engine_begin_member(const weft_run_t *run, const weft_run_lane_t *lane,
                                    weft_run_member_t *member, uint32_t pc)
{
    const weft_plan_view_t *move = &member->move;
    uint32_t k = lane->plan->k, piece = 0;
    member->move = weft_plan_view(lane->plan, lane->cursor.code[pc].n);
    member->pc = pc;
    member->chunk = member->slice = 0;
    if (move->like->kind != WEFT_OPERAND_NONE) {
        piece = member->like = run_engine_resolve(run, lane, move, move->like);
    }
    for (uint32_t i = 0; i < move->nsrc; i++) {
        member->src[i] = run_engine_resolve(run, lane, move, &move->src[i]);
        piece = run_engine_names_piece(&move->src[i]) ? member->src[i] : piece;
    }
    for (uint32_t i = 0; i < move->ndst; i++) {
        member->dst[i] = run_engine_resolve(run, lane, move, &move->dst[i]);
        piece = run_engine_names_piece(&move->dst[i]) ? member->dst[i] : piece;
    }
    member->piece = piece < k ? piece : k == 1 ? 0 : piece % k;
}

static void run_engine_begin_group(weft_run_t *run, weft_run_lane_t *lane, const weft_code_t *code)
{
    lane->par = code->opcode == WEFT_CODE_PAR;
    lane->nmembers = weft_cursor_moves(code);
    lane->retry = UINT64_MAX >> (64 - lane->nmembers);
    lane->over = 0;
    for (uint32_t i = 0; i < lane->nmembers; i++) {
        run_engine_begin_member(run, lane, &lane->members[i], lane->cursor.pc + lane->par + i);
    }
    if (lane->par && lane->clocked) {
        weft_race_fork(run, lane);
    } else if (lane->nmembers > 1 && lane->plan->nlanes == 1 && lane->cursor.pass == 0 &&
               run->race.uses != NULL) {
        weft_race_par(run, lane);
    }
}

static void run_engine_wake_waiters(weft_run_t *run, const weft_run_lane_t *lane)
{
    weft_run_rank_t *rank = &run->ranks[lane->rank];
    for (uint32_t i = 0; rank->waiters != 0 && i < lane->plan->nlanes; i++) {
        if (run->lanes[rank->first_lane + i].wait_inside) {
            weft_run_wake(run, rank->first_lane + i);
        }
    }
}

/* Instruction pc is over. */
static void run_engine_finish(weft_run_t *run, weft_run_lane_t *lane, uint32_t pc,
                              const weft_run_chain_t *chain)
{
    if (!weft_cursor_finish(&lane->cursor, pc)) {
        return;
    }
    if (lane->cursor.pass == 0) {
        lane->ends[pc] = *chain;
    }
    if (lane->clocked) {
        weft_race_end(run, lane, pc);
    }
    run_engine_wake_waiters(run, lane);
}

static weft_cursors_t run_engine_cursors_of(const weft_run_t *run, const weft_run_lane_t *lane)
{
    weft_run_lane_t *first = &run->lanes[run->ranks[lane->rank].first_lane];
    return (weft_cursors_t){
        .first = &first->cursor, .stride = sizeof *first, .count = lane->plan->nlanes};
}

static void run_engine_sleep_inside(weft_run_t *run, weft_run_lane_t *lane)
{
    if (!lane->wait_inside) {
        lane->wait_inside = true;
        run->ranks[lane->rank].waiters++;
    }
}

/* The lane has waited for an instruction of its rank. */
static void run_engine_come_after(weft_run_t *run, weft_run_lane_t *lane, const weft_after_t *after)
{
    uint32_t other = run->ranks[lane->rank].first_lane + after->lane;
    weft_run_lengthen(&lane->chain, &run->lanes[other].ends[after->pc]);
    if (lane->clocked) {
        weft_race_wait(run, lane, after);
    }
}

/* True if the waits of all MOVEs of the instruction are over. They begin together, as executors
 * begin them. */
static bool run_engine_waits_over(weft_run_t *run, weft_run_lane_t *lane, const weft_code_t *code)
{
    weft_cursors_t cursors = run_engine_cursors_of(run, lane);
    const weft_code_t *first = code->opcode == WEFT_CODE_PAR ? code + 1 : code;
    uint32_t members = run->facts[lane->rank].waits ? weft_cursor_moves(code) : 0;
    for (uint32_t i = 0; i < members; i++) {
        weft_plan_view_t move = weft_plan_view(lane->plan, first[i].n);
        if (!weft_cursor_waits_over(&cursors, &lane->cursor, &move)) {
            run_engine_sleep_inside(run, lane);
            return false;
        }
    }
    for (uint32_t i = 0; i < members; i++) {
        weft_plan_view_t move = weft_plan_view(lane->plan, first[i].n);
        for (uint32_t w = 0; w < move.nafter; w++) {
            run_engine_come_after(run, lane, &move.after[w]);
        }
    }
    return true;
}

static void run_engine_try_member(weft_run_t *run, weft_run_lane_t *lane, uint32_t i)
{
    weft_run_member_t *member = &lane->members[i];
    if (member->chunk == member->move.cnt) {
        return;
    }
    weft_run_advance(run, lane, member);
    lane->over += member->chunk == member->move.cnt;
}

/* All MOVEs of the instruction are over; who waits for one of them waits for all. */
static void run_engine_end_group(weft_run_t *run, weft_run_lane_t *lane)
{
    for (uint32_t i = 0; i < lane->nmembers; i++) {
        weft_run_lengthen(&lane->chain, &lane->members[i].chain);
    }
    if (lane->par && lane->clocked) {
        weft_race_join(run, lane);
    }
    for (uint32_t i = 0; i < lane->nmembers; i++) {
        run_engine_finish(run, lane, lane->members[i].pc, &lane->chain);
    }
    weft_cursor_next(&lane->cursor);
    lane->nmembers = 0;
}

/* Tries the members that may move: all at first, then those whose queue has changed. */
static bool run_group(weft_run_t *run, weft_run_lane_t *lane, const weft_code_t *code)
{
    if (lane->nmembers == 0) {
        if (!run_engine_waits_over(run, lane, code)) {
            return false;
        }
        run_engine_begin_group(run, lane, code);
    }
    while (lane->retry != 0) {
        uint32_t i = (uint32_t)__builtin_ctzll(lane->retry);
        lane->retry &= lane->retry - 1;
        run_engine_try_member(run, lane, i);
    }
    if (lane->over < lane->nmembers) {
        return false;
    }
    run_engine_end_group(run, lane);
    return true;
}

static bool run_bar(weft_run_t *run, weft_run_lane_t *lane, uint64_t mask)
{
    weft_run_lane_t *lanes = &run->lanes[run->ranks[lane->rank].first_lane];
    weft_cursors_t cursors = run_engine_cursors_of(run, lane);
    if (!weft_cursor_arrive(&cursors, &lane->cursor, mask)) {
        run_engine_sleep_inside(run, lane);
        return false;
    }
    if (lane->clocked) {
        weft_race_barrier(run, lane, mask);
    }
    weft_run_chain_t chain = lane->chain;
    for (uint32_t i = 0; i < lane->plan->nlanes; i++) {
        if ((mask >> i & 1) != 0) {
            weft_run_lengthen(&chain, &lanes[i].chain);
        }
    }
    for (uint32_t i = 0; i < lane->plan->nlanes; i++) {
        if ((mask >> i & 1) != 0) {
            lanes[i].chain = chain;
            run_engine_finish(run, &lanes[i], lanes[i].cursor.pc, &chain);
            weft_cursor_next(&lanes[i].cursor);
        }
    }
    run_engine_wake_waiters(run, lane);
    return true;
}

static void run_engine_end_pass(weft_run_t *run, weft_run_lane_t *lane)
{
    weft_run_rank_t *rank = &run->ranks[lane->rank];
    uint32_t pass = lane->cursor.pass;
    weft_cursor_end_pass(&lane->cursor);
    if (pass == 0) {
        weft_run_lengthen(&run->chain, &lane->chain);
    }
    if (++rank->lanes_over[pass] == lane->plan->nlanes && run->values) {
        weft_run_check_rank(run, lane->rank, pass);
    }
    if (lane->cursor.pass == run->passes) {
        lane->done = true;
        run->lanes_done++;
    }
}

static bool run_code(weft_run_t *run, weft_run_lane_t *lane)
{
    const weft_code_t *code = weft_cursor_seek(&lane->cursor);
    switch (code->opcode) {
    case WEFT_CODE_BAR:
        return run_bar(run, lane, code->mask);
    case WEFT_CODE_STOP:
        run_engine_end_pass(run, lane);
        return true;
    default:
        return run_group(run, lane, code);
    }
}

static void run_lane(weft_run_t *run, weft_run_lane_t *lane)
{
    lane->queued = false;
    if (lane->wait_inside) {
        lane->wait_inside = false;
        run->ranks[lane->rank].waiters--;
    }
    while (!lane->done && run->report->verdict == WEFT_VERDICT_OK && run_code(run, lane)) {
    }
}

static void run_engine_check_left_over(weft_run_t *run)
{
    for (uint32_t i = 0; i < run->queues.count; i++) {
        const weft_run_queue_t *queue = &run->queues.list[i];
        if (queue->used != 0) {
            weft_run_finding(run, WEFT_VERDICT_UNMATCHED, &run->lanes[queue->receiver], 0,
                             "%u slices from rank %u channel %u are never received", queue->used,
                             run->queues.ways[i].from, run->queues.ways[i].channel);
            return;
        }
    }
}

static void run_engine_check_idle_ranks(weft_run_t *run)
{
    for (uint32_t rank = 0; run->values && rank < run->n; rank++) {
        if (run->input->plans[rank]->nlanes == 0) {
            weft_run_check_rank(run, rank, 0);
        }
    }
}

void weft_run_go(weft_run_t *run)
{
    weft_verify_report_t *report = run->report;
    for (uint32_t i = 0; i < run->nlanes; i++) {
        weft_run_wake(run, i);
    }
    while (run->work.used != 0 && report->verdict == WEFT_VERDICT_OK) {
        weft_run_lane_t *lane = &run->lanes[run->work.lanes[run->work.at]];
        run->work.at = run->work.at + 1 == run->nlanes ? 0 : run->work.at + 1;
        run->work.used--;
        run_lane(run, lane);
    }
    if (report->verdict == WEFT_VERDICT_OK && run->lanes_done < run->nlanes) {
        weft_run_explain(run);
    }
    if (report->verdict == WEFT_VERDICT_OK) {
        run_engine_check_left_over(run);
        run_engine_check_idle_ranks(run);
    }
}
