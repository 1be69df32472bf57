/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of an abstract run: everything is sized before it starts, so that the run itself allocates
 * nothing. */
#include "core/plan/run_setup.h"

#include <errno.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/plan/race.h"
#include "core/plan/run_result.h"
#include "core/plan/run_vector.h"
#include "core/plan/trail.h"

static void run_setup_measure_rank(weft_run_t *run, uint32_t index)
{
    const weft_plan_t *plan = run->input->plans[index];
    weft_run_rank_t *rank = &run->ranks[index];
    rank->first_lane = run->nlanes;
    rank->first_port = (uint32_t)run->memory.nports;
    rank->windows = plan->nlanes > 1 ? run->passes : 1;
    for (uint32_t kind = WEFT_OPERAND_IN; kind <= WEFT_OPERAND_TMP; kind++) {
        rank->chunks[kind] = weft_plan_chunks(plan, kind);
    }
    rank->cells[WEFT_OPERAND_OUT] = run->memory.ncells;
    run->memory.ncells += (uint64_t)rank->chunks[WEFT_OPERAND_OUT] * rank->windows * run->slices;
    rank->cells[WEFT_OPERAND_TMP] = run->memory.ncells;
    run->memory.ncells += (uint64_t)plan->tmp_chunks * run->slices;
    rank->leaf = weft_run_leaf(index);
    run->memory.packed = run->facts[index].packed > run->memory.packed ? run->facts[index].packed
                                                                       : run->memory.packed;
    run->nlanes += plan->nlanes;
    run->memory.nports += plan->nports;
    for (uint32_t i = 0; i < plan->nlanes; i++) {
        rank->contexts += weft_cursor_width(&plan->lanes[i]);
        rank->ends += run->facts[index].waits ? plan->lanes[i].ncode : 0;
    }
    run->memory.nmembers += rank->contexts;
    run->memory.nends += rank->ends;
}

static void run_setup_init_lanes(weft_run_t *run)
{
    weft_run_member_t *members = run->memory.members;
    uint64_t ends = 0;
    for (uint32_t index = 0; index < run->n; index++) {
        const weft_run_rank_t *rank = &run->ranks[index];
        const weft_plan_t *plan = run->input->plans[index];
        uint32_t context = 0, code_at = 0;
        for (uint32_t i = 0; i < plan->nlanes; i++) {
            run->lanes[rank->first_lane + i] = (weft_run_lane_t){
                .plan = plan,
                .cursor = {.code = plan->lanes[i].code,
                           .finished =
                               rank->ends == 0 ? NULL : run->memory.finished + ends + code_at},
                .lane = i,
                .rank = index,
                .name = plan->rank,
                .members = members + context,
                .ends = run->memory.ends + ends + code_at,
                .context = context,
                .code_at = code_at};
            context += weft_cursor_width(&plan->lanes[i]);
            code_at += plan->lanes[i].ncode;
        }
        members += rank->contexts;
        ends += rank->ends;
    }
}

static bool run_setup_allocate(weft_run_t *run)
{
    run->lanes = weft_os_alloc((run->nlanes + 1) * sizeof *run->lanes, 0);
    run->memory.members =
        weft_os_alloc((run->memory.nmembers + 1) * sizeof *run->memory.members, 0);
    run->memory.ends = weft_os_alloc((run->memory.nends + 1) * sizeof *run->memory.ends, 0);
    run->memory.finished = weft_os_alloc((run->memory.nends + 1) * sizeof *run->memory.finished, 0);
    run->work.lanes = weft_os_alloc((run->nlanes + 1) * sizeof *run->work.lanes, 0);
    run->cells =
        run->values ? weft_os_alloc((run->memory.ncells + 1) * sizeof *run->cells, 0) : NULL;
    run->queues.ways = weft_os_alloc((run->memory.nports / 2 + 1) * sizeof *run->queues.ways, 0);
    run->queues.list = weft_os_alloc((run->memory.nports / 2 + 1) * sizeof *run->queues.list, 0);
    run->queues.of_port = weft_os_alloc((run->memory.nports + 1) * sizeof *run->queues.of_port, 0);
    return run->lanes != NULL && run->memory.members != NULL && run->memory.ends != NULL &&
           run->memory.finished != NULL && run->work.lanes != NULL &&
           (run->cells != NULL || !run->values) && run->queues.ways != NULL &&
           run->queues.list != NULL && run->queues.of_port != NULL;
}

weft_status_t weft_run_init(weft_run_t *run, const weft_run_setup_t *setup,
                            weft_verify_report_t *report)
{
    const weft_verify_input_t *input = setup->input;
    *run = (weft_run_t){.input = input,
                        .facts = setup->facts,
                        .port_chunks = setup->port_chunks,
                        .report = report,
                        .n = input->nranks,
                        .slots = input->slots,
                        .slices = input->slices,
                        .passes = setup->passes,
                        .values = setup->values,
                        .reduces = weft_coll_reduces(input->plans[0]->coll)};
    run->ranks = weft_os_alloc(run->n * sizeof *run->ranks, 0);
    if (run->ranks == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory to verify %u ranks", run->n);
    }
    for (uint32_t rank = 0; rank < run->n; rank++) {
        run_setup_measure_rank(run, rank);
    }
    if (!run_setup_allocate(run)) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory to verify %u ranks with %llu chunks",
                         run->n, (unsigned long long)run->memory.ncells);
    }
    run_setup_init_lanes(run);
    if (!run->values) {
        return WEFT_OK;
    }
    run->results.factor = weft_hash_mix(weft_plan_hash(input->plans[0])) >> 4;
    run->vector = weft_run_vector(run);
    return weft_run_expect(run);
}

void weft_run_fini(weft_run_t *run)
{
    weft_trail_fini(run);
    weft_race_fini(run);
    weft_os_free(run->results.prints);
    weft_os_free(run->results.trees);
    weft_os_free(run->results.sums);
    weft_os_free(run->queues.of_port);
    weft_os_free(run->queues.list);
    weft_os_free(run->queues.ways);
    weft_os_free(run->queues.slot);
    weft_os_free(run->cells);
    weft_os_free(run->work.lanes);
    weft_os_free(run->memory.finished);
    weft_os_free(run->memory.ends);
    weft_os_free(run->memory.members);
    weft_os_free(run->lanes);
    weft_os_free(run->ranks);
}
