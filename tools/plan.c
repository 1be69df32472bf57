/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft plan`: emits the plans of all ranks with a loaded algorithm, and shows them. */
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "tools/plan.h"

static const weft_loaded_t *find_algo(const tool_session_t *session, const char *name)
{
    const char *names[64];
    uint32_t i = 0;
    for (; i < 63; i++) {
        const weft_loaded_t *loaded = weft_registry_get(session->registry, WEFT_KIND_ALGO, i);
        if (loaded == NULL) {
            break;
        }
        if (strcmp(loaded->plugin->name, name) == 0) {
            return loaded;
        }
        names[i] = loaded->plugin->name;
    }
    names[i] = NULL;
    tool_parse_name("algorithm", name, names);
    return NULL;
}

static int set_param(plan_set_t *set, const char *text)
{
    const weft_algo_ops_t *ops = set->loaded->plugin->ops;
    const weft_algo_param_t *p = WEFT_HAS(ops, weft_algo_ops_t, params) ? ops->params : NULL;
    size_t length = (size_t)(strchr(text, '=') - text);
    for (uint32_t i = 0; p != NULL && p[i].name != NULL; i++) {
        if (strlen(p[i].name) == length && memcmp(p[i].name, text, length) == 0) {
            return tool_parse_integer(p[i].name, text + length + 1, p[i].min, p[i].max,
                                      &set->call.params[i])
                       ? TOOL_OK
                       : TOOL_USAGE;
        }
    }
    return tool_usage("%s has no parameter %.*s", set->loaded->plugin->name, (int)length, text);
}

static int set_call(plan_set_t *set, const plan_request_t *request)
{
    const weft_algo_ops_t *ops = set->loaded->plugin->ops;
    const weft_algo_param_t *p = WEFT_HAS(ops, weft_algo_ops_t, params) ? ops->params : NULL;
    set->call = (weft_algo_call_t){.size = sizeof set->call,
                                   .coll = request->coll,
                                   .nranks = (uint32_t)request->nranks,
                                   .root = (uint32_t)request->root};
    for (uint32_t i = 0; p != NULL && p[i].name != NULL && i < WEFT_ALGO_PARAMS_MAX; i++) {
        set->call.params[i] = p[i].value;
    }
    for (uint32_t i = 0; i < request->nparams; i++) {
        int code = set_param(set, request->params[i]);
        if (code != TOOL_OK) {
            return code;
        }
    }
    return TOOL_OK;
}

static void set_view(plan_set_t *set, const plan_request_t *request)
{
    uint32_t hosts =
        (uint32_t)(request->hosts < request->nranks ? request->hosts : request->nranks);
    uint32_t each = (set->nranks + hosts - 1) / hosts;
    for (uint32_t r = 0; r < set->nranks; r++) {
        set->hosts[r] = r / each;
    }
    set->view = (weft_algo_view_t){
        .size = sizeof set->view, .nhosts = set->hosts[set->nranks - 1] + 1, .host = set->hosts};
}

static void set_close(plan_set_t *set)
{
    const weft_algo_ops_t *ops = set->loaded->plugin->ops;
    for (uint32_t r = 0; set->plans != NULL && r < set->nranks; r++) {
        weft_plan_destroy(set->plans[r]);
    }
    if (set->algo != NULL) {
        ops->destroy(set->algo);
    }
    plan_finder_close(&set->others);
    free(set->plans);
    free(set->hosts);
}

static weft_status_t set_emit(plan_set_t *set, const plan_request_t *request)
{
    const weft_algo_ops_t *ops = set->loaded->plugin->ops;
    set->nranks = (uint32_t)request->nranks;
    set->plans = calloc(set->nranks, sizeof(weft_plan_t *));
    set->hosts = calloc(set->nranks, sizeof *set->hosts);
    if (set->plans == NULL || set->hosts == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for the plans of %u ranks", set->nranks);
    }
    set_view(set, request);
    weft_status_t status = ops->create(set->loaded->host, set->loaded->config, &set->algo);
    status = status != WEFT_OK ? status : ops->supports(set->algo, &set->call);
    for (uint32_t r = 0; r < set->nranks && status == WEFT_OK; r++) {
        weft_algo_call_t call = set->call;
        call.rank = r;
        status =
            weft_plan_emit(ops, set->algo, &call, &set->view, &set->others.finder, &set->plans[r]);
    }
    return status;
}

static int show(const plan_request_t *request, const plan_set_t *set)
{
    json_t json = {.out = stdout};
    if (request->form == PLAN_DOT) {
        weft_plan_print_dot(set->plans, set->nranks, stdout);
        return TOOL_OK;
    }
    int code = TOOL_OK;
    if (request->form != PLAN_TEXT) {
        code = plan_check(request, set, request->json ? &json : NULL);
    }
    if (request->form == PLAN_CHECK || request->json) {
        return code;
    }
    uint32_t first = request->rank < 0 ? 0 : (uint32_t)request->rank;
    uint32_t last = request->rank < 0 ? set->nranks - 1 : first;
    for (uint32_t r = first; r <= last; r++) {
        if (request->form != PLAN_TEXT || r > first) {
            puts("");
        }
        weft_plan_print(set->plans[r], stdout);
    }
    return code;
}

static int show_algo(const plan_request_t *request, const tool_session_t *session,
                     const weft_loaded_t *loaded)
{
    plan_set_t set = {.loaded = loaded};
    plan_finder_open(&set.others, session->registry);
    int code = set_call(&set, request);
    if (code == TOOL_OK) {
        weft_status_t status = set_emit(&set, request);
        code = status != WEFT_OK ? tool_report(status) : show(request, &set);
    }
    set_close(&set);
    return code;
}

/* Whether the algorithm serves the call; the reason against it is in the error record. */
static bool serves(const plan_request_t *request, const weft_loaded_t *loaded)
{
    const weft_algo_ops_t *ops = loaded->plugin->ops;
    plan_set_t set = {.loaded = loaded};
    weft_algo_t *algo = NULL;
    plan_request_t plain = *request;
    plain.nparams = 0;
    if (set_call(&set, &plain) != TOOL_OK ||
        ops->create(loaded->host, loaded->config, &algo) != 0) {
        return false;
    }
    bool good = ops->supports(algo, &set.call) == WEFT_OK;
    ops->destroy(algo);
    return good;
}

static void list_algo(json_t *json, const weft_loaded_t *loaded, bool good)
{
    const char *why = good ? "" : weft_error_record()->text;
    if (json == NULL) {
        printf("%-16s %s%s%s\n", loaded->plugin->name, good ? loaded->plugin->help : "no",
               good ? "" : ": ", why);
        return;
    }
    json_open(json, NULL, '{');
    json_string(json, "name", loaded->plugin->name);
    json_string(json, "help", loaded->plugin->help);
    json_bool(json, "serves", good);
    json_string(json, "reason", why);
    json_close(json, '}');
}

static int list_all(const plan_request_t *request, const tool_session_t *session)
{
    json_t out = {.out = stdout};
    json_t *json = request->json ? &out : NULL;
    if (json != NULL) {
        json_open(json, NULL, '[');
    }
    for (uint32_t i = 0;; i++) {
        const weft_loaded_t *loaded = weft_registry_get(session->registry, WEFT_KIND_ALGO, i);
        if (loaded == NULL) {
            break;
        }
        list_algo(json, loaded, serves(request, loaded));
    }
    if (json != NULL) {
        json_close(json, ']');
    }
    return TOOL_OK;
}

static int run(const plan_request_t *request, const tool_session_t *session)
{
    const weft_loaded_t *loaded = NULL;
    if (request->form == PLAN_LIST) {
        return list_all(request, session);
    }
    if (request->algo != NULL) {
        loaded = find_algo(session, request->algo);
        return loaded == NULL ? TOOL_USAGE : show_algo(request, session, loaded);
    }
    for (uint32_t i = 0;; i++) {
        loaded = weft_registry_get(session->registry, WEFT_KIND_ALGO, i);
        if (loaded == NULL || serves(request, loaded)) {
            break;
        }
    }
    if (loaded == NULL) {
        fprintf(stderr, "weft: no loaded algorithm serves %s over %lld ranks\n",
                weft_coll_name(request->coll), (long long)request->nranks);
        return TOOL_LIBRARY;
    }
    return show_algo(request, session, loaded);
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
    weft_status_t status = tool_session_open(&session, &request.settings);
    if (status != WEFT_OK) {
        return tool_report(status);
    }
    code = run(&request, &session);
    tool_session_close(&session);
    return code;
}
