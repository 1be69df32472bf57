/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Surveys, proves and prices the plans of one algorithm. */
#include "tools/sim_point.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/plan/meeting.h"
#include "tools/plan_price.h"
#include "tools/plan_source.h"

bool sim_point_good(const sim_point_t *point)
{
    return point->served && point->survey.verdict == WEFT_VERDICT_OK;
}

/* A plan too big to be walked is priced by its busiest rank. */
static bool sim_point_is_priced(const sim_point_t *point)
{
    return sim_point_good(point) ||
           (point->served && point->survey.verdict == WEFT_VERDICT_TOO_BIG && point->survey.k > 0 &&
            weft_cost_sum(point->survey.cost.steady.edges) > 0);
}

price_plan_t sim_point_plan(const sim_request_t *request, const sim_point_t *point)
{
    return (price_plan_t){.cost = &point->survey.cost,
                          .coll = point->coll,
                          .nranks = point->nranks,
                          .nhosts = point->nhosts,
                          .k = point->survey.k,
                          .slots = (uint32_t)request->slots,
                          .meets = point->meets};
}

price_time_t sim_point_time(const sim_request_t *request, const sim_point_t *point, uint64_t size)
{
    const price_plan_t plan = sim_point_plan(request, point);
    return sim_point_is_priced(point) ? price_time(&plan, &point->model, size)
                                      : (price_time_t){.seconds = INFINITY};
}

typedef struct emitter {
    const plan_source_t *source;
    weft_algo_call_t call;
    weft_topo_view_t view;
} emitter_t;

static weft_status_t sim_point_emit_rank(void *arg, uint32_t rank, weft_plan_t **plan_p)
{
    emitter_t *emitter = arg;
    weft_algo_call_t call = emitter->call;
    call.rank = rank;
    return plan_source_emit(emitter->source, &call, &emitter->view.topo, plan_p);
}

/* Only few ranks meet, so their plans are made once more. */
static weft_status_t sim_point_meet(const sim_request_t *request, const plan_source_t *source,
                                    sim_point_t *point)
{
    plan_set_t set;
    const plan_hosts_t hosts = {.count = 1};
    if (!request->price.windows || point->nhosts > 1 || point->nranks > WEFT_MEETING_RANKS ||
        !sim_point_good(point)) {
        return WEFT_OK;
    }
    weft_status_t status =
        plan_set_emit(&set, source, point->coll, point->nranks, (uint32_t)request->root, &hosts);
    if (status == WEFT_OK) {
        status = weft_plan_meets(set.plans, set.nranks, (uint32_t)request->slots, &point->meets);
    }
    plan_set_free(&set);
    return status;
}

static void sim_point_set_served(sim_point_t *point, weft_status_t status)
{
    point->served = status == WEFT_OK;
    if (!point->served) {
        const char *why = weft_error_record()->text;
        snprintf(point->why, sizeof point->why, "%.150s",
                 why[0] != '\0' ? why : weft_status_text(status));
    }
}

weft_status_t sim_survey(const sim_request_t *request, const plan_source_t *source,
                         weft_coll_t coll, uint32_t nranks, sim_point_t *point)
{
    *point =
        (sim_point_t){.nranks = nranks, .coll = coll, .algo = source->label, .verify_seconds = -1};
    emitter_t emitter = {.source = source,
                         .call = plan_source_call(source, coll, nranks, (uint32_t)request->root)};
    sim_point_set_served(point, plan_source_supports(source, &emitter.call));
    if (!point->served) {
        return WEFT_OK;
    }
    uint32_t *host = calloc(nranks, sizeof *host);
    if (host == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for %u ranks", nranks);
    }
    for (uint32_t r = 0; r < nranks; r++) {
        host[r] = r / (uint32_t)request->per_host;
    }
    weft_algo_topo_t topo = {.size = sizeof topo, .nhosts = host[nranks - 1] + 1, .host = host};
    point->nhosts = topo.nhosts;
    weft_status_t status = weft_topo_view_init(&emitter.view, &topo, NULL, nranks);
    if (status == WEFT_OK) {
        status = price_model_make(&request->price, &source->session, topo.nhosts, &point->model);
    }
    uint64_t start = weft_os_clock_ns();
    if (status == WEFT_OK) {
        status = weft_plan_survey(nranks, host, sim_point_emit_rank, &emitter,
                                  (uint32_t)request->slots, &point->survey);
    }
    weft_topo_view_fini(&emitter.view);
    point->survey_seconds = (double)(weft_os_clock_ns() - start) * 1e-9;
    free(host);
    if (status == WEFT_ERR_UNSUPPORTED) {
        /* Known only when the plan was asked for: it depends on the hosts. */
        sim_point_set_served(point, status);
        return WEFT_OK;
    }
    return status == WEFT_OK ? sim_point_meet(request, source, point) : status;
}

weft_status_t sim_verify(const sim_request_t *request, const plan_source_t *source,
                         sim_point_t *point)
{
    plan_set_t set;
    plan_hosts_t hosts = {.count = (point->nranks + (uint32_t)request->per_host - 1) /
                                   (uint32_t)request->per_host};
    weft_verify_report_t reports[2];
    weft_status_t status =
        plan_set_emit(&set, source, point->coll, point->nranks, (uint32_t)request->root, &hosts);
    if (status == WEFT_OK) {
        weft_verify_input_t input = {.plans = set.plans,
                                     .nranks = set.nranks,
                                     .slots = (uint32_t)request->slots,
                                     .slices = (uint32_t)request->slots / 2,
                                     .limit = UINT64_C(200) << 20};
        uint64_t start = weft_os_clock_ns();
        status = weft_plan_prove(&input, reports);
        const weft_verify_report_t report = reports[0];
        if (status == WEFT_OK && report.verdict != WEFT_VERDICT_TOO_BIG) {
            point->verify_seconds = (double)(weft_os_clock_ns() - start) * 1e-9;
        }
        if (status == WEFT_OK && report.verdict != WEFT_VERDICT_OK &&
            report.verdict != WEFT_VERDICT_TOO_BIG) {
            point->survey.verdict = report.verdict;
            snprintf(point->survey.text, sizeof point->survey.text, "%s", report.text);
        }
    }
    plan_set_free(&set);
    return status;
}
