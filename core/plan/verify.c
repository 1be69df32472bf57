/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The verifier: two passes of the abstract run at the executor's real depth and slicing. */
#include "core/plan/verify.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/plan/meeting.h"
#include "core/plan/network_walk.h"
#include "core/plan/race.h"
#include "core/plan/run_engine.h"
#include "core/plan/run_queues.h"
#include "core/plan/run_result.h"
#include "core/plan/run_setup.h"
#include "core/plan/trail.h"
#include "core/plan/well_formed.h"

const char *weft_verdict_name(weft_verdict_t verdict)
{
    static const char *const names[] = {
        [WEFT_VERDICT_OK] = "ok",
        [WEFT_VERDICT_MALFORMED] = "malformed",
        [WEFT_VERDICT_UNMATCHED] = "unmatched",
        [WEFT_VERDICT_DEADLOCK] = "deadlock",
        [WEFT_VERDICT_WRONG] = "wrong result",
        [WEFT_VERDICT_UNWRITTEN] = "unwritten read",
        [WEFT_VERDICT_RACE] = "race",
        [WEFT_VERDICT_TOO_BIG] = "too big to verify",
    };
    return (unsigned)verdict < sizeof names / sizeof *names ? names[verdict] : "unknown";
}

static bool verify_malformed(weft_verify_report_t *report, uint32_t rank, const char *why)
{
    report->verdict = WEFT_VERDICT_MALFORMED;
    report->rank = rank;
    snprintf(report->text, sizeof report->text, "%.255s", why);
    return true;
}

/* What the proofs of one set of plans share. */
typedef struct verify_proof {
    weft_verify_input_t input;
    weft_plan_facts_t *facts;
    uint64_t *port_chunks;
    uint8_t *marks; /* WEFT_SUSPECT_* by rank */
} verify_proof_t;

static weft_status_t verify_proof_init(verify_proof_t *proof, const weft_verify_input_t *input)
{
    uint64_t nports = 0;
    for (uint32_t rank = 0; rank < input->nranks; rank++) {
        nports += input->plans[rank]->nports;
    }
    *proof = (verify_proof_t){.input = *input};
    proof->facts = weft_os_alloc(input->nranks * sizeof *proof->facts, 0);
    proof->port_chunks = weft_os_alloc((nports + 1) * sizeof *proof->port_chunks, 0);
    proof->marks = weft_os_alloc(input->nranks, 0);
    if (proof->facts == NULL || proof->port_chunks == NULL || proof->marks == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory to verify %u ranks", input->nranks);
    }
    return WEFT_OK;
}

static void verify_proof_fini(verify_proof_t *proof)
{
    weft_os_free(proof->marks);
    weft_os_free(proof->port_chunks);
    weft_os_free(proof->facts);
}

/* A plan that is refused is a verdict, on every rank the same. The status is of this rank. */
static weft_status_t verify_check_rank(const weft_verify_input_t *input, uint32_t rank,
                                       weft_verify_report_t *report)
{
    const weft_plan_t *first = input->plans[0], *plan = input->plans[rank];
    if (plan->nranks != input->nranks || plan->rank != rank || plan->coll != first->coll ||
        plan->root != first->root || plan->k != first->k) {
        char why[160];
        snprintf(why, sizeof why,
                 "rank %u: plan is for rank %u of %u, root %u, %u chunks; rank 0 has %u ranks, "
                 "root %u, %u chunks",
                 rank, plan->rank, plan->nranks, plan->root, plan->k, first->nranks, first->root,
                 first->k);
        (void)verify_malformed(report, rank, why);
        return WEFT_OK;
    }
    weft_status_t status = weft_plan_check(plan, NULL);
    if (status == WEFT_OK || status == WEFT_ERR_RESOURCE) {
        return status;
    }
    (void)verify_malformed(report, rank, weft_error_record()->text);
    return WEFT_OK;
}

/* Do the plans belong together, is each well formed, and what do they say? */
static weft_status_t verify_check_shape(verify_proof_t *proof, weft_verify_report_t *report)
{
    uint64_t first_port = 0;
    for (uint32_t rank = 0; rank < proof->input.nranks; rank++) {
        weft_status_t status = verify_check_rank(&proof->input, rank, report);
        if (status != WEFT_OK || report->verdict != WEFT_VERDICT_OK) {
            return status;
        }
        const weft_plan_t *plan = proof->input.plans[rank];
        proof->facts[rank] = weft_plan_facts(plan, proof->port_chunks + first_port, NULL);
        first_port += plan->nports;
    }
    return WEFT_OK;
}

