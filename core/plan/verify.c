/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The verifier: two passes of the abstract run at the executor's real depth and slicing. */
#include "core/plan/verify.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/plan/run.h"

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

static int malformed(weft_verify_report_t *report, uint32_t rank, const char *why)
{
    report->verdict = WEFT_VERDICT_MALFORMED;
    report->rank = rank;
    snprintf(report->text, sizeof report->text, "%.255s", why);
    return 1;
}

/* Do the plans belong together, and is each well formed? */
static int refuse_shape(const weft_verify_input_t *input, weft_verify_report_t *report)
{
    if (input->nranks < 2 || input->slots < 1 || input->slices < 1) {
        return malformed(report, 0, "needs two ranks, one slot and one slice at least");
    }
    const weft_plan_t *first = input->plans[0];
    for (uint32_t rank = 0; rank < input->nranks; rank++) {
        const weft_plan_t *plan = input->plans[rank];
        if (plan->nranks != input->nranks || plan->rank != rank || plan->coll != first->coll ||
            plan->root != first->root || plan->k != first->k) {
            char why[160];
            snprintf(why, sizeof why,
                     "rank %u: plan is for rank %u of %u, root %u, %u chunks; rank 0 has %u ranks, "
                     "root %u, %u chunks",
                     rank, plan->rank, plan->nranks, plan->root, plan->k, first->nranks,
                     first->root, first->k);
            return malformed(report, rank, why);
        }
        weft_status_t status = weft_plan_check(plan);
        if (status != WEFT_OK) {
            return malformed(report, rank, weft_error_record()->text);
        }
    }
    return 0;
}

static int refuse_size(const weft_verify_input_t *input, weft_verify_report_t *report)
{
    report->steps = weft_run_steps(input, WEFT_RUN_PASSES);
    uint64_t scratch = 0;
    for (uint32_t rank = 0; rank < input->nranks; rank++) {
        scratch += (uint64_t)input->plans[rank]->tmp_chunks * input->slices;
    }
    if (input->limit == 0 || (report->steps <= input->limit && scratch <= input->limit)) {
        return 0;
    }
    report->verdict = WEFT_VERDICT_TOO_BIG;
    snprintf(report->text, sizeof report->text, "%llu slice steps, the limit is %llu",
             (unsigned long long)report->steps, (unsigned long long)input->limit);
    return 1;
}

static void keep_figures(weft_run_t *run)
{
    weft_verify_report_t *report = run->report;
    report->steps = run->steps;
    report->vector = run->vector;
    report->critical_moves = run->chain.moves;
    report->critical_chunks = (double)run->chain.ends / 2;
    for (uint32_t i = 0; i < run->nqueues; i++) {
        uint32_t peak = run->queues[i].peak;
        report->peak_slots = peak > report->peak_slots ? peak : report->peak_slots;
    }
    weft_run_fingerprint(run);
}

/* One run. Without a mark it looks for races inside ranks and marks those where that does not do;
 * with one it looks for races of a group of the ranks so marked from *next_p on. */
static weft_status_t run_once(weft_run_t *run, uint8_t mark, uint32_t *next_p)
{
    weft_verify_report_t *report = run->report;
    weft_status_t status = weft_run_pair(run);
    if (status == WEFT_OK && report->verdict == WEFT_VERDICT_OK) {
        status = mark == 0 ? weft_race_init_local(run) : weft_race_init_exact(run, mark, next_p);
    }
    if (status == WEFT_OK && report->verdict == WEFT_VERDICT_OK) {
        weft_run_go(run);
        keep_figures(run);
    }
    return status;
}

static int any_marked(const uint8_t *marks, uint32_t nranks, uint8_t mark)
{
    for (uint32_t rank = 0; rank < nranks; rank++) {
        if ((marks[rank] & mark) != 0) {
            return 1;
        }
    }
    return 0;
}

/* Clocks through all queues for the ranks so marked. */
static weft_status_t judge_marked(const weft_verify_input_t *input, uint8_t *marks, uint8_t mark,
                                  weft_verify_report_t *report)
{
    weft_status_t status = WEFT_OK;
    uint32_t next = 0;
    memset(report, 0, sizeof *report);
    while (next < input->nranks && status == WEFT_OK && report->verdict == WEFT_VERDICT_OK) {
        weft_run_t run;
        status = weft_run_init(&run, input, WEFT_RUN_PASSES, 1, report);
        run.marks = marks;
        if (status == WEFT_OK) {
            status = run_once(&run, mark, &next);
        }
        run.marks = NULL;
        weft_run_fini(&run);
        while (next < input->nranks && (marks[next] & mark) == 0) {
            next++;
        }
    }
    return status;
}

/* *diverges_p: in place a value would differ; only if `both`. */
static weft_status_t judge(const weft_verify_input_t *input, int both, uint8_t *marks,
                           int *diverges_p, weft_verify_report_t *report)
{
    weft_run_t run;
    memset(report, 0, sizeof *report);
    memset(marks, 0, input->nranks);
    weft_status_t status = weft_run_init(&run, input, WEFT_RUN_PASSES, 1, report);
    run.both = both;
    run.marks = marks;
    if (status == WEFT_OK) {
        status = run_once(&run, 0, NULL);
    }
    *diverges_p = run.diverges;
    run.marks = NULL;
    weft_run_fini(&run);
    if (status == WEFT_OK && any_marked(marks, input->nranks, WEFT_SUSPECT)) {
        status = judge_marked(input, marks, WEFT_SUSPECT, report);
    }
    return status;
}

/* In place, after the proof out of place: the same run again only if something would differ. */
static weft_status_t judge_in_place(const weft_verify_input_t *input, uint8_t *marks, int diverges,
                                    const weft_verify_report_t *apart, weft_verify_report_t *report)
{
    if (apart->verdict == WEFT_VERDICT_OK &&
        any_marked(marks, input->nranks, WEFT_SUSPECT_IN_PLACE)) {
        return judge_marked(input, marks, WEFT_SUSPECT_IN_PLACE, report);
    }
    if (apart->verdict == WEFT_VERDICT_OK && !diverges) {
        *report = *apart;
        return WEFT_OK;
    }
    return judge(input, 0, marks, &diverges, report);
}

weft_status_t weft_plan_verify(const weft_verify_input_t *input, weft_verify_report_t *report)
{
    memset(report, 0, sizeof *report);
    if (refuse_shape(input, report) || refuse_size(input, report)) {
        return WEFT_OK;
    }
    uint8_t *marks = weft_os_alloc(input->nranks, 0);
    if (marks == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory to verify %u ranks", input->nranks);
    }
    int diverges;
    weft_status_t status = judge(input, 0, marks, &diverges, report);
    weft_os_free(marks);
    return status;
}

weft_status_t weft_plan_prove(const weft_verify_input_t *input, weft_verify_report_t reports[2])
{
    weft_verify_input_t one = *input;
    one.in_place = 0;
    memset(reports, 0, 2 * sizeof *reports);
    if (refuse_shape(&one, &reports[0]) || refuse_size(&one, &reports[0])) {
        reports[1] = reports[0];
        return WEFT_OK;
    }
    uint8_t *marks = weft_os_alloc(input->nranks, 0);
    if (marks == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory to verify %u ranks", input->nranks);
    }
    int diverges;
    weft_status_t status = judge(&one, 1, marks, &diverges, &reports[0]);
    if (status == WEFT_OK) {
        one.in_place = 1;
        status = judge_in_place(&one, marks, diverges, &reports[0], &reports[1]);
    }
    weft_os_free(marks);
    return status;
}
