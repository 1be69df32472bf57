/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Races between the streams of one rank, by vector clocks. A stream is a lane, or one member of a
 * PAR. What orders streams: program order, `after`, BAR, a slice from its push to its pop; the
 * order may come about through other ranks. A full queue orders nothing: a transport may take more
 * than S slices before one is popped. Source: C. Fidge, 1988, and F. Mattern, 1989; the access
 * history follows C. Flanagan and S. Freund, "FastTrack", PLDI 2009.
 *
 * Clocks that travel through queues are dear, and most plans do not need them. So the first run
 * only uses what is known inside a rank: the members of a PAR of a lone lane must not touch each
 * other's chunks, and several lanes have clocks that see program order, `after` and BAR. One order
 * through other ranks is seen as well, by what the values say. The right result of a reduction
 * contains this rank's own input. As long as that is in one place (read once, stored once, read
 * from there once), the last step that took it up comes before every write of the right result; so
 * a partial sum may be sent from where the result is stored later. Ranks where this does not do are
 * marked, and a second run gives clocks through all queues to these alone. Components of a clock do
 * not influence each other, so when they would need too much memory, that run is repeated with a
 * group of ranks at a time; each repetition is exact. */
#include "core/plan/race.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/plan/finding.h"
#include "core/plan/run_result.h"

/* 128 MiB of clocks through queues, 1 GiB of clocks inside ranks, of which little is touched; a
 * test sets less. */
#ifndef RACE_WORDS_MAX
#define RACE_WORDS_MAX (UINT64_C(1) << 25)
#endif

/* What is remembered of a cell, in words: the stream that wrote it last, plus one, and when; the
 * same of the last read as OUT or TMP and of the last as input in place, as long as each read comes
 * after the one before, else READER is SEVERAL and a row of times by stream says when each read
 * last; how often it was read as input; which own input lies in it, plus one. Earlier writes need
 * not be remembered: they come before the last one, or that was a finding. */
enum { WRITER, WRITTEN, READER, READ, INPUT_READER, INPUT_READ, INPUT_READS, CARRIES, WORDS };

#define SEVERAL UINT32_MAX

static uint32_t *race_row_of(const weft_run_t *run, const weft_run_rank_t *rank, uint64_t row)
{
    return run->race.clocks + rank->clocks_at + row * rank->width;
}

static const weft_run_rank_t *race_rank_of(const weft_run_t *run, const weft_run_lane_t *lane)
{
    return &run->ranks[lane->rank];
}

static uint32_t *race_lane_clock(const weft_run_t *run, const weft_run_lane_t *lane)
{
    return race_row_of(run, race_rank_of(run, lane), lane->lane);
}

/* Number of the stream within its rank. */
static uint32_t race_context_of(const weft_run_lane_t *lane, const weft_run_member_t *member)
{
    return lane->context + (lane->par ? (uint32_t)(member - lane->members) : 0);
}

/* A lone MOVE runs on the lane's own clock. */
static uint32_t *race_member_clock(const weft_run_t *run, const weft_run_lane_t *lane,
                                   const weft_run_member_t *member)
{
    return lane->par ? race_row_of(run, race_rank_of(run, lane),
                                   lane->plan->nlanes + race_context_of(lane, member))
                     : race_lane_clock(run, lane);
}

/* A lane may be one pass ahead of those who wait for it, so each pass has its own row. */
static uint32_t *race_end_clock(const weft_run_t *run, const weft_run_lane_t *lane, uint32_t pc,
                                uint32_t pass)
{
    const weft_run_rank_t *rank = race_rank_of(run, lane);
    uint64_t row = lane->plan->nlanes + rank->contexts;
    return race_row_of(run, rank, row + (uint64_t)(lane->code_at + pc) * WEFT_RUN_PASSES + pass);
}

static uint32_t *race_slot_clock(const weft_run_t *run, uint32_t queue, uint32_t slot)
{
    uint64_t row = run->queues.list[queue].ring_at + slot;
    return run->race.clocks + run->race.slots_at + row * run->race.dims;
}

static void race_merge(uint32_t *into, const uint32_t *from, uint32_t width)
{
    for (uint32_t i = 0; i < width; i++) {
        into[i] = from[i] > into[i] ? from[i] : into[i];
    }
}

