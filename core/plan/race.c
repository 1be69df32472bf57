/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Races between the streams of one rank, by vector clocks. A stream is a lane, or one member of a
 * PAR. What orders streams: program order, `after`, BAR, a slice from its push to its pop, a slot
 * from its pop to its next push; the order may come about through other ranks. Source: C. Fidge, 1988,
 * and F. Mattern, 1989; the access history follows C. Flanagan and S. Freund, "FastTrack", PLDI 2009.
 *
 * Clocks that travel through queues are dear, and most plans do not need them. So the first run only
 * uses what is known inside a rank: the members of a PAR of a lone lane must not touch each other's
 * chunks, and several lanes have clocks that see program order, `after` and BAR. One order through
 * other ranks is seen as well: if a write in place of a reduction's result gives the right value,
 * which contains the input that lies there, it comes after the read of that input, if that was the
 * only one. Ranks where this does not do are marked, and a second run gives clocks through all queues
 * to these alone. Components of a clock do not influence each other, so when they would need too much
 * memory, that run is repeated with a group of ranks at a time; each repetition is exact. */
#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/plan/run.h"

/* 128 MiB of clocks through queues, 1 GiB of clocks inside ranks, of which little is touched; a test
 * sets less. */
#ifndef RACE_WORDS_MAX
#define RACE_WORDS_MAX (UINT64_C(1) << 25)
#endif

/* What is remembered of a cell, in words: the stream that wrote it last, plus one, and when; which
 * streams read it, as OUT or TMP and as input in place (stream s is bit s modulo 32); how often it was
 * read as input; then the times of these reads, by stream. Earlier writes need not be remembered: they
 * come before the last one, or that was a finding. */
enum { WRITER, WRITTEN, READERS, INPUT_READERS, INPUT_READS, TIMES };

static uint32_t *row_of(const weft_run_t *run, const weft_run_rank_t *rank, uint64_t row)
{
    return run->race.clocks + rank->clocks_at + row * rank->width;
}

static const weft_run_rank_t *rank_of(const weft_run_t *run, const weft_run_lane_t *lane)
{
    return &run->ranks[lane->rank];
}

static uint32_t *lane_clock(const weft_run_t *run, const weft_run_lane_t *lane)
{
    return row_of(run, rank_of(run, lane), lane->lane);
}

/* Number of the stream within its rank. */
static uint32_t context_of(const weft_run_lane_t *lane, const weft_run_member_t *member)
{
    return lane->context + (lane->par ? (uint32_t)(member - lane->members) : 0);
}

/* A lone MOVE runs on the lane's own clock. */
static uint32_t *member_clock(const weft_run_t *run, const weft_run_lane_t *lane,
                              const weft_run_member_t *member)
{
    return lane->par
               ? row_of(run, rank_of(run, lane), lane->plan->nlanes + context_of(lane, member))
               : lane_clock(run, lane);
}

/* A lane may be one pass ahead of those who wait for it, so each pass has its own row. */
static uint32_t *end_clock(const weft_run_t *run, const weft_run_lane_t *lane, uint32_t pc,
                           uint32_t pass)
{
    const weft_run_rank_t *rank = rank_of(run, lane);
    uint64_t row = lane->plan->nlanes + rank->contexts;
    return row_of(run, rank, row + (uint64_t)(lane->code_at + pc) * WEFT_RUN_PASSES + pass);
}

static uint32_t *slot_clock(const weft_run_t *run, uint32_t queue, uint32_t slot)
{
    uint64_t row = run->queues[queue].slots_at + slot;
    return run->race.clocks + run->race.slots_at + row * run->race.dims;
}

static void merge(uint32_t *into, const uint32_t *from, uint32_t width)
{
    for (uint32_t i = 0; i < width; i++) {
        into[i] = from[i] > into[i] ? from[i] : into[i];
    }
}

static void copy(uint32_t *into, const uint32_t *from, uint32_t width)
{
    memcpy(into, from, width * sizeof *into);
}

static uint64_t rank_rows(const weft_run_t *run, uint32_t rank)
{
    return run->input->plans[rank]->nlanes + run->ranks[rank].contexts +
           (uint64_t)run->ranks[rank].ends * WEFT_RUN_PASSES;
}

static uint64_t cell_words(const weft_run_rank_t *rank)
{
    return TIMES + 2 * (uint64_t)rank->contexts;
}

