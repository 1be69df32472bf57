/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Prices plans by one abstract run of one pass with one slice per chunk. */
#include "core/plan/cost.h"

#include "core/base/error.h"
#include "core/plan/run.h"

/* Above this the walk would take longer than its figures are worth. */
#define WALK_MAX 8000000u

static void add_move(weft_cost_work_t *work, const weft_move_t *move, double times)
{
    uint32_t ends = 0;
    for (uint32_t i = 0; i < move->nsrc; i++) {
        ends += move->src[i].kind == WEFT_OPERAND_PORT;
    }
    for (uint32_t i = 0; i < move->ndst; i++) {
        ends += move->dst[i].kind == WEFT_OPERAND_PORT;
    }
    work->edges += times * move->cnt * ends / 2;
    work->touched += times * move->cnt * (move->nsrc + move->ndst) / 2;
}

static weft_cost_work_t work_of(const weft_plan_t *plan)
{
    weft_cost_work_t work = {0, 0};
    for (uint32_t lane = 0; lane < plan->nlanes; lane++) {
        double times = 1;
        for (uint32_t pc = 0; pc < plan->lanes[lane].ncode; pc++) {
            const weft_code_t *code = &plan->lanes[lane].code[pc];
            if (code->opcode == WEFT_CODE_LOOP) {
                times = code->n;
            } else if (code->opcode == WEFT_CODE_END) {
                times = 1;
            } else if (code->opcode == WEFT_CODE_MOVE) {
                add_move(&work, &plan->moves[code->n], times);
            }
        }
    }
    return work;
}

static double weight(const weft_cost_work_t *work)
{
    return 4 * work->edges + work->touched;
}

static weft_cost_work_t busiest_rank(weft_plan_t *const *plans, uint32_t nranks)
{
    weft_cost_work_t most = {0, 0};
    for (uint32_t rank = 0; rank < nranks; rank++) {
        weft_cost_work_t work = work_of(plans[rank]);
        most = weight(&work) > weight(&most) ? work : most;
    }
    return most;
}

static void keep_walk(const weft_run_t *run, weft_cost_t *cost)
{
    cost->fill = (weft_cost_work_t){.edges = (double)run->chain.ends / 2,
                                    .touched = (double)run->chain.touched / 2};
    cost->chain = run->chain.moves;
    for (uint32_t i = 0; i < run->nqueues; i++) {
        uint64_t chunks = 0;
        cost->link_chunks = chunks > cost->link_chunks ? chunks : cost->link_chunks;
    }
}

static weft_status_t walk(const weft_verify_input_t *input, weft_cost_t *cost)
{
    weft_verify_report_t report = {0};
    weft_run_t run;
    weft_status_t status = weft_run_init(&run, input, 1, 0, &report);
    if (status == WEFT_OK) {
        status = weft_run_pair(&run);
    }
    if (status == WEFT_OK) {
        weft_run_go(&run);
        keep_walk(&run, cost);
    }
    weft_run_fini(&run);
    if (status == WEFT_OK && report.verdict != WEFT_VERDICT_OK) {
        return weft_fail(WEFT_ERR_PLAN, 0, "plan cannot be priced: %.255s", report.text);
    }
    return status;
}

weft_status_t weft_plan_cost(weft_plan_t *const *plans, uint32_t nranks, uint32_t slots,
                             weft_cost_t *cost)
{
    weft_verify_input_t input = {.plans = plans, .nranks = nranks, .slots = slots, .slices = 1};
    *cost = (weft_cost_t){.steady = busiest_rank(plans, nranks)};
    if (weft_run_steps(&input, 1) <= WALK_MAX) {
        return walk(&input, cost);
    }
    cost->fill = cost->steady;
    cost->chain = (uint32_t)cost->steady.edges + 1;
    cost->link_chunks = (uint64_t)cost->steady.edges;
    return WEFT_OK;
}

static double seconds(const weft_cost_work_t *work, const weft_cost_model_t *model, double bytes)
{
    return work->edges * (model->alpha + bytes * model->beta) +
           work->touched * bytes * model->gamma;
}

double weft_cost_time(const weft_cost_t *cost, const weft_cost_model_t *model, uint64_t bytes,
                      uint32_t k, uint32_t slices, uint64_t slice_bytes)
{
    uint64_t pass_bytes = (uint64_t)k * slices * slice_bytes;
    uint64_t passes = bytes == 0 ? 1 : (bytes + pass_bytes - 1) / pass_bytes;
    double count = (double)passes * slices;
    double each = (double)bytes / (count * k);
    return seconds(&cost->fill, model, each) + (count - 1) * seconds(&cost->steady, model, each);
}
