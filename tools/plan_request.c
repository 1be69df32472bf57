/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Options of `weft plan`. */
#include <string.h>

#include "tools/plan.h"

static const tool_option_t options_table[] = {
    {'n', "nranks", "N", "number of ranks [4]", 'n'},
    {'A', "algo", "NAME", "algorithm [the first that serves the collective]", 'A'},
    {0, "rank", "R", "whose plan --text prints; -1 = everybody's [0]", 'R'},
    {'r', "root", "R", "root of broadcast and reduce [0]", 'r'},
    {0, "hosts", "N", "spread the ranks evenly over N hosts [1]", 'H'},
    {0, "param", "NAME=VALUE", "parameter of the algorithm; may be repeated", 'p'},
    {'S', "slots", "N", "depth of the queues [4]", 'S'},
    {'L', "slices", "N", "slices per chunk, fewer than slots [2]", 'L'},
    {0, "text", NULL, "print the instructions only", PLAN_TEXT},
    {0, "dot", NULL, "print a graph for Graphviz: weft plan … --dot | dot -Tsvg", PLAN_DOT},
    {0, "check", NULL, "print the verdict only", PLAN_CHECK},
    {0, "list", NULL, "list the algorithms that serve the collective", PLAN_LIST},
    TOOL_OPTIONS_CONFIG,
    {0, "json", NULL, "with --check or --list: print JSON", TOOL_OPT_JSON},
    {'h', "help", NULL, "this text", 'h'},
    {0, NULL, NULL, NULL, 0},
};

static const char *const coll_names[] = {
#define NAME(value, name, text, reduces, rooted, shape) [value] = text,
    WEFT_COLL_MAP(NAME)
#undef NAME
        NULL};

static int take_param(plan_request_t *request, const char *text)
{
    if (strchr(text, '=') == NULL) {
        return tool_usage("--param wants name=value, got '%s'", text);
    }
    if (request->nparams == WEFT_ALGO_PARAMS_MAX) {
        return tool_usage("more than %d --param", WEFT_ALGO_PARAMS_MAX);
    }
    request->params[request->nparams++] = text;
    return TOOL_OK;
}

static bool take_number(plan_request_t *request, int id, const char *text)
{
    switch (id) {
    case 'n':
        return tool_parse_integer("--nranks", text, 2, 4096, &request->nranks);
    case 'R':
        return tool_parse_integer("--rank", text, -1, 4095, &request->rank);
    case 'r':
        return tool_parse_integer("--root", text, 0, 4095, &request->root);
    case 'H':
        return tool_parse_integer("--hosts", text, 1, 4096, &request->hosts);
    case 'S':
        return tool_parse_integer("--slots", text, 2, 1024, &request->slots);
    default:
        return tool_parse_integer("--slices", text, 1, 1023, &request->slices);
    }
}

static int take(plan_request_t *request, int id, const char *text)
{
    int coll;
    switch (id) {
    case TOOL_ARGS_OPERAND:
        coll = tool_parse_name("collective", text, coll_names);
        request->coll = coll < 0 ? WEFT_COLL_COUNT : (weft_coll_t)coll;
        return coll < 0 ? TOOL_USAGE : TOOL_OK;
    case TOOL_ARGS_ERROR:
        return TOOL_USAGE;
    case 'A':
        request->algo = text;
        return TOOL_OK;
    case 'p':
        return take_param(request, text);
    case PLAN_TEXT:
    case PLAN_DOT:
    case PLAN_CHECK:
    case PLAN_LIST:
        request->form = id;
        return TOOL_OK;
    case TOOL_OPT_JSON:
        request->json = true;
        return TOOL_OK;
    case TOOL_OPT_CONF:
    case TOOL_OPT_SET:
        return tool_settings_take(&request->settings, id, text) ? TOOL_OK : TOOL_USAGE;
    default:
        return take_number(request, id, text) ? TOOL_OK : TOOL_USAGE;
    }
}

static int check_together(plan_request_t *request)
{
    if (request->coll == WEFT_COLL_COUNT) {
        return tool_usage("which collective? Try: weft plan all_reduce -n 4");
    }
    if (request->rank >= request->nranks || request->root >= request->nranks) {
        return tool_usage("rank and root must be below --nranks %lld", (long long)request->nranks);
    }
    if (request->json && (request->form == PLAN_TEXT || request->form == PLAN_DOT)) {
        return tool_usage("--json goes with --check or --list");
    }
    if (request->slices >= request->slots) {
        return tool_usage(
            "--slices %lld must be fewer than --slots %lld: a chunk must fit in a queue",
            (long long)request->slices, (long long)request->slots);
    }
    /* A barrier is an all_reduce of nothing. */
    request->coll = weft_coll_shape(request->coll);
    return TOOL_OK;
}

int plan_request_read(plan_request_t *request, int argc, char **argv, bool *done)
{
    tool_args_t args = {.options = options_table, .argc = argc, .argv = argv, .at = 1};
    *done = false;
    *request =
        (plan_request_t){.coll = WEFT_COLL_COUNT, .nranks = 4, .hosts = 1, .slots = 4, .slices = 2};
    for (;;) {
        int id = tool_args_next(&args);
        if (id == TOOL_ARGS_END) {
            return check_together(request);
        }
        if (id == 'h') {
            printf("usage: weft plan COLLECTIVE [options]\n\n"
                   "Emits the plans of all ranks, proves them and prints them.\n\n");
            tool_options_print(options_table, stdout);
            *done = true;
            return TOOL_OK;
        }
        int code = take(request, id, args.value);
        if (code != TOOL_OK) {
            return code;
        }
    }
}