static uint64_t rank_words(const weft_run_t *run, uint32_t rank)
{
    uint64_t begin = run->ranks[rank].cells[WEFT_OPERAND_OUT];
    uint64_t end = rank + 1 < run->n ? run->ranks[rank + 1].cells[WEFT_OPERAND_OUT] : run->ncells;
    return (end - begin) * cell_words(&run->ranks[rank]);
}

static weft_status_t allocate(weft_run_t *run, uint64_t clocks, uint64_t accesses)
{
    run->race.clocks = weft_os_alloc((clocks + 1) * sizeof *run->race.clocks, 0);
    run->race.accesses = weft_os_alloc((accesses + 1) * sizeof *run->race.accesses, 0);
    if (run->race.clocks == NULL || run->race.accesses == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for %llu words of clocks",
                         (unsigned long long)(clocks + accesses));
    }
    return WEFT_OK;
}

static void set_clocked(weft_run_t *run, uint32_t rank)
{
    for (uint32_t i = 0; i < run->input->plans[rank]->nlanes; i++) {
        run->lanes[run->ranks[rank].first_lane + i].clocked = 1;
    }
}

weft_status_t weft_race_init_local(weft_run_t *run)
{
    uint64_t clocks = 0, accesses = 0, uses = 0;
    for (uint32_t i = 0; i < run->n; i++) {
        weft_run_rank_t *rank = &run->ranks[i];
        if (run->input->plans[i]->nlanes < 2) {
            rank->uses_at = uses;
            uses += rank->contexts < 2
                        ? 0
                        : (uint64_t)rank->chunks[WEFT_OPERAND_OUT] + rank->chunks[WEFT_OPERAND_TMP];
            continue;
        }
        uint64_t rows = rank_rows(run, i) * rank->contexts, words = rank_words(run, i);
        if (clocks + accesses + rows + words > 8 * RACE_WORDS_MAX) {
            run->marks[i] = WEFT_SUSPECT | WEFT_SUSPECT_IN_PLACE;
            continue;
        }
        rank->tracked = 1;
        rank->width = rank->contexts;
        rank->clocks_at = clocks;
        rank->accesses_at = accesses;
        clocks += rows;
        accesses += words;
        set_clocked(run, i);
    }
    run->race.uses = weft_os_alloc((uses + 1) * sizeof *run->race.uses, 0);
    if (run->race.uses == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for %llu chunks",
                         (unsigned long long)uses);
    }
    return allocate(run, clocks, accesses);
}

