/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft sim`: surveys the plans and prints times. */
#include "tools/sim.h"

#include <stdlib.h>

#include "tools/patience.h"
#include "tools/plan_source.h"
#include "tools/sim_figure.h"
#include "tools/sim_point.h"
#include "tools/sim_request.h"
#include "tools/sim_scale.h"
#include "tools/sim_simgrid.h"
#include "tools/sim_table.h"
#include "tools/tool.h"

static int sim_survey_all(const sim_request_t *request, plan_source_t *sources, sim_point_t *points)
{
    for (uint32_t i = 0; i < request->nranks; i++) {
        for (uint32_t a = 0; a < request->nspecs; a++) {
            weft_status_t status = sim_survey(request, &sources[a], request->coll,
                                              request->ranks[i], &points[i * request->nspecs + a]);
            if (status != WEFT_OK) {
                return tool_report(status);
            }
        }
    }
    return TOOL_OK;
}

/* A plan that would hang is an answer, but scripts must see it. */
static int sim_code_of(const sim_request_t *request, const sim_point_t *points)
{
    uint32_t served = 0;
    for (uint32_t i = 0; i < request->nranks * request->nspecs; i++) {
        served += points[i].served;
        if (points[i].served && points[i].survey.verdict != WEFT_VERDICT_OK &&
            points[i].survey.verdict != WEFT_VERDICT_TOO_BIG) {
            return TOOL_LIBRARY;
        }
    }
    return served > 0 ? TOOL_OK : TOOL_LIBRARY;
}

static int sim_run(const sim_request_t *request, plan_source_t *sources, sim_point_t *points)
{
    int code = TOOL_OK;
    uint32_t opened = 0;
    for (; opened < request->nspecs && code == TOOL_OK; opened++) {
        code =
            plan_source_open(&sources[opened], &request->settings, request->specs[opened], NULL, 0);
    }
    code = code == TOOL_OK ? sim_survey_all(request, sources, points) : code;
    if (code == TOOL_OK) {
        sim_put_table(request, points);
        code = sim_code_of(request, points);
    }
    if (code == TOOL_OK && request->svg != NULL) {
        code = sim_put_figure(request, points);
    }
    while (opened > 0) {
        plan_source_close(&sources[--opened]);
    }
    return code;
}

int tool_sim(int argc, char **argv)
{
    sim_request_t *request = calloc(1, sizeof *request);
    plan_source_t *sources = calloc(SIM_ALGOS_MAX, sizeof *sources);
    sim_point_t *points = calloc(SIM_ALGOS_MAX * SIM_RANKS_MAX, sizeof *points);
    bool done = false;
    int code = TOOL_OK;
    if (request == NULL || sources == NULL || points == NULL) {
        code = tool_no_memory("a simulation");
    } else {
        code = sim_request_read(request, argc, argv, &done);
        code = code == TOOL_OK && !done ? sim_request_fill(request) : code;
        if (code == TOOL_OK && !done) {
            tool_patience_start(request->patience);
            code = request->scale     ? sim_scale(request)
                   : request->simgrid ? sim_simgrid(request)
                                      : sim_run(request, sources, points);
        }
    }
    free(request);
    free(sources);
    free(points);
    return code;
}
