/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What each collective's result is, in numbers; the comparison with what the run made; the
 * fingerprint of how it was made. */
#include "core/plan/run_result.h"

#include <errno.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/plan/finding.h"
#include "core/plan/trail.h"

#define FIELD ((UINT64_C(1) << 61) - 1)

uint64_t weft_field_add(uint64_t a, uint64_t b)
{
    uint64_t sum = a + b;
    return sum >= FIELD ? sum - FIELD : sum;
}

uint64_t weft_field_mul(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    uint64_t sum = (uint64_t)(product & FIELD) + (uint64_t)(product >> 61);
    return sum >= FIELD ? sum - FIELD : sum;
}

/* For a reduction this is the input already pre-multiplied. */
uint64_t weft_run_input(const weft_run_t *run, uint32_t rank, uint32_t chunk, uint32_t slice,
                        uint32_t pass)
{
    uint64_t name = (uint64_t)rank * run->ranks[rank].chunks[WEFT_OPERAND_IN] + chunk;
    name = (name * run->slices + slice) * WEFT_RUN_PASSES + pass;
    uint64_t value = weft_hash_mix(name ^ run->results.factor << 3) >> 3;
    return value >= FIELD ? 0 : value;
}

uint32_t weft_run_alias(const weft_run_t *run, uint32_t rank, uint32_t chunk)
{
    const weft_plan_t *plan = run->input->plans[rank];
    if (!run->input->in_place && run->both == NULL) {
        return WEFT_RUN_NONE;
    }
    return weft_plan_alias(plan, rank, chunk);
}

static uint64_t *run_result_sum_of(const weft_run_t *run, uint32_t pass, uint32_t chunk,
                                   uint32_t slice)
{
    uint64_t row = (uint64_t)pass * run->ranks[0].chunks[WEFT_OPERAND_IN] + chunk;
    return &run->results.sums[row * run->slices + slice];
}

weft_status_t weft_run_expect(weft_run_t *run)
{
    uint32_t chunks = run->ranks[0].chunks[WEFT_OPERAND_IN];
    uint64_t outs = (uint64_t)run->ranks[0].chunks[WEFT_OPERAND_OUT] * run->slices;
    run->results.sums =
        weft_os_alloc((uint64_t)run->passes * chunks * run->slices * sizeof *run->results.sums, 0);
    run->results.trees = weft_os_alloc(outs * sizeof *run->results.trees, 0);
    run->results.prints = weft_os_alloc(run->n * sizeof *run->results.prints, 0);
    if (run->results.sums == NULL || run->results.trees == NULL || run->results.prints == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for the expected result");
    }
    run->report->same_on_all_ranks = true;
    run->report->same_for_all_chunks = true;
    if (!weft_coll_reduces(run->input->plans[0]->coll)) {
        return WEFT_OK;
    }
    for (uint32_t pass = 0; pass < run->passes; pass++) {
        for (uint64_t i = 0; i < (uint64_t)chunks * run->slices; i++) {
            uint32_t chunk = (uint32_t)(i / run->slices), slice = (uint32_t)(i % run->slices);
            uint64_t sum = 0;
            for (uint32_t rank = 0; rank < run->n; rank++) {
                sum = weft_field_add(sum, weft_run_input(run, rank, chunk, slice, pass));
            }
            *run_result_sum_of(run, pass, chunk, slice) = sum;
        }
    }
    return WEFT_OK;
}

/* IN chunk that OUT chunk `chunk` of `rank` is made of, and for moves whose. */
static uint32_t run_result_origin_of(const weft_plan_t *plan, uint32_t rank, uint32_t chunk,
                                     uint32_t *from_p)
{
    uint32_t block = plan->k == 1 ? chunk : chunk / plan->k, piece = chunk - block * plan->k;
    *from_p = plan->root;
    switch (plan->coll) {
    case WEFT_REDUCE_SCATTER:
    case WEFT_SCATTER:
        return rank * plan->k + chunk;
    case WEFT_ALL_GATHER:
    case WEFT_GATHER:
        *from_p = block;
        return piece;
    case WEFT_ALL_TO_ALL:
        *from_p = block;
        return rank * plan->k + piece;
    default:
        return chunk;
    }
}

uint64_t weft_run_expected(const weft_run_t *run, uint32_t rank, uint32_t chunk, uint32_t slice,
                           uint32_t pass)
{
    const weft_plan_t *plan = run->input->plans[rank];
    uint32_t from;
    uint32_t origin = run_result_origin_of(plan, rank, chunk, &from);
    if (run->reduces) {
        return weft_field_mul(run->results.factor, *run_result_sum_of(run, pass, origin, slice));
    }
    return weft_run_input(run, from, origin, slice, pass);
}