/* Takes ranks while rows of that many components fit; at least one. */
static uint64_t choose_ranks(weft_run_t *run, uint64_t rows, uint8_t mark, uint32_t *next_p)
{
    uint64_t words = 0;
    uint32_t dims = 0;
    for (; *next_p < run->n; ++*next_p) {
        weft_run_rank_t *rank = &run->ranks[*next_p];
        if ((run->marks[*next_p] & mark) == 0) {
            continue;
        }
        uint64_t more = rank_words(run, *next_p);
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
    uint64_t rows = run->nslots;
    for (uint32_t i = 0; i < run->n; i++) {
        rows += rank_rows(run, i);
    }
    uint64_t accesses = choose_ranks(run, rows, mark, next_p), clocks = 0;
    uint32_t dims = run->race.dims;
    for (uint32_t i = 0; i < run->n && dims != 0; i++) {
        run->ranks[i].width = dims;
        run->ranks[i].clocks_at = clocks;
        clocks += rank_rows(run, i) * dims;
        set_clocked(run, i);
    }
    run->race.through_queues = 1;
    run->race.slots_at = clocks;
    return allocate(run, clocks + run->nslots * dims, accesses);
}

void weft_race_fini(weft_run_t *run)
{
    weft_os_free(run->race.uses);
    weft_os_free(run->race.accesses);
    weft_os_free(run->race.clocks);
}

void weft_race_fork(weft_run_t *run, const weft_run_lane_t *lane)
{
    for (uint32_t i = 0; i < lane->nmembers; i++) {
        copy(member_clock(run, lane, &lane->members[i]), lane_clock(run, lane),
             rank_of(run, lane)->width);
    }
}

void weft_race_join(weft_run_t *run, const weft_run_lane_t *lane)
{
    for (uint32_t i = 0; i < lane->nmembers; i++) {
        merge(lane_clock(run, lane), member_clock(run, lane, &lane->members[i]),
              rank_of(run, lane)->width);
    }
}

void weft_race_wait(weft_run_t *run, const weft_run_lane_t *lane, const weft_run_member_t *member,
                    const weft_after_t *after)
{
    const weft_run_rank_t *rank = rank_of(run, lane);
    const weft_run_lane_t *other = &run->lanes[rank->first_lane + after->lane];
    merge(member_clock(run, lane, member), end_clock(run, other, after->pc, lane->pass),
          rank->width);
}

void weft_race_end(weft_run_t *run, const weft_run_lane_t *lane, uint32_t pc)
{
    const weft_run_member_t *member =
        lane->nmembers != 0 ? &lane->members[lane->par ? pc - lane->pc - 1 : 0] : lane->members;
    const uint32_t *clock =
        lane->nmembers != 0 ? member_clock(run, lane, member) : lane_clock(run, lane);
    copy(end_clock(run, lane, pc, lane->pass), clock, rank_of(run, lane)->width);
}

void weft_race_barrier(weft_run_t *run, const weft_run_lane_t *lane, uint64_t mask)
{
    const weft_run_rank_t *rank = rank_of(run, lane);
    const weft_run_lane_t *lanes = &run->lanes[rank->first_lane];
    for (uint32_t i = 0; i < lane->plan->nlanes; i++) {
        if ((mask >> i & 1) != 0) {
            merge(lane_clock(run, lane), lane_clock(run, &lanes[i]), rank->width);
        }
    }
    for (uint32_t i = 0; i < lane->plan->nlanes; i++) {
        if ((mask >> i & 1) != 0 && &lanes[i] != lane) {
            copy(lane_clock(run, &lanes[i]), lane_clock(run, lane), rank->width);
        }
    }
}

/* Before the slice moves: it comes after what its sources bring and what freed its slots. */
void weft_race_begin_step(weft_run_t *run, const weft_run_lane_t *lane,
                          const weft_run_member_t *member)
{
    const weft_plan_view_t *move = &member->move;
    const weft_run_rank_t *rank = rank_of(run, lane);
    uint32_t *clock = member_clock(run, lane, member);
    if (rank->tracked != 0) {
        clock[rank->tracked - 1 + context_of(lane, member)]++;
    }
    for (uint32_t i = 0; run->race.through_queues && i < move->nsrc; i++) {
        if (move->src[i].kind == WEFT_OPERAND_PORT) {
            uint32_t queue = member->src[i];
            merge(clock, slot_clock(run, queue, run->queues[queue].head), rank->width);
        }
    }
    for (uint32_t i = 0; run->race.through_queues && i < move->ndst; i++) {
        if (move->dst[i].kind == WEFT_OPERAND_PORT) {
            uint32_t queue = member->dst[i];
            uint32_t slot = weft_run_back_index(&run->queues[queue]);
            merge(clock, slot_clock(run, queue, slot), rank->width);
        }
    }
}

/* After it: popped and pushed slots carry its time. */
void weft_race_end_step(weft_run_t *run, const weft_run_lane_t *lane,
                        const weft_run_member_t *member)
{
    if (!run->race.through_queues) {
        return;
    }
    const weft_plan_view_t *move = &member->move;
    uint32_t width = run->race.dims;
    const uint32_t *clock = member_clock(run, lane, member);
    for (uint32_t i = 0; i < move->nsrc; i++) {
        if (move->src[i].kind == WEFT_OPERAND_PORT) {
            uint32_t queue = member->src[i], head = run->queues[queue].head;
            uint32_t room = run->queues[queue].room;
            copy(slot_clock(run, queue, (head == 0 ? room : head) - 1), clock, width);
        }
    }
    for (uint32_t i = 0; i < move->ndst; i++) {
        if (move->dst[i].kind == WEFT_OPERAND_PORT) {
            uint32_t queue = member->dst[i];
            uint32_t back = weft_run_back_index(&run->queues[queue]);
            uint32_t room = run->queues[queue].room;
            copy(slot_clock(run, queue, (back == 0 ? room : back) - 1), clock, width);
        }
    }
}

static void report_race(weft_run_t *run, const weft_run_lane_t *lane,
                        const weft_run_member_t *member, uint64_t cell, uint32_t context,
                        int writes)
{
    const weft_run_rank_t *rank = rank_of(run, lane);
    const weft_run_lane_t *other = &run->lanes[rank->first_lane];
    for (uint32_t i = 1; i < lane->plan->nlanes && other[1].context <= context; i++) {
        other++;
    }
    int tmp = cell >= rank->cells[WEFT_OPERAND_TMP];
    uint64_t chunk = (cell - rank->cells[tmp ? WEFT_OPERAND_TMP : WEFT_OPERAND_OUT]) / run->slices;
    weft_run_finding(run, WEFT_VERDICT_RACE, lane, member->pc,
                     "%s %s[%llu] while lane %u member %u may still use it",
                     writes ? "writes" : "reads", tmp ? "tmp" : "out",
                     (unsigned long long)(tmp ? chunk : chunk % rank->chunks[WEFT_OPERAND_OUT]),
                     other->lane, context - other->context);
}

static uint32_t *history_of(const weft_run_t *run, const weft_run_rank_t *rank, uint64_t cell)
{
    return run->race.accesses + rank->accesses_at +
           (cell - rank->cells[WEFT_OPERAND_OUT]) * cell_words(rank);
}

/* A reading stream whose time is not before now, or NONE. */
static uint32_t unordered(const weft_run_rank_t *rank, const uint32_t *clock, uint32_t readers,
                          const uint32_t *times)
{
    for (uint32_t first = 0; readers != 0; first++, readers >>= 1) {
        for (uint32_t i = first; (readers & 1) != 0 && i < rank->contexts; i += 32) {
            if (times[i] > clock[i]) {
                return i;
            }
        }
    }
    return WEFT_RUN_NONE;
}

/* The stream that wrote last, if that is not before now, or NONE. */
static uint32_t unordered_writer(const uint32_t *clock, const uint32_t *history)
{
    uint32_t writer = history[WRITER];
    return writer != 0 && history[WRITTEN] > clock[writer - 1] ? writer - 1 : WEFT_RUN_NONE;
}

/* Not ordered: for certain if clocks went through queues, else to be looked at again. */
static void find(weft_run_t *run, const weft_run_lane_t *lane, const weft_run_member_t *member,
                 uint64_t cell, uint32_t context, int writes, int in_place)
{
    if (context == WEFT_RUN_NONE) {
        return;
    }
    if (run->race.through_queues) {
        report_race(run, lane, member, cell, context, writes);
    } else if (in_place && run->both) {
        run->marks[lane->rank] |= WEFT_SUSPECT_IN_PLACE;
    } else {
        run->marks[lane->rank] |= WEFT_SUSPECT | WEFT_SUSPECT_IN_PLACE;
    }
}

/* Without clocks through queues, lanes order themselves in each pass in the same way, and each pass
 * has its own OUT: only scratch is looked at in the second one, too. */
static int is_tracked(const weft_run_t *run, const weft_run_lane_t *lane,
                      const weft_run_rank_t *rank, uint64_t cell)
{
    return rank->tracked != 0 &&
           (lane->pass == 0 || run->race.through_queues || cell >= rank->cells[WEFT_OPERAND_TMP]);
}

void weft_race_read(weft_run_t *run, const weft_run_lane_t *lane, const weft_run_member_t *member,
                    uint64_t cell)
{
    const weft_run_rank_t *rank = rank_of(run, lane);
    if (is_tracked(run, lane, rank, cell)) {
        uint32_t *history = history_of(run, rank, cell), self = context_of(lane, member);
        const uint32_t *clock = member_clock(run, lane, member) + rank->tracked - 1;
        find(run, lane, member, cell, unordered_writer(clock, history), 0, 0);
        history[READERS] |= UINT32_C(1) << self % 32;
        history[TIMES + self] = clock[self];
    }
}

void weft_race_read_input(weft_run_t *run, const weft_run_lane_t *lane,
                          const weft_run_member_t *member, uint64_t cell)
{
    const weft_run_rank_t *rank = rank_of(run, lane);
    if (is_tracked(run, lane, rank, cell)) {
        uint32_t *history = history_of(run, rank, cell), self = context_of(lane, member);
        const uint32_t *clock = member_clock(run, lane, member) + rank->tracked - 1;
        find(run, lane, member, cell, unordered_writer(clock, history), 0, 1);
        history[INPUT_READERS] |= UINT32_C(1) << self % 32;
        history[INPUT_READS]++;
        history[TIMES + rank->contexts + self] = clock[self];
    }
}

/* The right result of a reduction contains the input that lies in its place. If that was read but
 * once, the value has come from there, by whichever way. */
static int comes_after_input(const weft_run_t *run, const weft_run_lane_t *lane,
                             const uint32_t *history, uint64_t cell, uint64_t value)
{
    const weft_run_rank_t *rank = rank_of(run, lane);
    if (!run->reduces || history[INPUT_READS] != 1) {
        return 0;
    }
    uint64_t at = cell - rank->cells[WEFT_OPERAND_OUT];
    uint32_t chunk = (uint32_t)(at / run->slices % rank->chunks[WEFT_OPERAND_OUT]);
    return value ==
           weft_run_expected(run, lane->rank, chunk, (uint32_t)(at % run->slices), lane->pass);
}

void weft_race_write(weft_run_t *run, const weft_run_lane_t *lane, const weft_run_member_t *member,
                     uint64_t cell, uint64_t value)
{
    const weft_run_rank_t *rank = rank_of(run, lane);
    if (!is_tracked(run, lane, rank, cell)) {
        return;
    }
    uint32_t *history = history_of(run, rank, cell), self = context_of(lane, member);
    const uint32_t *clock = member_clock(run, lane, member) + rank->tracked - 1;
    const uint32_t *times = history + TIMES;
    find(run, lane, member, cell, unordered_writer(clock, history), 1, 0);
    find(run, lane, member, cell, unordered(rank, clock, history[READERS], times), 1, 0);
    uint32_t other = unordered(rank, clock, history[INPUT_READERS], times + rank->contexts);
    if (other != WEFT_RUN_NONE && !run->race.through_queues &&
        comes_after_input(run, lane, history, cell, value)) {
        other = WEFT_RUN_NONE;
    }
    find(run, lane, member, cell, other, 1, 1);
    history[WRITER] = self + 1;
    history[WRITTEN] = clock[self];
}

#define SEVERAL UINT8_MAX /* more than one member */

static int by_another(uint8_t who, uint8_t member)
{
    return who != 0 && who != member;
}

static void add_reader(uint8_t *who_p, uint8_t member)
{
    *who_p = by_another(*who_p, member) ? SEVERAL : member;
}

/* A member uses a chunk; kind is that of the operand: what IN is in place was looked up. */
static void use_chunk(weft_run_t *run, const weft_run_lane_t *lane, weft_run_use_t *use,
                      uint8_t member, uint32_t kind, int writes)
{
    uint8_t apart = WEFT_SUSPECT | WEFT_SUSPECT_IN_PLACE;
    uint8_t in_place = run->both != NULL ? WEFT_SUSPECT_IN_PLACE : apart, found = 0;
    if (use->group != run->race.groups) {
        *use = (weft_run_use_t){.group = run->race.groups};
    }
    if (writes) {
        found |= by_another(use->writer, member) || by_another(use->reader, member) ? apart : 0;
        found |= by_another(use->input_reader, member) ? in_place : 0;
        use->writer = member;
    } else {
        found |= !by_another(use->writer, member) ? 0 : kind == WEFT_OPERAND_IN ? in_place : apart;
        add_reader(kind == WEFT_OPERAND_IN ? &use->input_reader : &use->reader, member);
    }
    run->marks[lane->rank] |= found;
}

static void use_operand(weft_run_t *run, const weft_run_lane_t *lane, uint8_t member,
                        const weft_run_member_t *of, uint32_t i)
{
    const weft_run_rank_t *rank = rank_of(run, lane);
    int writes = i < of->move.ndst;
    uint32_t s = writes ? i : i - of->move.ndst;
    uint32_t kind = writes ? of->move.dst[s].kind : of->move.src[s].kind;
    uint32_t base = writes ? of->dst[s] : of->src[s];
    if (kind == WEFT_OPERAND_PORT ||
        (kind == WEFT_OPERAND_IN && run->both == NULL && !run->input->in_place)) {
        return;
    }
    for (uint32_t j = 0; j < of->move.cnt; j++) {
        uint32_t chunks = rank->chunks[kind];
        uint32_t chunk = base + j >= chunks ? base + j - chunks : base + j;
        if (kind == WEFT_OPERAND_IN) {
            chunk = weft_run_alias(run, lane->rank, chunk);
        } else if (kind == WEFT_OPERAND_TMP) {
            chunk += rank->chunks[WEFT_OPERAND_OUT];
        }
        if (chunk != WEFT_RUN_NONE) {
            use_chunk(run, lane, &run->race.uses[rank->uses_at + chunk], member, kind, writes);
        }
    }
}

/* Members of one PAR: all that is not ordered in a lone lane. */
void weft_race_group(weft_run_t *run, const weft_run_lane_t *lane)
{
    run->race.groups++;
    for (uint32_t m = 0; m < lane->nmembers; m++) {
        const weft_run_member_t *member = &lane->members[m];
        for (uint32_t i = 0; i < member->move.ndst + member->move.nsrc; i++) {
            use_operand(run, lane, (uint8_t)(m + 1), member, i);
        }
    }
}