/* Memory is no question: scratch that no step uses is asked for, but never touched. */
static bool verify_refuse_size(const verify_proof_t *proof, weft_verify_report_t *report)
{
    const weft_verify_input_t *input = &proof->input;
    double steps = 0;
    for (uint32_t rank = 0; rank < input->nranks; rank++) {
        const weft_plan_facts_t *facts = &proof->facts[rank];
        steps += (facts->chunks * input->slices + facts->bars) * WEFT_RUN_PASSES;
    }
    report->steps = steps < 1e18 ? (uint64_t)steps : (uint64_t)1e18;
    if (input->limit == 0 || report->steps <= input->limit) {
        return false;
    }
    report->verdict = WEFT_VERDICT_TOO_BIG;
    snprintf(report->text, sizeof report->text, "%llu steps, the limit is %llu",
             (unsigned long long)report->steps, (unsigned long long)input->limit);
    return true;
}

static bool verify_refuse_input(const weft_verify_input_t *input, weft_verify_report_t *report)
{
    memset(report, 0, sizeof *report);
    return input->nranks < 2 || input->slots < 1 || input->slices < 1
               ? verify_malformed(report, 0, "needs two ranks, one slot and one slice at least")
               : 0;
}

static weft_status_t verify_proof_run(const verify_proof_t *proof, weft_run_t *run,
                                      weft_verify_report_t *report)
{
    weft_run_setup_t setup = {.input = &proof->input,
                              .facts = proof->facts,
                              .port_chunks = proof->port_chunks,
                              .passes = WEFT_RUN_PASSES,
                              .values = true};
    weft_status_t status = weft_run_init(run, &setup, report);
    run->race.marks = proof->marks;
    return status;
}

static void verify_keep_figures(weft_run_t *run)
{
    weft_verify_report_t *report = run->report;
    report->steps = run->steps;
    report->vector = run->vector;
    report->critical_moves = run->chain.moves;
    report->critical_chunks = (double)(run->chain.ends[0] + run->chain.ends[1]) / 2;
    for (uint32_t i = 0; i < run->queues.count; i++) {
        uint32_t peak = run->queues.list[i].peak;
        report->peak_slots = peak > report->peak_slots ? peak : report->peak_slots;
    }
    weft_run_fingerprint(run);
}

/* One run. Without a mark it looks for races inside ranks and marks those where that does not do;
 * with one it looks for races of a group of the ranks so marked from *next_p on. */
static weft_status_t verify_run_once(weft_run_t *run, uint8_t mark, uint32_t *next_p)
{
    weft_verify_report_t *report = run->report;
    weft_status_t status = weft_run_pair(run);
    if (run->trail != NULL && (status != WEFT_OK || !weft_trail_init(run))) {
        run->trail = NULL;
    }
    if (status == WEFT_OK && report->verdict == WEFT_VERDICT_OK) {
        status = mark == 0 ? weft_race_init_local(run) : weft_race_init_exact(run, mark, next_p);
    }
    if (status == WEFT_OK && report->verdict == WEFT_VERDICT_OK) {
        weft_run_go(run);
        verify_keep_figures(run);
    }
    return status;
}

static bool verify_any_marked(const verify_proof_t *proof, uint8_t mark)
{
    for (uint32_t rank = 0; rank < proof->input.nranks; rank++) {
        if ((proof->marks[rank] & mark) != 0) {
            return true;
        }
    }
    return false;
}

/* Clocks through all queues for the ranks so marked. Vector collectives for which only two ranks
 * know a length leave messages out, perhaps those that made the order: run_vector.c. */
static weft_status_t verify_judge_marked(const verify_proof_t *proof, uint8_t mark,
                                         weft_verify_report_t *report)
{
    uint32_t next = 0, nranks = proof->input.nranks;
    weft_status_t status = WEFT_OK;
    memset(report, 0, sizeof *report);
    while (next < nranks && status == WEFT_OK && report->verdict == WEFT_VERDICT_OK) {
        weft_run_t run;
        status = verify_proof_run(proof, &run, report);
        if (status == WEFT_OK) {
            status = verify_run_once(&run, mark, &next);
        }
        weft_run_fini(&run);
        while (next < nranks && (proof->marks[next] & mark) == 0) {
            next++;
        }
    }
    report->vector = report->vector == WEFT_VECTOR_BLOCKS ? WEFT_VECTOR_BLOCKS : WEFT_VECTOR_NONE;
    return status;
}

/* `both`: NULL, or where to say what would differ in place. `trail`: NULL, or memory for one. */
static weft_status_t verify_judge_local(const verify_proof_t *proof, weft_run_trail_t *trail,
                                        weft_verify_report_t *report, weft_verify_report_t *both)
{
    weft_run_t run;
    memset(report, 0, sizeof *report);
    memset(proof->marks, 0, proof->input.nranks);
    if (both != NULL) {
        memset(both, 0, sizeof *both);
    }
    weft_status_t status = verify_proof_run(proof, &run, report);
    run.both = both;
    run.trail = status == WEFT_OK ? trail : NULL;
    if (status == WEFT_OK) {
        status = verify_run_once(&run, 0, NULL);
    }
    weft_run_fini(&run);
    return status;
}