/* The likely mistake behind a wrong reduction of the inputs in[at[0]], at[1] and at[2] being slice
 * and pass. Values are divided by the FINAL factor by comparing products. Without a trail, little
 * can be said; then the proof is made again with one. */
static void run_result_explain_sum(const weft_run_t *run, uint64_t cell, const uint32_t at[3],
                                   char *why, size_t bytes)
{
    uint64_t f = run->results.factor, value = run->cells[cell].value;
    uint64_t sum = *run_result_sum_of(run, at[2], at[0], at[1]);
    snprintf(why, bytes, "it is not the fold of all ranks");
    if (value == sum) {
        snprintf(why, bytes, "no MOVE is FINAL");
    } else if (value == weft_field_mul(f, weft_field_mul(f, sum))) {
        snprintf(why, bytes, "it passed two FINAL moves");
    } else if (run->trail != NULL) {
        const weft_trail_value_t *from = weft_trail_of(run, cell);
        char ranks[112];
        if (weft_trail_word_ranks(run, cell, ranks, sizeof ranks) > 0) {
            snprintf(why, bytes, "%s", ranks);
        } else if (from->input == WEFT_TRAIL_MIXED) {
            snprintf(why, bytes, "it is a fold of different chunks of in");
        } else if (from->input != weft_trail_input(run, at[0], at[2])) {
            snprintf(why, bytes, "it is the fold of in[%u], not of in[%u]",
                     (uint32_t)(from->input % run->ranks[0].chunks[WEFT_OPERAND_IN]), at[0]);
        } else if (from->finals > 1) {
            snprintf(why, bytes, "a part of it passed %u FINAL moves", from->finals);
        }
    }
}

/* What was copied there in place of what belongs there. */
static void run_result_explain_copy(const weft_run_t *run, const weft_run_cell_t *cell,
                                    const uint32_t at[3], uint32_t from, char *why, size_t bytes)
{
    uint64_t value = cell->value;
    if (cell->count != 1) {
        snprintf(why, bytes, "it is a fold, not in[%u] of rank %u", at[0], from);
        return;
    }
    for (uint32_t rank = 0; rank < run->n; rank++) {
        for (uint32_t chunk = 0; chunk < run->ranks[rank].chunks[WEFT_OPERAND_IN]; chunk++) {
            if (value == weft_run_input(run, rank, chunk, at[1], at[2])) {
                snprintf(why, bytes, "it is in[%u] of rank %u, not in[%u] of rank %u", chunk, rank,
                         at[0], from);
                return;
            }
        }
    }
    snprintf(why, bytes, "it is not in[%u] of rank %u", at[0], from);
}

static void run_result_note_origin(weft_run_t *run, uint64_t cell)
{
    if (run->trail != NULL) {
        const weft_trail_value_t *from = weft_trail_of(run, cell);
        weft_run_note_origin(run->report, from->folded ? WEFT_ORIGIN_FOLDED : WEFT_ORIGIN_READ,
                             &from->made);
    }
}

static void run_result_report_wrong(weft_run_t *run, uint32_t rank, const weft_run_cell_t *cell,
                                    uint32_t at[3])
{
    const weft_plan_t *plan = run->input->plans[rank];
    uint32_t chunk = at[0], from;
    uint64_t number = (uint64_t)(cell - run->cells);
    weft_run_lane_t nowhere = {.plan = plan, .rank = rank, .name = rank};
    char why[120];
    if (cell->tag != at[2] + 1) {
        uint32_t stop = plan->nlanes == 0 ? 0 : plan->lanes[0].ncode - 1;
        weft_run_finding(run, WEFT_VERDICT_WRONG, &nowhere, stop,
                         "out[%u] slice %u is never written", chunk, at[1]);
        return;
    }
    nowhere.lane = run->trail != NULL ? weft_trail_of(run, number)->writer : 0;
    at[0] = run_result_origin_of(plan, rank, chunk, &from);
    if (weft_coll_reduces(plan->coll)) {
        run_result_explain_sum(run, number, at, why, sizeof why);
    } else {
        run_result_explain_copy(run, cell, at, from, why, sizeof why);
    }
    weft_run_finding(run, WEFT_VERDICT_WRONG, &nowhere, cell->pc, "out[%u] slice %u is wrong: %s",
                     chunk, at[1], why);
    run_result_note_origin(run, number);
}

static bool has_result(const weft_plan_t *plan)
{
    return weft_coll_has_output(plan->coll, plan->rank == plan->root);
}