static void race_copy(uint32_t *into, const uint32_t *from, uint32_t width)
{
    memcpy(into, from, width * sizeof *into);
}

static uint64_t race_rank_rows(const weft_run_t *run, uint32_t rank)
{
    return run->input->plans[rank]->nlanes + run->ranks[rank].contexts +
           (uint64_t)run->ranks[rank].ends * WEFT_RUN_PASSES;
}

static uint64_t race_cell_words(const weft_run_rank_t *rank)
{
    return WORDS + 2 * (uint64_t)rank->contexts;
}

static uint64_t race_rank_cells(const weft_run_t *run, uint32_t rank)
{
    uint64_t begin = run->ranks[rank].cells[WEFT_OPERAND_OUT];
    uint64_t end =
        rank + 1 < run->n ? run->ranks[rank + 1].cells[WEFT_OPERAND_OUT] : run->memory.ncells;
    return end - begin;
}

static uint64_t race_rank_words(const weft_run_t *run, uint32_t rank)
{
    return race_rank_cells(run, rank) * race_cell_words(&run->ranks[rank]);
}

static weft_status_t race_allocate(weft_run_t *run, uint64_t clocks, uint64_t accesses)
{
    run->race.clocks = weft_os_alloc((clocks + 1) * sizeof *run->race.clocks, 0);
    run->race.accesses = weft_os_alloc((accesses + 1) * sizeof *run->race.accesses, 0);
    if (run->race.clocks == NULL || run->race.accesses == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for %llu words of clocks",
                         (unsigned long long)(clocks + accesses));
    }
    return WEFT_OK;
}

static void race_set_clocked(weft_run_t *run, uint32_t rank)
{
    for (uint32_t i = 0; i < run->input->plans[rank]->nlanes; i++) {
        run->lanes[run->ranks[rank].first_lane + i].clocked = true;
    }
}

weft_status_t weft_race_init_local(weft_run_t *run)
{
    uint64_t clocks = 0, accesses = 0, uses = 0, owns = 0;
    for (uint32_t i = 0; i < run->n; i++) {
        weft_run_rank_t *rank = &run->ranks[i];
        if (run->input->plans[i]->nlanes < 2) {
            rank->uses_at = uses;
            uses += rank->contexts < 2
                        ? 0
                        : (uint64_t)rank->chunks[WEFT_OPERAND_OUT] + rank->chunks[WEFT_OPERAND_TMP];
            continue;
        }
        uint64_t rows = race_rank_rows(run, i) * rank->contexts, words = race_rank_words(run, i);
        if (clocks + accesses + rows + words > 8 * RACE_WORDS_MAX) {
            run->race.marks[i] = WEFT_SUSPECT | WEFT_SUSPECT_IN_PLACE;
            continue;
        }
        rank->tracked = 1;
        rank->width = rank->contexts;
        rank->clocks_at = clocks;
        rank->accesses_at = accesses;
        rank->owns_at = owns;
        clocks += rows;
        accesses += words;
        owns += run->reduces ? (uint64_t)rank->chunks[WEFT_OPERAND_OUT] * run->slices : 0;
        race_set_clocked(run, i);
    }
    run->race.owns = weft_os_alloc((owns + 1) * sizeof *run->race.owns, 0);
    run->race.uses = weft_os_alloc((uses + 1) * sizeof *run->race.uses, 0);
    if (run->race.uses == NULL || run->race.owns == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for %llu chunks",
                         (unsigned long long)(uses + owns));
    }
    return race_allocate(run, clocks, accesses);
}

