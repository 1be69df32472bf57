/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of an abstract run: everything is sized before it starts, so that the run itself allocates
 * nothing. */
#include <errno.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/plan/run.h"

static uint32_t widest_par(const weft_plan_lane_t *lane)
{
    uint32_t widest = 1;
    for (uint32_t pc = 0; pc < lane->ncode; pc++) {
        if (lane->code[pc].opcode == WEFT_CODE_PAR && lane->code[pc].n > widest) {
            widest = lane->code[pc].n;
        }
    }
    return widest;
}

static void measure_rank(weft_run_t *run, uint32_t index)
{
    const weft_plan_t *plan = run->input->plans[index];
    weft_run_rank_t *rank = &run->ranks[index];
    rank->first_lane = run->nlanes;
    rank->first_port = (uint32_t)run->nports;
    rank->windows = plan->nlanes > 1 ? run->passes : 1;
    rank->in_chunks = weft_plan_chunks(plan, WEFT_OPERAND_IN);
    rank->out_chunks = weft_plan_chunks(plan, WEFT_OPERAND_OUT);
    rank->out_cells = run->ncells;
    run->ncells += (uint64_t)rank->out_chunks * rank->windows * run->slices;
    rank->tmp_cells = run->ncells;
    run->ncells += (uint64_t)plan->tmp_chunks * run->slices;
    run->nlanes += plan->nlanes;
    run->nports += plan->nports;
    for (uint32_t i = 0; i < plan->nlanes; i++) {
        uint32_t width = widest_par(&plan->lanes[i]);
        rank->contexts += width;
        run->nmembers += width;
        run->ncode += plan->lanes[i].ncode;
    }
}

static void init_lanes(weft_run_t *run)
{
    weft_run_member_t *members = run->members;
    uint32_t *finished = run->finished;
    for (uint32_t rank = 0; rank < run->n; rank++) {
        const weft_plan_t *plan = run->input->plans[rank];
        for (uint32_t i = 0; i < plan->nlanes; i++) {
            run->lanes[run->ranks[rank].first_lane + i] =
                (weft_run_lane_t){.plan = plan,
                                  .text = &plan->lanes[i],
                                  .lane = i,
                                  .wait_queue = WEFT_RUN_NONE,
                                  .members = members,
                                  .finished = finished,
                                  .row = (uint32_t)(members - run->members),
                                  .code_at = (uint32_t)(finished - run->finished)};
            members += widest_par(&plan->lanes[i]);
            finished += plan->lanes[i].ncode;
        }
    }
}

static int allocate(weft_run_t *run)
{
    run->lanes = weft_os_alloc((run->nlanes + 1) * sizeof *run->lanes, 0);
    run->members = weft_os_alloc((run->nmembers + 1) * sizeof *run->members, 0);
    run->finished = weft_os_alloc((run->ncode + 1) * sizeof *run->finished, 0);
    run->work = weft_os_alloc((run->nlanes + 1) * sizeof *run->work, 0);
    run->cells = run->values ? weft_os_alloc((run->ncells + 1) * sizeof *run->cells, 0) : NULL;
    run->slot = weft_os_alloc((run->nports / 2 + 1) * run->slots * sizeof *run->slot, 0);
    return run->lanes != NULL && run->members != NULL && run->finished != NULL &&
           run->work != NULL && (run->cells != NULL || !run->values) && run->slot != NULL;
}

weft_status_t weft_run_init(weft_run_t *run, const weft_verify_input_t *input, uint32_t passes,
                            int values, weft_verify_report_t *report)
{
    *run = (weft_run_t){.input = input,
                        .report = report,
                        .n = input->nranks,
                        .slots = input->slots,
                        .slices = input->slices,
                        .passes = passes,
                        .values = values,
                        .factor = weft_hash_mix(weft_plan_hash(input->plans[0])) >> 4};
    run->ranks = weft_os_alloc(run->n * sizeof *run->ranks, 0);
    if (run->ranks == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory to verify %u ranks", run->n);
    }
    for (uint32_t rank = 0; rank < run->n; rank++) {
        measure_rank(run, rank);
    }
    if (!allocate(run)) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory to verify %u ranks with %llu chunks",
                         run->n, (unsigned long long)run->ncells);
    }
    init_lanes(run);
    run->vector = values ? weft_run_vector(input) : WEFT_VECTOR_NONE;
    weft_status_t status = weft_run_pair(run);
    return status == WEFT_OK && values ? weft_run_expect(run) : status;
}

void weft_run_fini(weft_run_t *run)
{
    weft_race_fini(run);
    weft_os_free(run->marks);
    weft_os_free(run->trees);
    weft_os_free(run->sums);
    weft_os_free(run->port_queue);
    weft_os_free(run->queues);
    weft_os_free(run->slot);
    weft_os_free(run->cells);
    weft_os_free(run->work);
    weft_os_free(run->finished);
    weft_os_free(run->members);
    weft_os_free(run->lanes);
    weft_os_free(run->ranks);
}

static double lane_chunks(const weft_plan_t *plan, const weft_plan_lane_t *lane)
{
    double chunks = 0, times = 1;
    for (uint32_t pc = 0; pc < lane->ncode; pc++) {
        const weft_code_t *code = &lane->code[pc];
        if (code->opcode == WEFT_CODE_LOOP) {
            times = code->n;
        } else if (code->opcode == WEFT_CODE_END) {
            times = 1;
        } else if (code->opcode == WEFT_CODE_MOVE) {
            chunks += times * plan->moves[code->n].cnt;
        }
    }
    return chunks;
}

/* In floating point: a text may ask for loops beyond any integer. */
uint64_t weft_run_steps(const weft_verify_input_t *input, uint32_t passes)
{
    double chunks = 0;
    for (uint32_t rank = 0; rank < input->nranks; rank++) {
        const weft_plan_t *plan = input->plans[rank];
        for (uint32_t lane = 0; lane < plan->nlanes; lane++) {
            chunks += lane_chunks(plan, &plan->lanes[lane]);
        }
    }
    double steps = chunks * input->slices * passes;
    return steps < 1e18 ? (uint64_t)steps : (uint64_t)1e18;
}
