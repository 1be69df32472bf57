/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Options of `weft plan`. */
#include <string.h>

#include "tools/plan_request.h"

#include "tools/args.h"
#include "tools/patience.h"
#include "tools/plan_price.h"
#include "tools/plan_source.h"
#include "tools/tool.h"
#include "tools/values.h"

static const tool_option_t options_table[] = {
    {'n', "nranks", "N", "number of ranks [4, or the sum of --hosts]", 'n'},
    {'A', "algo", "NAME[:X=Y,…]", "algorithm with options [[plan] algo, or the first that serves]",
     'A'},
    {0, "rank", "R", "whose plan --text prints; -1 = everybody's [0]", 'R'},
    {'r', "root", "R", "root of rooted collectives [0]", 'r'},
    {0, "hosts", "H", "number of hosts, or ranks on each host: 4,4,3 [1]", 'H'},
    {0, "param", "NAME=VALUE", "parameter or option of the algorithm; may be repeated", 'p'},
    {'S', "slots", "N", "depth of the queues [what a job would choose]", 'S'},
    {'L', "slices", "N", "slices per chunk, fewer than slots [half of the slots]", 'L'},
    {0, "pack", "N", "chunks that a message may hold, where the algorithm packs [1]", 'K'},
    {0, "list", NULL, "list the algorithms, what they serve and their options", PLAN_LIST},
    {0, "check", NULL, "print verdict, figures and prices, without instructions", PLAN_CHECK},
    {0, "text", NULL, "print the instructions only", PLAN_TEXT},
    {0, "cost", NULL, "print the prices only", PLAN_COST},
    {0, "dot", NULL, "print a graph for Graphviz: weft plan … --dot | dot -Tsvg", PLAN_DOT},
    {0, "svg", "FILE", "draw the plan; - = standard output", PLAN_SVG},
    {0, "view", "VIEW", "of the drawing: auto, ring, hosts, grid, tree or lanes [auto]", 'V'},
    {0, "compare", "A B", "compare two algorithms: same bits? which is faster?", PLAN_COMPARE},
    PRICE_OPTIONS,
    TOOL_OPTION_PATIENCE('T'),
    TOOL_OPTIONS_CONFIG,
    {0, "json", NULL, "print JSON", TOOL_OPT_JSON},
    {'h', "help", NULL, "this text", 'h'},
    {0, NULL, NULL, NULL, 0},
};

static int plan_request_take_param(plan_request_t *request, const char *text)
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

static bool plan_request_take_number(plan_request_t *request, int id, const char *text)
{
    switch (id) {
    case 'n':
        request->ranks_given = true;
        return tool_parse_integer("--nranks", text, 2, PLAN_RANKS_MAX, &request->nranks);
    case 'R':
        return tool_parse_integer("--rank", text, -1, PLAN_RANKS_MAX - 1, &request->rank);
    case 'r':
        return tool_parse_integer("--root", text, 0, PLAN_RANKS_MAX - 1, &request->root);
    case 'S':
        return tool_parse_integer("--slots", text, 2, 1024, &request->slots);
    case 'T':
        return tool_patience_read(text, &request->patience);
    case 'K':
        return tool_parse_integer("--pack", text, 1, WEFT_PACK_MAX, &request->pack);
    default:
        return tool_parse_integer("--slices", text, 1, 1023, &request->slices);
    }
}

/* The second algorithm of --compare is the operand after it. */
static int plan_request_take_operand(plan_request_t *request, const char *text)
{
    if (request->ncompare == 1) {
        request->compare[request->ncompare++] = text;
        return TOOL_OK;
    }
    if (strcmp(text, "list") == 0 && request->coll == WEFT_COLL_COUNT) {
        request->form = PLAN_LIST;
        return TOOL_OK;
    }
    if (request->coll != WEFT_COLL_COUNT) {
        return tool_usage("'%s' is one name too many", text);
    }
    int coll = tool_parse_coll(text, NULL);
    request->coll = coll < 0 ? WEFT_COLL_COUNT : (weft_coll_t)coll;
    return coll < 0 ? TOOL_USAGE : TOOL_OK;
}

static int plan_request_take_form(plan_request_t *request, int id, const char *text)
{
    if (request->form != PLAN_ALL && request->form != id) {
        return tool_usage(
            "--list, --check, --text, --cost, --dot, --svg and --compare exclude each "
            "other");
    }
    request->form = id;
    if (id == PLAN_SVG) {
        request->svg = text;
    }
    if (id == PLAN_COMPARE) {
        request->compare[0] = text;
        request->ncompare = 1;
    }
    return TOOL_OK;
}