/* A wrong result is judged once more, with a trail that tells where it comes from. */
static weft_status_t verify_judge(const verify_proof_t *proof, weft_verify_report_t *report,
                                  weft_verify_report_t *both)
{
    weft_run_trail_t trail;
    weft_verify_report_t again;
    bool asked = both != NULL && proof->input.explain_in_place;
    weft_status_t status = verify_judge_local(proof, NULL, report, both);
    if (status == WEFT_OK && verify_any_marked(proof, WEFT_SUSPECT)) {
        status = verify_judge_marked(proof, WEFT_SUSPECT, report);
    }
    bool wrong = report->verdict == WEFT_VERDICT_WRONG;
    if (status == WEFT_OK && (wrong || (asked && both->verdict == WEFT_VERDICT_WRONG))) {
        status = verify_judge_local(proof, &trail, &again, both);
        *report = wrong && status == WEFT_OK ? again : *report;
    }
    return status;
}

/* In place, after the proof out of place. `report` says whether a read would see something else:
 * then the plan does not serve. If not, and no race is possible, all is as out of place. */
static weft_status_t verify_judge_in_place(const verify_proof_t *proof,
                                           const weft_verify_report_t *apart,
                                           weft_verify_report_t *report)
{
    if (apart->verdict != WEFT_VERDICT_OK) {
        return verify_judge(proof, report, NULL);
    }
    if (report->verdict != WEFT_VERDICT_OK) {
        weft_verify_report_t differs = *report;
        *report = *apart;
        report->verdict = differs.verdict;
        report->rank = differs.rank;
        report->lane = differs.lane;
        report->pc = differs.pc;
        report->from = differs.from;
        report->origin = differs.origin;
        memcpy(report->text, differs.text, sizeof report->text);
        return WEFT_OK;
    }
    if (verify_any_marked(proof, WEFT_SUSPECT_IN_PLACE)) {
        return verify_judge_marked(proof, WEFT_SUSPECT_IN_PLACE, report);
    }
    *report = *apart;
    return WEFT_OK;
}

weft_status_t weft_plan_verify(const weft_verify_input_t *input, weft_verify_report_t *report)
{
    if (verify_refuse_input(input, report)) {
        return WEFT_OK;
    }
    verify_proof_t proof;
    weft_status_t status = verify_proof_init(&proof, input);
    if (status == WEFT_OK) {
        status = verify_check_shape(&proof, report);
    }
    if (status == WEFT_OK && report->verdict == WEFT_VERDICT_OK &&
        !verify_refuse_size(&proof, report)) {
        status = verify_judge(&proof, report, NULL);
    }
    verify_proof_fini(&proof);
    return status;
}

/* Many slices per chunk only matter for the question whether the plan comes to its end, which one
 * rank per class answers. If it does, one slice per chunk proves the rest: slices of a chunk are
 * computed alike and apart, and what orders two accesses to a chunk with one slice orders those to
 * each slice with many. */
static weft_status_t verify_thin(verify_proof_t *proof)
{
    weft_network_t net;
    bool ends = false;
    if (proof->input.slices == 1) {
        return WEFT_OK;
    }
    weft_status_t status = weft_network_init(&net, proof->input.nranks, NULL);
    for (uint32_t rank = 0; rank < proof->input.nranks && status == WEFT_OK; rank++) {
        status = weft_network_add(&net, proof->input.plans[rank], 0);
    }
    if (status == WEFT_OK) {
        status = weft_network_ends(&net, proof->input.slots, proof->input.slices, &ends);
    }
    weft_network_fini(&net);
    proof->input.slices = ends ? 1 : proof->input.slices;
    return status;
}

static weft_status_t verify_judge_both(verify_proof_t *proof, weft_verify_report_t reports[2])
{
    weft_status_t status = verify_judge(proof, &reports[0], &reports[1]);
    if (status == WEFT_OK) {
        proof->input.in_place = true;
        status = verify_judge_in_place(proof, &reports[0], &reports[1]);
    }
    return status;
}

weft_status_t weft_plan_prove(const weft_verify_input_t *input, weft_verify_report_t reports[2])
{
    if (verify_refuse_input(input, &reports[0])) {
        reports[1] = reports[0];
        return WEFT_OK;
    }
    verify_proof_t proof;
    bool refused = false;
    weft_status_t status = verify_proof_init(&proof, input);
    proof.input.in_place = false;
    if (status == WEFT_OK) {
        status = verify_check_shape(&proof, &reports[0]);
        refused = reports[0].verdict != WEFT_VERDICT_OK;
    }
    if (status == WEFT_OK && !refused) {
        status = verify_thin(&proof);
    }
    if (status == WEFT_OK && !refused) {
        refused = verify_refuse_size(&proof, &reports[0]);
    }
    if (status == WEFT_OK && !refused) {
        status = verify_judge_both(&proof, reports);
    } else {
        reports[1] = reports[0];
    }
    if (status == WEFT_OK && reports[0].verdict == WEFT_VERDICT_OK) {
        status = weft_plan_meets(input->plans, input->nranks, input->slots, &reports[0].meets);
    }
    verify_proof_fini(&proof);
    return status;
}
