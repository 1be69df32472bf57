/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Races between the streams of one rank, by vector clocks. A stream is a lane, or one member of a
 * PAR. What orders streams: program order, `after`, BAR, a slice from its push to its pop, a slot
 * from its pop to its next push; the order may come about through other ranks. Source: C. Fidge, 1988,
 * and F. Mattern, 1989; the access history follows C. Flanagan and S. Freund, "FastTrack", PLDI 2009.
 *
 * Components of a clock do not influence each other. So when clocks of all streams would need too
 * much memory, the run is repeated with a group of ranks at a time; each repetition is exact. */
#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/plan/run.h"

/* 128 MiB of clocks; a test sets less. */
#ifndef RACE_WORDS_MAX
#define RACE_WORDS_MAX (UINT64_C(1) << 25)
#endif

static uint32_t *row_of(const weft_run_t *run, uint64_t row)
{
    return run->race.clocks + row * run->race.dims;
}

static uint32_t *lane_clock(const weft_run_t *run, const weft_run_lane_t *lane)
{
    return row_of(run, (uint64_t)(lane - run->lanes));
}

static uint32_t member_index(const weft_run_lane_t *lane, const weft_run_member_t *member)
{
    return lane->par ? (uint32_t)(member - lane->members) : 0;
}

/* A lone MOVE runs on the lane's own clock. */
static uint32_t *member_clock(const weft_run_t *run, const weft_run_lane_t *lane,
                              const weft_run_member_t *member)
{
    return lane->par ? row_of(run, run->race.members_at + lane->row + member_index(lane, member))
                     : lane_clock(run, lane);
}

static uint32_t *slot_clock(const weft_run_t *run, uint32_t queue, uint32_t slot)
{
    return row_of(run, run->race.slots_at + (uint64_t)queue * run->slots + slot);
}

/* A lane may be one pass ahead of those who wait for it, so each pass has its own row. */
static uint32_t *end_clock(const weft_run_t *run, const weft_run_lane_t *lane, uint32_t pc,
                           uint32_t pass)
{
    return row_of(run, run->race.ends_at + (uint64_t)(lane->code_at + pc) * WEFT_RUN_PASSES + pass);
}

static void merge(const weft_run_t *run, uint32_t *into, const uint32_t *from)
{
    for (uint32_t i = 0; i < run->race.dims; i++) {
        into[i] = from[i] > into[i] ? from[i] : into[i];
    }
}

static void copy(const weft_run_t *run, uint32_t *into, const uint32_t *from)
{
    memcpy(into, from, run->race.dims * sizeof *into);
}

/* Number of the stream within its rank. */
static uint32_t context_of(const weft_run_t *run, const weft_run_lane_t *lane,
                           const weft_run_member_t *member)
{
    const weft_run_rank_t *rank = &run->ranks[lane->plan->rank];
    return lane->row - run->lanes[rank->first_lane].row + member_index(lane, member);
}

static uint64_t rank_cells(const weft_run_t *run, uint32_t rank)
{
    uint64_t end = rank + 1 < run->n ? run->ranks[rank + 1].out_cells : run->ncells;
    return end - run->ranks[rank].out_cells;
}

/* Takes ranks while rows of that many components fit; at least one. */
static uint64_t choose_ranks(weft_run_t *run, uint64_t rows, uint32_t *next_p)
{
    uint64_t words = 0;
    uint32_t dims = 0;
    for (; *next_p < run->n; ++*next_p) {
        weft_run_rank_t *rank = &run->ranks[*next_p];
        if (rank->contexts < 2) {
            continue;
        }
        uint64_t more = rank_cells(run, *next_p) * 2 * rank->contexts;
        if (dims != 0 && rows * (dims + rank->contexts) + words + more > RACE_WORDS_MAX) {
            break;
        }
        rank->tracked = 1 + dims;
        rank->accesses_at = words;
        dims += rank->contexts;
        words += more;
    }
    run->race.dims = dims;
    return words;
}

weft_status_t weft_race_init(weft_run_t *run, uint32_t *next_p)
{
    weft_run_race_t *race = &run->race;
    race->members_at = run->nlanes;
    race->slots_at = race->members_at + run->nmembers;
    race->ends_at = race->slots_at + (uint64_t)run->nqueues * run->slots;
    uint64_t rows = race->ends_at + run->ncode * WEFT_RUN_PASSES;
    uint64_t words = choose_ranks(run, rows, next_p);
    if (race->dims == 0) {
        return WEFT_OK;
    }
    race->clocks = weft_os_alloc(rows * race->dims * sizeof *race->clocks, 0);
    race->accesses = weft_os_alloc((words + 1) * sizeof *race->accesses, 0);
    if (race->clocks == NULL || race->accesses == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for %u clocks of %llu rows",
                         race->dims, (unsigned long long)rows);
    }
    return WEFT_OK;
}

void weft_race_fini(weft_run_t *run)
{
    weft_os_free(run->race.accesses);
    weft_os_free(run->race.clocks);
}

void weft_race_fork(weft_run_t *run, const weft_run_lane_t *lane)
{
    for (uint32_t i = 0; i < lane->nmembers; i++) {
        copy(run, member_clock(run, lane, &lane->members[i]), lane_clock(run, lane));
    }
}

void weft_race_join(weft_run_t *run, const weft_run_lane_t *lane)
{
    for (uint32_t i = 0; i < lane->nmembers; i++) {
        merge(run, lane_clock(run, lane), member_clock(run, lane, &lane->members[i]));
    }
}

