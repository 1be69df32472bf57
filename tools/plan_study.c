/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Proves and prices the plans of one algorithm. */
#include "tools/plan_study.h"

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/plan/classes.h"
#include "tools/plan_price.h"
#include "tools/plan_request.h"
#include "tools/plan_source.h"
#include "tools/timeline.h"

/* Slice steps of one timed run in the search for the least depth. */
#define DEPTH_STEPS_MAX 4000000u

weft_status_t plan_study_prove(const plan_set_t *set, const plan_request_t *request,
                               weft_verify_report_t reports[2])
{
    weft_verify_input_t input = {.plans = set->plans,
                                 .nranks = set->nranks,
                                 .slots = (uint32_t)request->slots,
                                 .slices = (uint32_t)request->slices,
                                 .limit = set->source->session.settings.plan.verify_limit,
                                 .explain_in_place = true};
    return weft_plan_prove(&input, reports);
}

weft_status_t plan_study_make(plan_study_t *study, const plan_request_t *request,
                              const plan_source_t *source)
{
    *study = (plan_study_t){0};
    weft_status_t status =
        plan_set_emit(&study->set, source, request->coll, (uint32_t)request->nranks,
                      (uint32_t)request->root, &request->hosts);
    uint64_t start = weft_os_clock_ns();
    status = status != WEFT_OK ? status : plan_study_prove(&study->set, request, study->reports);
    study->verify_seconds = (double)(weft_os_clock_ns() - start) * 1e-9;
    if (status == WEFT_OK && plan_study_good(study)) {
        status = weft_plan_cost(study->set.plans, study->set.nranks, study->set.hosts,
                                (uint32_t)request->slots, &study->cost);
    }
    if (status == WEFT_OK) {
        status = price_facts(study->set.plans, study->set.nranks, &study->facts);
    }
    if (status == WEFT_OK) {
        timeline_input_t input = {.plans = study->set.plans,
                                  .nranks = study->set.nranks,
                                  .slots = (uint32_t)request->slots,
                                  .slices = (uint32_t)request->slices,
                                  .limit = DEPTH_STEPS_MAX};
        study->least_slots = timeline_least_slots(input, 1024);
    }
    return status;
}

void plan_study_free(plan_study_t *study)
{
    plan_set_free(&study->set);
}

price_plan_t plan_study_price(const plan_study_t *study, const plan_request_t *request)
{
    return (price_plan_t){.cost = &study->cost,
                          .coll = request->coll,
                          .nranks = study->set.nranks,
                          .nhosts = study->set.view.topo.nhosts,
                          .k = study->facts.k,
                          .slots = (uint32_t)request->slots,
                          .meets = study->reports[0].meets};
}

/* A shape too large to be proved can still be priced. */
bool plan_study_good(const plan_study_t *study)
{
    weft_verdict_t verdict = study->reports[0].verdict;
    return verdict == WEFT_VERDICT_OK || verdict == WEFT_VERDICT_TOO_BIG;
}