/* Takes ranks while rows of that many components fit; at least one. */
static uint64_t race_choose_ranks(weft_run_t *run, uint64_t rows, uint8_t mark, uint32_t *next_p)
{
    uint64_t words = 0;
    uint32_t dims = 0;
    for (; *next_p < run->n; ++*next_p) {
        weft_run_rank_t *rank = &run->ranks[*next_p];
        if ((run->race.marks[*next_p] & mark) == 0) {
            continue;
        }
        uint64_t more = race_rank_words(run, *next_p);
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

weft_status_t weft_race_init_exact(weft_run_t *run, uint8_t mark, uint32_t *next_p)
{
    uint64_t rows = run->memory.nmessages;
    for (uint32_t i = 0; i < run->n; i++) {
        rows += race_rank_rows(run, i);
    }
    uint64_t accesses = race_choose_ranks(run, rows, mark, next_p), clocks = 0;
    uint32_t dims = run->race.dims;
    for (uint32_t i = 0; i < run->n && dims != 0; i++) {
        run->ranks[i].width = dims;
        run->ranks[i].clocks_at = clocks;
        clocks += race_rank_rows(run, i) * dims;
        race_set_clocked(run, i);
    }
    run->race.through_queues = true;
    run->race.slots_at = clocks;
    return race_allocate(run, clocks + run->memory.nmessages * dims, accesses);
}

void weft_race_fini(weft_run_t *run)
{
    weft_os_free(run->race.owns);
    weft_os_free(run->race.uses);
    weft_os_free(run->race.accesses);
    weft_os_free(run->race.clocks);
}

void weft_race_fork(weft_run_t *run, const weft_run_lane_t *lane)
{
    for (uint32_t i = 0; i < lane->nmembers; i++) {
        race_copy(race_member_clock(run, lane, &lane->members[i]), race_lane_clock(run, lane),
                  race_rank_of(run, lane)->width);
    }
}

void weft_race_join(weft_run_t *run, const weft_run_lane_t *lane)
{
    for (uint32_t i = 0; i < lane->nmembers; i++) {
        race_merge(race_lane_clock(run, lane), race_member_clock(run, lane, &lane->members[i]),
                   race_rank_of(run, lane)->width);
    }
}

void weft_race_wait(weft_run_t *run, const weft_run_lane_t *lane, const weft_after_t *after)
{
    const weft_run_rank_t *rank = race_rank_of(run, lane);
    const weft_run_lane_t *other = &run->lanes[rank->first_lane + after->lane];
    race_merge(race_lane_clock(run, lane), race_end_clock(run, other, after->pc, lane->cursor.pass),
               rank->width);
}

void weft_race_end(weft_run_t *run, const weft_run_lane_t *lane, uint32_t pc)
{
    race_copy(race_end_clock(run, lane, pc, lane->cursor.pass), race_lane_clock(run, lane),
              race_rank_of(run, lane)->width);
}

void weft_race_barrier(weft_run_t *run, const weft_run_lane_t *lane, uint64_t mask)
{
    const weft_run_rank_t *rank = race_rank_of(run, lane);
    const weft_run_lane_t *lanes = &run->lanes[rank->first_lane];
    for (uint32_t i = 0; i < lane->plan->nlanes; i++) {
        if ((mask >> i & 1) != 0) {
            race_merge(race_lane_clock(run, lane), race_lane_clock(run, &lanes[i]), rank->width);
        }
    }
    for (uint32_t i = 0; i < lane->plan->nlanes; i++) {
        if ((mask >> i & 1) != 0 && &lanes[i] != lane) {
            race_copy(race_lane_clock(run, &lanes[i]), race_lane_clock(run, lane), rank->width);
        }
    }
}

/* Before the slice moves: it comes after what its sources bring. */
void weft_race_begin_step(weft_run_t *run, const weft_run_lane_t *lane,
                          const weft_run_member_t *member)
{
    const weft_plan_view_t *move = &member->move;
    const weft_run_rank_t *rank = race_rank_of(run, lane);
    uint32_t *clock = race_member_clock(run, lane, member);
    run->race.carries = 0;
    if (rank->tracked != 0) {
        clock[rank->tracked - 1 + race_context_of(lane, member)]++;
    }
    for (uint32_t i = 0; run->race.through_queues && i < move->nsrc; i++) {
        if (move->src[i].kind == WEFT_OPERAND_PORT) {
            uint32_t queue = member->src[i];
            race_merge(clock, race_slot_clock(run, queue, run->queues.list[queue].head),
                       rank->width);
        }
    }
}

static weft_run_own_t *race_own_of(const weft_run_t *run, const weft_run_lane_t *lane,
                                   uint32_t number)
{
    return &run->race.owns[race_rank_of(run, lane)->owns_at + number - 1];
}

/* The step takes up an own input. */
static void race_take_up(weft_run_t *run, const weft_run_lane_t *lane, uint32_t number,
                         bool in_place)
{
    weft_run_own_t *own = race_own_of(run, lane, number);
    own->state = in_place && run->race.carries == 0 ? WEFT_OWN_MOVES : WEFT_OWN_COPIED;
    if (run->race.carries != 0) {
        race_own_of(run, lane, run->race.carries)->state = WEFT_OWN_COPIED;
    }
    run->race.carries = number;
}

void weft_race_read_own(weft_run_t *run, const weft_run_lane_t *lane,
                        const weft_run_member_t *member, uint32_t chunk)
{
    const weft_run_rank_t *rank = race_rank_of(run, lane);
    if (!run->reduces || rank->tracked == 0 || run->race.through_queues || lane->cursor.pass != 0) {
        return;
    }
    if (lane->plan->coll == WEFT_REDUCE_SCATTER) {
        uint32_t k = lane->plan->k;
        if (chunk / k != lane->rank) {
            return;
        }
        chunk %= k;
    }
    uint32_t number = chunk * run->slices + member->slice + 1;
    race_take_up(run, lane, number, race_own_of(run, lane, number)->state == WEFT_OWN_UNREAD);
}

/* What it took up and did not store has left through its port, if it has but one destination. */
static void race_send_own(weft_run_t *run, const weft_run_lane_t *lane,
                          const weft_run_member_t *member)
{
    if (run->race.carries == 0) {
        return;
    }
    weft_run_own_t *own = race_own_of(run, lane, run->race.carries);
    if (own->state == WEFT_OWN_MOVES && member->move.ndst == 1) {
        own->state = WEFT_OWN_SENT;
        own->context = race_context_of(lane, member);
        own->time = race_member_clock(run, lane, member)[own->context];
    } else {
        own->state = WEFT_OWN_COPIED;
    }
}

/* After it: pushed slots carry its time. */
void weft_race_end_step(weft_run_t *run, const weft_run_lane_t *lane,
                        const weft_run_member_t *member)
{
    if (!run->race.through_queues) {
        race_send_own(run, lane, member);
        return;
    }
    const weft_plan_view_t *move = &member->move;
    uint32_t width = run->race.dims;
    const uint32_t *clock = race_member_clock(run, lane, member);
    for (uint32_t i = 0; i < move->ndst; i++) {
        if (move->dst[i].kind == WEFT_OPERAND_PORT) {
            uint32_t queue = member->dst[i];
            uint32_t back = weft_run_back_index(&run->queues.list[queue]);
            uint32_t room = run->queues.list[queue].room;
            race_copy(race_slot_clock(run, queue, (back == 0 ? room : back) - 1), clock, width);
        }
    }
}

static void report_race(weft_run_t *run, const weft_run_lane_t *lane,
                        const weft_run_member_t *member, uint64_t cell, uint32_t context,
                        bool writes)
{
    const weft_run_rank_t *rank = race_rank_of(run, lane);
    const weft_run_lane_t *other = &run->lanes[rank->first_lane];
    for (uint32_t i = 1; i < lane->plan->nlanes && other[1].context <= context; i++) {
        other++;
    }
    bool tmp = cell >= rank->cells[WEFT_OPERAND_TMP];
    uint64_t chunk = (cell - rank->cells[tmp ? WEFT_OPERAND_TMP : WEFT_OPERAND_OUT]) / run->slices;
    weft_run_finding(run, WEFT_VERDICT_RACE, lane, member->pc,
                     "%s %s[%llu] while lane %u member %u may still use it",
                     writes ? "writes" : "reads", tmp ? "tmp" : "out",
                     (unsigned long long)(tmp ? chunk : chunk % rank->chunks[WEFT_OPERAND_OUT]),
                     other->lane, context - other->context);
}

static uint32_t *race_history_of(const weft_run_t *run, const weft_run_rank_t *rank, uint64_t cell)
{
    return run->race.accesses + rank->accesses_at + (cell - rank->cells[WEFT_OPERAND_OUT]) * WORDS;
}

/* The rows stand apart: hardly any is ever touched. */
static uint32_t *race_times_of(const weft_run_t *run, const weft_run_lane_t *lane, uint64_t cell,
                               uint32_t which)
{
    const weft_run_rank_t *rank = race_rank_of(run, lane);
    uint64_t row = 2 * (cell - rank->cells[WEFT_OPERAND_OUT]) + (which == INPUT_READER);
    return run->race.accesses + rank->accesses_at + race_rank_cells(run, lane->rank) * WORDS +
           row * rank->contexts;
}

static void race_add_read(const weft_run_t *run, const weft_run_lane_t *lane, const uint32_t *clock,
                          uint32_t self, uint64_t cell, uint32_t which)
{
    uint32_t *history = race_history_of(run, race_rank_of(run, lane), cell);
    uint32_t *reader = &history[which], *read = &history[which + 1];
    if (*reader == 0 || (*reader != SEVERAL && *read <= clock[*reader - 1])) {
        *reader = self + 1;
        *read = clock[self];
        return;
    }
    uint32_t *times = race_times_of(run, lane, cell, which);
    if (*reader != SEVERAL) {
        times[*reader - 1] = *read;
        *reader = SEVERAL;
    }
    times[self] = clock[self];
}

/* A reading stream whose time is not before now, or NONE. */
static uint32_t race_unordered(const weft_run_t *run, const weft_run_lane_t *lane,
                               const uint32_t *clock, uint64_t cell, uint32_t which)
{
    const weft_run_rank_t *rank = race_rank_of(run, lane);
    const uint32_t *history = race_history_of(run, rank, cell);
    uint32_t reader = history[which];
    if (reader != SEVERAL) {
        return reader != 0 && history[which + 1] > clock[reader - 1] ? reader - 1 : WEFT_RUN_NONE;
    }
    const uint32_t *times = race_times_of(run, lane, cell, which);
    for (uint32_t i = 0; i < rank->contexts; i++) {
        if (times[i] > clock[i]) {
            return i;
        }
    }
    return WEFT_RUN_NONE;
}

/* The stream that wrote last, if that is not before now, or NONE. */
static uint32_t race_unordered_writer(const uint32_t *clock, const uint32_t *history)
{
    uint32_t writer = history[WRITER];
    return writer != 0 && history[WRITTEN] > clock[writer - 1] ? writer - 1 : WEFT_RUN_NONE;
}

/* Not ordered: for certain if clocks went through queues, else to be looked at again. */
static void race_find(weft_run_t *run, const weft_run_lane_t *lane, const weft_run_member_t *member,
                      uint64_t cell, uint32_t context, bool writes, bool in_place)
{
    if (context == WEFT_RUN_NONE) {
        return;
    }
    if (run->race.through_queues) {
        report_race(run, lane, member, cell, context, writes);
    } else if (in_place && run->both) {
        run->race.marks[lane->rank] |= WEFT_SUSPECT_IN_PLACE;
    } else {
        run->race.marks[lane->rank] |= WEFT_SUSPECT | WEFT_SUSPECT_IN_PLACE;
    }
}

/* Without clocks through queues, lanes order themselves in each pass in the same way, and each pass
 * has its own OUT: only scratch is looked at in the second one, too. */
static bool race_is_tracked(const weft_run_t *run, const weft_run_lane_t *lane,
                            const weft_run_rank_t *rank, uint64_t cell)
{
    return rank->tracked != 0 && (lane->cursor.pass == 0 || run->race.through_queues ||
                                  cell >= rank->cells[WEFT_OPERAND_TMP]);
}

void weft_race_read(weft_run_t *run, const weft_run_lane_t *lane, const weft_run_member_t *member,
                    uint64_t cell)
{
    const weft_run_rank_t *rank = race_rank_of(run, lane);
    if (race_is_tracked(run, lane, rank, cell)) {
        uint32_t *history = race_history_of(run, rank, cell), self = race_context_of(lane, member);
        const uint32_t *clock = race_member_clock(run, lane, member) + rank->tracked - 1;
        race_find(run, lane, member, cell, race_unordered_writer(clock, history), 0, 0);
        race_add_read(run, lane, clock, self, cell, READER);
        if (history[CARRIES] != 0) {
            const weft_run_own_t *own = race_own_of(run, lane, history[CARRIES]);
            race_take_up(run, lane, history[CARRIES],
                         own->state == WEFT_OWN_HELD && own->cell == cell &&
                             lane->cursor.pass == 0);
        }
    }
}

void weft_race_read_input(weft_run_t *run, const weft_run_lane_t *lane,
                          const weft_run_member_t *member, uint64_t cell)
{
    const weft_run_rank_t *rank = race_rank_of(run, lane);
    if (race_is_tracked(run, lane, rank, cell)) {
        uint32_t *history = race_history_of(run, rank, cell), self = race_context_of(lane, member);
        const uint32_t *clock = race_member_clock(run, lane, member) + rank->tracked - 1;
        race_find(run, lane, member, cell, race_unordered_writer(clock, history), 0, 1);
        history[INPUT_READS]++;
        race_add_read(run, lane, clock, self, cell, INPUT_READER);
    }
}

/* A write of the right result comes after the step that sent the own input, as the text above
 * says. */
static void race_come_after_own(const weft_run_t *run, const weft_run_lane_t *lane, uint32_t *clock,
                                uint64_t cell, uint64_t value)
{
    const weft_run_rank_t *rank = race_rank_of(run, lane);
    if (!run->reduces || run->race.through_queues || lane->cursor.pass != 0 ||
        cell >= rank->cells[WEFT_OPERAND_TMP]) {
        return;
    }
    uint64_t at = cell - rank->cells[WEFT_OPERAND_OUT];
    uint32_t chunk = (uint32_t)(at / run->slices), slice = (uint32_t)(at % run->slices);
    const weft_run_own_t *own = race_own_of(run, lane, (uint32_t)at + 1);
    if (own->state == WEFT_OWN_SENT &&
        value == weft_run_expected(run, lane->rank, chunk, slice, lane->cursor.pass) &&
        own->time > clock[own->context]) {
        clock[own->context] = own->time;
    }
}

/* … and after the read of the input that lies in its place, if that was the only one. */
static bool race_comes_after_input(const weft_run_t *run, const weft_run_lane_t *lane,
                                   const uint32_t *history, uint64_t cell, uint64_t value)
{
    const weft_run_rank_t *rank = race_rank_of(run, lane);
    if (!run->reduces || history[INPUT_READS] != 1) {
        return false;
    }
    uint64_t at = cell - rank->cells[WEFT_OPERAND_OUT];
    uint32_t chunk = (uint32_t)(at / run->slices % rank->chunks[WEFT_OPERAND_OUT]);
    return value == weft_run_expected(run, lane->rank, chunk, (uint32_t)(at % run->slices),
                                      lane->cursor.pass);
}

/* What the step has taken up is here now, if it has but one destination. */
static void race_put_down(weft_run_t *run, const weft_run_lane_t *lane,
                          const weft_run_member_t *member, uint64_t cell, uint32_t *history)
{
    history[CARRIES] = 0;
    if (run->race.carries == 0 || member->move.ndst != 1) {
        return;
    }
    weft_run_own_t *own = race_own_of(run, lane, run->race.carries);
    if (own->state == WEFT_OWN_MOVES) {
        own->state = WEFT_OWN_HELD;
        own->cell = cell;
        history[CARRIES] = run->race.carries;
    }
    run->race.carries = 0;
}

void weft_race_write(weft_run_t *run, const weft_run_lane_t *lane, const weft_run_member_t *member,
                     uint64_t cell, uint64_t value)
{
    const weft_run_rank_t *rank = race_rank_of(run, lane);
    if (!race_is_tracked(run, lane, rank, cell)) {
        return;
    }
    uint32_t *history = race_history_of(run, rank, cell), self = race_context_of(lane, member);
    uint32_t *clock = race_member_clock(run, lane, member) + rank->tracked - 1;
    race_find(run, lane, member, cell, race_unordered_writer(clock, history), 1, 0);
    uint32_t reader = race_unordered(run, lane, clock, cell, READER);
    if (reader != WEFT_RUN_NONE) {
        race_come_after_own(run, lane, clock, cell, value);
        reader = race_unordered(run, lane, clock, cell, READER);
    }
    race_find(run, lane, member, cell, reader, 1, 0);
    uint32_t other = race_unordered(run, lane, clock, cell, INPUT_READER);
    if (other != WEFT_RUN_NONE && !run->race.through_queues &&
        race_comes_after_input(run, lane, history, cell, value)) {
        other = WEFT_RUN_NONE;
    }
    race_find(run, lane, member, cell, other, 1, 1);
    history[WRITER] = self + 1;
    history[WRITTEN] = clock[self];
    race_put_down(run, lane, member, cell, history);
}
