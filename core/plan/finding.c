/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Findings in words: where, what, and for a run that stands still, who waits for whom. */
#include "core/plan/finding.h"

#include <stdarg.h>
#include <string.h>

#include "core/plan/trail.h"

static void finding_describe(weft_verify_report_t *report, const weft_run_lane_t *lane, uint32_t pc,
                             const char *format, va_list args)
{
    report->rank = lane->name;
    report->lane = lane->lane;
    report->pc = pc;
    int used = snprintf(report->text, sizeof report->text, "rank %u lane %u pc %u: ", report->rank,
                        report->lane, pc);
    vsnprintf(report->text + used, sizeof report->text - (size_t)used, format, args);
}

void weft_run_finding(weft_run_t *run, weft_verdict_t verdict, const weft_run_lane_t *lane,
                      uint32_t pc, const char *format, ...)
{
    if (run->report->verdict == WEFT_VERDICT_OK) {
        va_list args;
        run->report->verdict = verdict;
        va_start(args, format);
        finding_describe(run->report, lane, pc, format, args);
        va_end(args);
    }
}

void weft_run_note_origin(weft_verify_report_t *report, weft_origin_t from,
                          const weft_plan_place_t *origin)
{
    if (origin->rank == report->rank && origin->lane == report->lane && origin->pc == report->pc) {
        return;
    }
    size_t used = strlen(report->text);
    report->from = from;
    report->origin = *origin;
    snprintf(report->text + used, sizeof report->text - used, "; %s at rank %u lane %u pc %u",
             weft_origin_name(from), origin->rank, origin->lane, origin->pc);
}

void weft_run_divergence(weft_run_t *run, const weft_run_lane_t *lane, uint32_t pc, uint32_t chunk,
                         uint64_t cell)
{
    weft_run_t in_place = {.report = run->both};
    if (run->both->verdict != WEFT_VERDICT_OK) {
        return;
    }
    weft_run_finding(&in_place, WEFT_VERDICT_WRONG, lane, pc,
                     "in place, reads an input that lies where out[%u] has been written", chunk);
    if (run->trail != NULL) {
        weft_plan_place_t origin = {lane->name, weft_trail_of(run, cell)->writer,
                                    run->cells[cell].pc};
        weft_run_note_origin(run->both, WEFT_ORIGIN_WRITTEN, &origin);
    }
}

/* The reason why a lane is stuck: a queue, or another lane of its rank. */
typedef struct cause {
    uint32_t pc;
    uint32_t queue; /* NONE: a lane */
    bool full;
    uint32_t lane; /* of the run; NONE: nobody */
    uint32_t target_pc;
    bool barrier;
} cause_t;

static bool finding_cause_in_queues(const weft_run_t *run, const weft_run_member_t *member,
                                    cause_t *cause)
{
    const weft_plan_view_t *move = &member->move;
    for (uint32_t i = 0; i < move->nsrc; i++) {
        if (move->src[i].kind == WEFT_OPERAND_PORT && run->queues.list[member->src[i]].used == 0) {
            cause->queue = member->src[i];
            cause->lane = run->queues.list[cause->queue].sender;
            return true;
        }
    }
    for (uint32_t i = 0; i < move->ndst; i++) {
        if (move->dst[i].kind == WEFT_OPERAND_PORT &&
            run->queues.list[member->dst[i]].used == run->slots) {
            cause->queue = member->dst[i];
            cause->full = true;
            cause->lane = run->queues.list[cause->queue].receiver;
            return true;
        }
    }
    return false;
}

/* The instruction at which the lane stands has not begun: the first of its MOVEs that waits. */
static void finding_cause_in_rank(const weft_run_t *run, const weft_run_lane_t *lane,
                                  cause_t *cause)
{
    const weft_code_t *code = &lane->cursor.code[lane->cursor.pc];
    uint32_t par = code->opcode == WEFT_CODE_PAR, members = weft_cursor_moves(code);
    uint32_t first = run->ranks[lane->rank].first_lane;
    for (uint32_t i = 0; i < members; i++) {
        weft_plan_view_t move = weft_plan_view(lane->plan, code[par + i].n);
        for (uint32_t w = 0; w < move.nafter; w++) {
            const weft_after_t *after = &move.after[w];
            if (run->lanes[first + after->lane].cursor.finished[after->pc] <= lane->cursor.pass) {
                cause->pc = lane->cursor.pc + par + i;
                cause->lane = first + after->lane;
                cause->target_pc = after->pc;
                return;
            }
        }
    }
}

