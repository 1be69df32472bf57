/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft plan --svg`: the drawing into a file, and what is said of it. */
#include "tools/plan_draw.h"

#include <string.h>

#include "core/base/error.h"
#include "tools/draw.h"
#include "tools/plan_study.h"
#include "tools/tool.h"
#include "tools/whole_file.h"

static bool plan_draw_is_refused(const weft_verify_report_t *report)
{
    return report->verdict != WEFT_VERDICT_OK && report->verdict != WEFT_VERDICT_TOO_BIG;
}

static int plan_draw_refuse(const weft_verify_report_t *report, const char *what)
{
    fprintf(stderr, "weft: the plan is refused%s, %s: %s\n", what,
            weft_verdict_name(report->verdict), report->text);
    return TOOL_LIBRARY;
}

static weft_status_t plan_draw_write(const plan_request_t *request, const draw_input_t *input,
                                     draw_view_t *view_p)
{
    whole_file_t file;
    weft_status_t status = whole_file_open(&file, request->svg);
    if (status != WEFT_OK) {
        return status;
    }
    status = draw_plan(input, view_p, file.out);
    if (status != WEFT_OK) {
        whole_file_drop(&file);
        return status;
    }
    return whole_file_close(&file);
}

int plan_draw(const plan_request_t *request, const plan_set_t *set)
{
    weft_verify_report_t reports[2];
    draw_view_t view = (draw_view_t)request->view;
    draw_input_t input = {.plans = set->plans,
                          .nranks = set->nranks,
                          .host = set->hosts,
                          .nhosts = set->view.topo.nhosts,
                          .algo = set->source->label,
                          .slots = (uint32_t)request->slots,
                          .slices = (uint32_t)request->slices,
                          .reports = reports};
    weft_status_t status = plan_study_prove(set, request, reports);
    if (status != WEFT_OK) {
        return tool_report(status);
    }
    bool refused = plan_draw_is_refused(&reports[0]);
    status = plan_draw_write(request, &input, &view);
    if (status != WEFT_OK) {
        /* What cannot be drawn because it is wrong is told as the verdict. */
        return refused && status == WEFT_ERR_PLAN ? plan_draw_refuse(&reports[0], " and not drawn")
                                                  : tool_report(status);
    }
    if (strcmp(request->svg, "-") != 0) {
        printf("%s: %s of %s, %u ranks, view %s\n", request->svg, weft_coll_name(request->coll),
               set->source->label, set->nranks, draw_view_name(view));
    }
    return refused ? plan_draw_refuse(&reports[0], "") : TOOL_OK;
}
