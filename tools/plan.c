/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft plan`: emits the plans of all ranks with a loaded algorithm, and shows them. */
#include "tools/plan.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/plan/dot.h"
#include "core/plan/plan_print.h"
#include "tools/json.h"
#include "tools/patience.h"
#include "tools/plan_check.h"
#include "tools/plan_compare.h"
#include "tools/plan_depth.h"
#include "tools/plan_draw.h"
#include "tools/plan_list.h"
#include "tools/plan_request.h"
#include "tools/plan_source.h"
#include "tools/plan_study.h"
#include "tools/session.h"
#include "tools/tool.h"

static void plan_put_plans_json(json_t *json, const plan_request_t *request, const plan_set_t *set)
{
    uint32_t first = request->rank < 0 ? 0 : (uint32_t)request->rank;
    uint32_t last = request->rank < 0 ? set->nranks - 1 : first;
    json_open(json, NULL, '[');
    for (uint32_t r = first; r <= last; r++) {
        char *text = NULL;
        size_t bytes = 0;
        FILE *memory = open_memstream(&text, &bytes);
        if (memory == NULL) {
            break;
        }
        weft_plan_print(set->plans[r], memory);
        fclose(memory);
        json_open(json, NULL, '{');
        json_unsigned(json, "rank", r);
        json_string(json, "plan", text != NULL ? text : "");
        json_close(json, '}');
        free(text);
    }
    json_close(json, ']');
}

static void plan_put_plans(const plan_request_t *request, const plan_set_t *set)
{
    uint32_t first = request->rank < 0 ? 0 : (uint32_t)request->rank;
    uint32_t last = request->rank < 0 ? set->nranks - 1 : first;
    for (uint32_t r = first; r <= last; r++) {
        if (request->form != PLAN_TEXT || r > first) {
            puts("");
        }
        weft_plan_print(set->plans[r], stdout);
    }
}

/* What an algorithm does not serve is sometimes known only when it sees the hosts. */
static int plan_report(const plan_request_t *request, const plan_source_t *source,
                       weft_status_t status)
{
    char why[256], serving[512];
    if (status != WEFT_ERR_UNSUPPORTED) {
        return tool_report(status);
    }
    snprintf(why, sizeof why, "%.250s", weft_error_record()->text);
    plan_algos_serving(&source->session, request->coll, (uint32_t)request->nranks,
                       (uint32_t)request->root, &request->hosts, serving, sizeof serving);
    fprintf(stderr, "weft: %s; algorithms for %s over %lld ranks: %s\n", why,
            weft_coll_name(request->asked), (long long)request->nranks,
            serving[0] != '\0' ? serving : "none");
    return tool_exit_code(status);
}

static int plan_show_study(const plan_request_t *request, const plan_source_t *source)
{
    json_t json = {.out = stdout};
    plan_study_t study;
    int code = TOOL_OK;
    weft_status_t status = plan_study_make(&study, request, source);
    if (status != WEFT_OK) {
        code = plan_report(request, source, status);
    } else {
        code = plan_check(request, &study, &source->session, request->json ? &json : NULL);
        if (request->form == PLAN_ALL && !request->json) {
            plan_put_plans(request, &study.set);
        }
    }
    plan_study_free(&study);
    return code;
}

static int plan_show(const plan_request_t *request, const plan_source_t *source)
{
    json_t json = {.out = stdout};
    if (request->form != PLAN_TEXT && request->form != PLAN_DOT && request->form != PLAN_SVG) {
        return plan_show_study(request, source);
    }
    plan_set_t set;
    int code = TOOL_OK;
    weft_status_t status = plan_set_emit(&set, source, request->coll, (uint32_t)request->nranks,
                                         (uint32_t)request->root, &request->hosts);
    if (status != WEFT_OK) {
        code = plan_report(request, source, status);
    } else if (request->form == PLAN_DOT) {
        weft_plan_print_dot(set.plans, set.nranks, stdout);
    } else if (request->form == PLAN_SVG) {
        code = plan_draw(request, &set);
    } else if (request->json) {
        plan_put_plans_json(&json, request, &set);
    } else {
        plan_put_plans(request, &set);
    }
    plan_set_free(&set);
    return code;
}

/* The algorithm may have been named, here or by [plan] algo; if not, it is the first that
 * serves. */
static int plan_choose(const plan_request_t *request, const tool_session_t *session,
                       const char **name_p, char *first, size_t bytes)
{
    char serving[512];
    const char *forced = session->settings.plan.algo;
    *name_p = request->algo != NULL ? request->algo : forced;
    if (*name_p != NULL && (*name_p)[0] != '\0') {
        return TOOL_OK;
    }
    plan_algos_serving(session, request->coll, (uint32_t)request->nranks, (uint32_t)request->root,
                       &request->hosts, serving, sizeof serving);
    if (serving[0] == '\0') {
        const char *why = weft_error_record()->text; /* of the last one */
        fprintf(stderr,
                "weft: no loaded algorithm serves %s over %lld ranks%s%s; `weft plan --list` "
                "tells what they serve\n",
                weft_coll_name(request->asked), (long long)request->nranks,
                why[0] != '\0' ? ": " : "", why);
        return TOOL_LIBRARY;
    }
    snprintf(first, bytes, "%.*s", (int)strcspn(serving, ","), serving);
    *name_p = first;
    return TOOL_OK;
}

static int plan_refuse(const plan_request_t *request, const plan_source_t *source)
{
    char why[256], serving[512];
    weft_algo_call_t call =
        plan_source_call(source, request->coll, (uint32_t)request->nranks, (uint32_t)request->root);
    weft_status_t status = plan_source_supports(source, &call);
    if (status == WEFT_OK) {
        return TOOL_OK;
    }
    snprintf(why, sizeof why, "%.250s", weft_error_record()->text);
    plan_algos_serving(&source->session, request->coll, (uint32_t)request->nranks,
                       (uint32_t)request->root, &request->hosts, serving, sizeof serving);
    fprintf(stderr, "weft: %s does not serve %s over %lld ranks: %s; %s%s\n", source->label,
            weft_coll_name(request->asked), (long long)request->nranks,
            why[0] != '\0' ? why : weft_status_text(status),
            serving[0] != '\0' ? "these do: " : "no loaded algorithm does", serving);
    return tool_exit_code(status);
}

static int run(plan_request_t *request, const tool_session_t *session)
{
    char first[64];
    const char *name;
    plan_source_t source;
    if (request->form == PLAN_LIST) {
        return plan_list(request, session);
    }
    if (request->form == PLAN_COMPARE) {
        return plan_compare(request);
    }
    int code = plan_choose(request, session, &name, first, sizeof first);
    if (code != TOOL_OK) {
        return code;
    }
    code = plan_source_open(&source, &request->settings, name, request->params, request->nparams);
    if (code != TOOL_OK) {
        return code;
    }
    source.pack = (uint32_t)request->pack;
    code = plan_refuse(request, &source);
    code = code == TOOL_OK ? plan_depth_take(request, &source) : code;
    code = code == TOOL_OK ? plan_show(request, &source) : code;
    plan_source_close(&source);
    return code;
}

int tool_plan(int argc, char **argv)
{
    plan_request_t request;
    tool_session_t session;
    bool done;
    int code = plan_request_read(&request, argc, argv, &done);
    if (code != TOOL_OK || done) {
        return code;
    }
    tool_patience_start(request.patience);
    weft_status_t status = tool_session_open(&session, &request.settings);
    if (status != WEFT_OK) {
        return tool_report(status);
    }
    code = run(&request, &session);
    tool_session_close(&session);
    return code;
}