static cause_t finding_cause_of(const weft_run_t *run, const weft_run_lane_t *lane)
{
    cause_t cause = {.pc = lane->cursor.pc, .queue = WEFT_RUN_NONE, .lane = WEFT_RUN_NONE};
    uint32_t first = run->ranks[lane->rank].first_lane;
    for (uint32_t i = 0; lane->cursor.bar != 0 && i < lane->plan->nlanes; i++) {
        if ((lane->cursor.bar >> i & 1) != 0 &&
            run->lanes[first + i].cursor.bar != lane->cursor.bar) {
            cause.barrier = true;
            cause.lane = first + i;
            return cause;
        }
    }
    if (lane->nmembers == 0) {
        finding_cause_in_rank(run, lane, &cause);
        return cause;
    }
    for (uint32_t i = 0; i < lane->nmembers; i++) {
        const weft_run_member_t *member = &lane->members[i];
        if (member->chunk == member->move.cnt) {
            continue;
        }
        cause.pc = member->pc;
        if (finding_cause_in_queues(run, member, &cause)) {
            return cause;
        }
    }
    return cause;
}

static void finding_word_cause(const weft_run_t *run, const cause_t *cause, char *text,
                               size_t bytes)
{
    if (cause->queue != WEFT_RUN_NONE) {
        const weft_run_queue_t *queue = &run->queues.list[cause->queue];
        const weft_run_way_t *way = &run->queues.ways[cause->queue];
        if (cause->full) {
            snprintf(text, bytes, "waits for a free slot to rank %u channel %u (%u of %u in use)",
                     way->to, way->channel, queue->used, run->slots);
        } else {
            snprintf(text, bytes, "waits for a slice from rank %u channel %u (none of %u slots)",
                     way->from, way->channel, run->slots);
        }
    } else if (cause->barrier) {
        snprintf(text, bytes, "waits at a barrier for lane %u", run->lanes[cause->lane].lane);
    } else if (cause->lane != WEFT_RUN_NONE) {
        snprintf(text, bytes, "waits for lane %u pc %u to finish", run->lanes[cause->lane].lane,
                 cause->target_pc);
    } else {
        snprintf(text, bytes, "stands still");
    }
}

/* Follows the waits from the first stuck lane; ends in a cycle or at a lane that is through. */
static uint32_t finding_follow(const weft_run_t *run, uint32_t lane, uint32_t *ring_p)
{
    for (uint32_t hops = 0; hops < run->nlanes; hops++) {
        uint32_t next = finding_cause_of(run, &run->lanes[lane]).lane;
        if (next == WEFT_RUN_NONE || run->lanes[next].done) {
            *ring_p = 0;
            return lane;
        }
        lane = next;
    }
    uint32_t at = lane;
    for (*ring_p = 1; (at = finding_cause_of(run, &run->lanes[at]).lane) != lane; ++*ring_p) {
    }
    return lane;
}

static uint32_t finding_smallest_in_ring(const weft_run_t *run, uint32_t lane, uint32_t ring)
{
    uint32_t smallest = lane;
    for (uint32_t i = 1; i < ring; i++) {
        lane = finding_cause_of(run, &run->lanes[lane]).lane;
        smallest = lane < smallest ? lane : smallest;
    }
    return smallest;
}

void weft_run_explain(weft_run_t *run)
{
    uint32_t first = 0, ring;
    while (run->lanes[first].done) {
        first++;
    }
    uint32_t index = finding_follow(run, first, &ring);
    index = finding_smallest_in_ring(run, index, ring);
    const weft_run_lane_t *lane = &run->lanes[index];
    cause_t cause = finding_cause_of(run, lane);
    char why[128];
    finding_word_cause(run, &cause, why, sizeof why);
    uint32_t stuck = run->nlanes - run->lanes_done;
    if (ring == 1) {
        weft_run_finding(run, WEFT_VERDICT_DEADLOCK, lane, cause.pc,
                         "%s; 1 lane waits for itself, %u stand still", why, stuck);
    } else if (ring != 0) {
        weft_run_finding(run, WEFT_VERDICT_DEADLOCK, lane, cause.pc,
                         "%s; %u lanes wait for each other in a ring, %u stand still", why, ring,
                         stuck);
    } else {
        weft_run_finding(run, WEFT_VERDICT_DEADLOCK, lane, cause.pc,
                         "%s, which has ended; %u lanes stand still", why, stuck);
    }
}