static const weft_run_cell_t *run_result_window_of(const weft_run_t *run, uint32_t rank,
                                                   uint32_t pass)
{
    const weft_run_rank_t *at = &run->ranks[rank];
    uint64_t window =
        at->windows == 1 ? 0 : (uint64_t)pass * at->chunks[WEFT_OPERAND_OUT] * run->slices;
    return &run->cells[at->cells[WEFT_OPERAND_OUT] + window];
}

static bool run_result_uniform(const weft_run_cell_t *cells, uint64_t count)
{
    for (uint64_t i = 1; i < count; i++) {
        if (cells[i].tree != cells[0].tree) {
            return false;
        }
    }
    return true;
}

/* The tree of a chunk or a block if all its parts have the same, else a hash of all of them: so
 * slicing, and a grid that changes nothing, do not show. */
static uint64_t run_result_chunk_mark(const weft_run_cell_t *cells, uint32_t slices)
{
    uint64_t mark = WEFT_HASH_START;
    for (uint32_t i = 0; i < slices; i++) {
        mark = weft_hash_add(mark, cells[i].tree);
    }
    return run_result_uniform(cells, slices) ? cells[0].tree : mark;
}

static uint64_t run_result_block_mark(const weft_run_cell_t *cells, uint32_t k, uint32_t slices)
{
    uint64_t mark = weft_hash_add(WEFT_HASH_START, k);
    for (uint32_t i = 0; i < k; i++) {
        mark = weft_hash_add(mark, run_result_chunk_mark(&cells[(uint64_t)i * slices], slices));
    }
    return run_result_uniform(cells, (uint64_t)k * slices) ? cells[0].tree : mark;
}

static void run_result_compare_trees(weft_run_t *run, const weft_plan_t *plan,
                                     const weft_run_cell_t *cells, uint64_t count)
{
    bool replicated = plan->coll == WEFT_ALL_REDUCE;
    run->results.one_tree = run->results.has_trees ? run->results.one_tree : cells[0].tree;
    for (uint64_t i = 0; i < count; i++) {
        if (cells[i].tree != run->results.one_tree) {
            run->report->same_for_all_chunks = false;
        }
        if (!run->results.has_trees) {
            run->results.trees[i] = cells[i].tree;
        } else if (replicated && run->results.trees[i] != cells[i].tree) {
            run->report->same_on_all_ranks = false;
        }
    }
    run->results.has_trees = true;
}

static void run_result_mark_rank(weft_run_t *run, uint32_t rank)
{
    const weft_plan_t *plan = run->input->plans[rank];
    const weft_run_cell_t *cells = run_result_window_of(run, rank, 0);
    uint64_t block = (uint64_t)plan->k * run->slices;
    uint64_t count = (uint64_t)run->ranks[rank].chunks[WEFT_OPERAND_OUT] * run->slices;
    uint64_t mark = WEFT_HASH_START;
    for (uint64_t at = 0; at < count; at += block) {
        mark = weft_hash_add(mark, run_result_block_mark(&cells[at], plan->k, run->slices));
    }
    run->results.prints[rank] = mark;
    if (weft_coll_reduces(plan->coll)) {
        run_result_compare_trees(run, plan, cells, count);
    }
}

void weft_run_check_rank(weft_run_t *run, uint32_t rank, uint32_t pass)
{
    const weft_plan_t *plan = run->input->plans[rank];
    if (!has_result(plan)) {
        return;
    }
    const weft_run_cell_t *cell = run_result_window_of(run, rank, pass);
    const uint32_t count = run->reduces ? run->n : 1;
    for (uint32_t chunk = 0; chunk < run->ranks[rank].chunks[WEFT_OPERAND_OUT]; chunk++) {
        for (uint32_t slice = 0; slice < run->slices; slice++, cell++) {
            if (cell->tag != pass + 1 || cell->count != count ||
                cell->value != weft_run_expected(run, rank, chunk, slice, pass)) {
                run_result_report_wrong(run, rank, cell, (uint32_t[3]){chunk, slice, pass});
                return;
            }
        }
    }
    if (pass == 0) {
        run_result_mark_rank(run, rank);
    }
}

void weft_run_fingerprint(weft_run_t *run)
{
    uint64_t hash = weft_hash_add(WEFT_HASH_START, (uint64_t)run->input->plans[0]->coll);
    for (uint32_t rank = 0; rank < run->n; rank++) {
        hash = weft_hash_add(hash, run->results.prints[rank]);
    }
    run->report->fingerprint = hash;
}