void weft_race_wait(weft_run_t *run, const weft_run_lane_t *lane, const weft_run_member_t *member,
                    const weft_after_t *after)
{
    const weft_run_lane_t *other =
        &run->lanes[run->ranks[lane->plan->rank].first_lane + after->lane];
    merge(run, member_clock(run, lane, member), end_clock(run, other, after->pc, lane->pass));
}

void weft_race_end(weft_run_t *run, const weft_run_lane_t *lane, uint32_t pc)
{
    const weft_run_member_t *member =
        lane->nmembers != 0 ? &lane->members[lane->par ? pc - lane->pc - 1 : 0] : lane->members;
    const uint32_t *clock =
        lane->nmembers != 0 ? member_clock(run, lane, member) : lane_clock(run, lane);
    copy(run, end_clock(run, lane, pc, lane->pass), clock);
}

void weft_race_barrier(weft_run_t *run, const weft_run_lane_t *lane, uint64_t mask)
{
    const weft_run_lane_t *lanes = &run->lanes[run->ranks[lane->plan->rank].first_lane];
    for (uint32_t i = 0; i < lane->plan->nlanes; i++) {
        if ((mask >> i & 1) != 0) {
            merge(run, lane_clock(run, lane), lane_clock(run, &lanes[i]));
        }
    }
    for (uint32_t i = 0; i < lane->plan->nlanes; i++) {
        if ((mask >> i & 1) != 0 && &lanes[i] != lane) {
            copy(run, lane_clock(run, &lanes[i]), lane_clock(run, lane));
        }
    }
}

/* Before the slice moves: it comes after what its sources bring and what freed its slots. */
void weft_race_begin_step(weft_run_t *run, const weft_run_lane_t *lane,
                          const weft_run_member_t *member)
{
    const weft_move_t *move = member->move;
    const weft_run_rank_t *rank = &run->ranks[lane->plan->rank];
    uint32_t *clock = member_clock(run, lane, member);
    if (rank->tracked != 0) {
        clock[rank->tracked - 1 + context_of(run, lane, member)]++;
    }
    for (uint32_t i = 0; i < move->nsrc; i++) {
        if (move->src[i].kind == WEFT_OPERAND_PORT) {
            uint32_t queue = member->src[i];
            merge(run, clock, slot_clock(run, queue, run->queues[queue].head));
        }
    }
    for (uint32_t i = 0; i < move->ndst; i++) {
        if (move->dst[i].kind == WEFT_OPERAND_PORT) {
            uint32_t queue = member->dst[i];
            uint32_t slot = weft_run_back_index(run, &run->queues[queue]);
            merge(run, clock, slot_clock(run, queue, slot));
        }
    }
}

/* After it: popped and pushed slots carry its time. */
void weft_race_end_step(weft_run_t *run, const weft_run_lane_t *lane,
                        const weft_run_member_t *member)
{
    const weft_move_t *move = member->move;
    const uint32_t *clock = member_clock(run, lane, member);
    for (uint32_t i = 0; i < move->nsrc; i++) {
        if (move->src[i].kind == WEFT_OPERAND_PORT) {
            uint32_t queue = member->src[i], head = run->queues[queue].head;
            copy(run, slot_clock(run, queue, (head == 0 ? run->slots : head) - 1), clock);
        }
    }
    for (uint32_t i = 0; i < move->ndst; i++) {
        if (move->dst[i].kind == WEFT_OPERAND_PORT) {
            uint32_t queue = member->dst[i];
            uint32_t back = weft_run_back_index(run, &run->queues[queue]);
            copy(run, slot_clock(run, queue, (back == 0 ? run->slots : back) - 1), clock);
        }
    }
}

static void report_race(weft_run_t *run, const weft_run_lane_t *lane,
                        const weft_run_member_t *member, uint64_t cell, uint32_t context,
                        int writes)
{
    const weft_run_rank_t *rank = &run->ranks[lane->plan->rank];
    const weft_run_lane_t *other = &run->lanes[rank->first_lane];
    uint32_t row = other->row + context;
    while (other + 1 < run->lanes + run->nlanes && other[1].row <= row &&
           other[1].plan == other->plan) {
        other++;
    }
    int tmp = cell >= rank->tmp_cells;
    uint64_t chunk = (cell - (tmp ? rank->tmp_cells : rank->out_cells)) / run->slices;
    weft_run_finding(run, WEFT_VERDICT_RACE, lane, member->pc,
                     "%s %s[%llu] while lane %u member %u may still use it",
                     writes ? "writes" : "reads", tmp ? "tmp" : "out",
                     (unsigned long long)(tmp ? chunk : chunk % rank->out_chunks), other->lane,
                     row - other->row);
}

void weft_race_access(weft_run_t *run, const weft_run_lane_t *lane, const weft_run_member_t *member,
                      uint64_t cell, int writes)
{
    const weft_run_rank_t *rank = &run->ranks[lane->plan->rank];
    if (rank->tracked == 0) {
        return;
    }
    uint32_t width = rank->contexts, self = context_of(run, lane, member);
    uint64_t words = 2 * (uint64_t)width;
    uint32_t *history = run->race.accesses + rank->accesses_at + (cell - rank->out_cells) * words;
    const uint32_t *clock = member_clock(run, lane, member) + rank->tracked - 1;
    for (uint32_t i = 0; i < width; i++) {
        if (i != self && (history[i] > clock[i] || (writes && history[width + i] > clock[i]))) {
            report_race(run, lane, member, cell, i, writes);
            return;
        }
    }
    history[writes ? self : width + self] = clock[self];
}