static int plan_request_take(plan_request_t *request, int id, const char *text)
{
    switch (id) {
    case TOOL_ARGS_OPERAND:
        return plan_request_take_operand(request, text);
    case TOOL_ARGS_ERROR:
        return TOOL_USAGE;
    case 'A':
        request->algo = text;
        return TOOL_OK;
    case 'H':
        return plan_hosts_read(&request->hosts, text);
    case 'V':
        request->view = tool_parse_name("view", text, draw_view_names());
        return request->view < 0 ? TOOL_USAGE : TOOL_OK;
    case 'p':
        return plan_request_take_param(request, text);
    case TOOL_OPT_JSON:
        request->json = true;
        return TOOL_OK;
    case TOOL_OPT_CONF:
    case TOOL_OPT_SET:
        return tool_settings_take(&request->settings, id, text) ? TOOL_OK : TOOL_USAGE;
    case 'n':
    case 'R':
    case 'r':
    case 'S':
    case 'L':
    case 'K':
    case 'T':
        return plan_request_take_number(request, id, text) ? TOOL_OK : TOOL_USAGE;
    default:
        if (id > PLAN_ALL && id <= PLAN_COMPARE) {
            return plan_request_take_form(request, id, text);
        }
        return price_option_take(&request->price, id, text) ? TOOL_OK : TOOL_USAGE;
    }
}

static int plan_request_check_hosts(plan_request_t *request)
{
    int64_t sum = 0;
    for (uint32_t h = 0; h < request->hosts.listed; h++) {
        sum += request->hosts.list[h];
    }
    if (request->hosts.listed != 0 && !request->ranks_given) {
        request->nranks = sum;
    }
    if (request->hosts.listed != 0 && sum != request->nranks) {
        return tool_usage("--hosts lists %lld ranks, --nranks says %lld", (long long)sum,
                          (long long)request->nranks);
    }
    if (request->hosts.count > request->nranks) {
        return tool_usage("--hosts %u is more than %lld ranks", request->hosts.count,
                          (long long)request->nranks);
    }
    if (request->nranks < 2 || request->nranks > PLAN_RANKS_MAX) {
        return tool_usage("%lld ranks; a plan has 2 to %d", (long long)request->nranks,
                          PLAN_RANKS_MAX);
    }
    return TOOL_OK;
}

static int plan_request_check_together(plan_request_t *request)
{
    if (request->coll == WEFT_COLL_COUNT && request->form == PLAN_LIST) {
        return TOOL_OK;
    }
    if (request->coll == WEFT_COLL_COUNT) {
        return tool_usage("which collective? Try: weft plan all_reduce -n 4");
    }
    int code = plan_request_check_hosts(request);
    if (code != TOOL_OK) {
        return code;
    }
    if (request->form == PLAN_COMPARE && request->ncompare != 2) {
        return tool_usage("--compare wants two algorithms: weft plan all_reduce --compare "
                          "algo-ring algo-tree");
    }
    if (request->rank >= request->nranks || request->root >= request->nranks) {
        const bool is_rank = request->rank >= request->nranks;
        return tool_usage("--%s %lld is not below %lld ranks", is_rank ? "rank" : "root",
                          (long long)(is_rank ? request->rank : request->root),
                          (long long)request->nranks);
    }
    if (request->json && (request->form == PLAN_DOT || request->form == PLAN_SVG)) {
        return tool_usage("--json does not go with a drawing");
    }
    if (request->coll == WEFT_SEND_RECV) {
        return tool_usage("send_recv has no plan");
    }
    /* A barrier is an all_reduce of nothing, a vector collective runs its base collective. */
    request->asked = request->coll;
    request->coll = weft_coll_base(request->coll);
    return price_request_check(&request->price);
}

int plan_request_read(plan_request_t *request, int argc, char **argv, bool *done)
{
    tool_args_t args = {.options = options_table, .argc = argc, .argv = argv, .at = 1};
    *done = false;
    *request = (plan_request_t){.coll = WEFT_COLL_COUNT,
                                .nranks = 4,
                                .patience = TOOL_PATIENCE_DEFAULT,
                                .hosts = {.count = 1},
                                .price = PRICE_REQUEST_DEFAULT};
    for (;;) {
        int id = tool_args_next(&args);
        if (id == TOOL_ARGS_END) {
            return plan_request_check_together(request);
        }
        if (id == 'h') {
            printf("usage: weft plan COLLECTIVE [options]\n"
                   "       weft plan --list\n\n"
                   "Emits the plans of all ranks, proves, prices, prints, draws and compares "
                   "them.\n\n");
            tool_options_print(options_table, stdout);
            *done = true;
            return TOOL_OK;
        }
        int code = plan_request_take(request, id, args.value);
        if (code != TOOL_OK) {
            return code;
        }
    }
}
