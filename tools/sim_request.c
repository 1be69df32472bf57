/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Options of `weft sim`. */
#include <string.h>

#include "tools/sim_request.h"

#include "tools/args.h"
#include "tools/patience.h"
#include "tools/plan_price.h"
#include "tools/session.h"
#include "tools/tool.h"
#include "tools/values.h"

enum {
    SIM_OPT_PER_HOST = 1,
    SIM_OPT_CSV,
    SIM_OPT_SCALE,
    SIM_OPT_SIMGRID,
    SIM_OPT_PLATFORM,
    SIM_OPT_SVG,
    SIM_OPT_VERIFY,
    SIM_OPT_PATIENCE
};

static const tool_option_t options_table[] = {
    {'n', "nranks", "LIST", "ranks: 4,16,64 or 4..65536 [4..1024]; .. goes by factors of 4", 'n'},
    {'A', "algo", "LIST", "algorithms, NAME[:X=Y,…], separated by commas [all that are loaded]",
     'A'},
    {0, "per-host", "N", "ranks on one host [1]", SIM_OPT_PER_HOST},
    {'r', "root", "R", "root of rooted collectives [0]", 'r'},
    {'S', "slots", "N", "depth of the queues [8]", 'S'},
    PRICE_OPTIONS,
    TOOL_OPTION_PATIENCE(SIM_OPT_PATIENCE),
    {0, "svg", "FILE", "draw: time over size, and who is fastest; with --scale: figures over ranks",
     SIM_OPT_SVG},
    {0, "scale", NULL, "figures of the plans: emission, memory, ports, proof", SIM_OPT_SCALE},
    {0, "verify", "N", "with --scale: prove plans of up to N ranks [1024]", SIM_OPT_VERIFY},
    {0, "simgrid", NULL, "run the plans on a network simulated by SimGrid", SIM_OPT_SIMGRID},
    {0, "platform", "FILE", "SimGrid's platform [a fat tree for the ranks]", SIM_OPT_PLATFORM},
    {0, "csv", NULL, "print comma-separated values", SIM_OPT_CSV},
    TOOL_OPTIONS_CONFIG,
    {0, "json", NULL, "print JSON", TOOL_OPT_JSON},
    {'h', "help", NULL, "this text", 'h'},
    {0, NULL, NULL, NULL, 0},
};

static bool sim_request_add_ranks(sim_request_t *request, const char *text)
{
    int64_t value;
    if (!tool_parse_integer("--nranks", text, 2, PLAN_RANKS_MAX, &value)) {
        return false;
    }
    if (request->nranks == SIM_RANKS_MAX) {
        tool_usage("more than %u numbers of ranks", SIM_RANKS_MAX);
        return false;
    }
    request->ranks[request->nranks++] = (uint32_t)value;
    return true;
}

static bool sim_request_add_range(sim_request_t *request, const char *low, const char *high)
{
    int64_t first, last;
    if (!tool_parse_integer("--nranks", low, 2, PLAN_RANKS_MAX, &first) ||
        !tool_parse_integer("--nranks", high, first, PLAN_RANKS_MAX, &last)) {
        return false;
    }
    for (int64_t n = first; n <= last && request->nranks < SIM_RANKS_MAX; n *= 4) {
        request->ranks[request->nranks++] = (uint32_t)n;
    }
    return true;
}

static bool sim_request_take_ranks(sim_request_t *request, const char *text)
{
    request->nranks = 0;
    for (const char *at = text; *at != '\0';) {
        char part[48], *dots;
        size_t length = strcspn(at, ",");
        snprintf(part, sizeof part, "%.*s", (int)length, at);
        dots = strstr(part, "..");
        if (dots != NULL) {
            *dots = '\0';
        }
        if (dots != NULL ? !sim_request_add_range(request, part, dots + 2)
                         : !sim_request_add_ranks(request, part)) {
            return false;
        }
        at += length + (at[length] == ',');
    }
    if (request->nranks == 0) {
        tool_usage("--nranks wants numbers of ranks such as 4,16,64 or 4..65536, got '%s'", text);
    }
    return request->nranks > 0;
}

/* "a,b:x=1,y=2,c": a part with '=' and without ':' belongs to the one before. */
static bool sim_request_take_algos(sim_request_t *request, const char *text)
{
    for (const char *at = text; *at != '\0';) {
        size_t length = strcspn(at, ",");
        bool more = memchr(at, '=', length) != NULL && memchr(at, ':', length) == NULL;
        if (more && request->nspecs > 0) {
            char *spec = request->specs[request->nspecs - 1];
            size_t used = strlen(spec);
            snprintf(spec + used, sizeof request->specs[0] - used, ",%.*s", (int)length, at);
        } else if (request->nspecs == SIM_ALGOS_MAX) {
            tool_usage("more than %u algorithms", SIM_ALGOS_MAX);
            return false;
        } else {
            snprintf(request->specs[request->nspecs++], sizeof request->specs[0], "%.*s",
                     (int)length, at);
        }
        at += length + (at[length] == ',');
    }
    return true;
}

static bool sim_request_take_value(sim_request_t *request, int id, const char *text)
{
    switch (id) {
    case 'n':
        return sim_request_take_ranks(request, text);
    case 'A':
        return sim_request_take_algos(request, text);
    case SIM_OPT_PER_HOST:
        return tool_parse_integer("--per-host", text, 1, PLAN_RANKS_MAX, &request->per_host);
    case 'r':
        return tool_parse_integer("--root", text, 0, PLAN_RANKS_MAX - 1, &request->root);
    case 'S':
        return tool_parse_integer("--slots", text, 2, 1024, &request->slots);
    case SIM_OPT_PATIENCE:
        return tool_patience_read(text, &request->patience);
    case SIM_OPT_VERIFY:
        return tool_parse_integer("--verify", text, 0, 4096, &request->verify_ranks);
    case TOOL_OPT_CONF:
    case TOOL_OPT_SET:
        return tool_settings_take(&request->settings, id, text);
    default:
        return price_option_take(&request->price, id, text);
    }
}

static bool sim_request_take_form(sim_request_t *request, int form)
{
    if (request->form != SIM_TABLE && request->form != form) {
        tool_usage("--csv and --json exclude each other");
        return false;
    }
    request->form = form;
    return true;
}

static bool sim_request_take(sim_request_t *request, int id, const char *text)
{
    switch (id) {
    case TOOL_ARGS_OPERAND: {
        if (request->coll != WEFT_COLL_COUNT) {
            (void)tool_usage("'%s' is one name too many", text);
            return false;
        }
        int coll = tool_parse_coll(text, NULL);
        request->coll = coll < 0 ? WEFT_COLL_COUNT : (weft_coll_t)coll;
        return coll >= 0;
    }
    case TOOL_ARGS_ERROR:
        return false;
    case SIM_OPT_SVG:
        request->svg = text;
        return true;
    case SIM_OPT_PLATFORM:
        request->platform = text;
        return true;
    case SIM_OPT_SCALE:
        request->scale = true;
        return true;
    case SIM_OPT_SIMGRID:
        request->simgrid = true;
        return true;
    case SIM_OPT_CSV:
        return sim_request_take_form(request, SIM_CSV);
    case TOOL_OPT_JSON:
        return sim_request_take_form(request, SIM_JSON);
    default:
        return sim_request_take_value(request, id, text);
    }
}

static int sim_request_check_together(sim_request_t *request)
{
    if (request->coll == WEFT_COLL_COUNT && !request->scale) {
        return tool_usage("which collective? Try: weft sim all_reduce -n 4..1024");
    }
    if (request->coll == WEFT_SEND_RECV) {
        return tool_usage("send_recv has no plan");
    }
    if (request->coll != WEFT_COLL_COUNT) {
        request->coll = weft_coll_base(request->coll);
    }
    for (uint32_t i = 0; i < request->nranks; i++) {
        if (request->root >= request->ranks[i]) {
            return tool_usage("--root %lld is not below %u ranks", (long long)request->root,
                              request->ranks[i]);
        }
    }
    if (request->price.path != WEFT_KERNEL_PATH_COUNT && request->simgrid) {
        return tool_usage("--path does not go with --simgrid, which knows no devices");
    }
    if (request->price.path != WEFT_KERNEL_PATH_COUNT && request->per_host == 1) {
        return tool_usage("--path is between ranks of a host: add --per-host N");
    }
    if (request->svg != NULL && request->simgrid) {
        return tool_usage("--svg does not go with --simgrid");
    }
    if (request->svg != NULL && strcmp(request->svg, "-") == 0) {
        return tool_usage("--svg wants a file: the table goes to standard output");
    }
    if (request->platform != NULL && !request->simgrid) {
        return tool_usage("--platform goes with --simgrid");
    }
    return price_request_check(&request->price);
}

int sim_request_read(sim_request_t *request, int argc, char **argv, bool *done)
{
    tool_args_t args = {.options = options_table, .argc = argc, .argv = argv, .at = 1};
    *done = false;
    *request = (sim_request_t){.coll = WEFT_COLL_COUNT,
                               .ranks = {4, 16, 64, 256, 1024},
                               .nranks = 5,
                               .per_host = 1,
                               .slots = 8,
                               .patience = TOOL_PATIENCE_DEFAULT,
                               .verify_ranks = 1024,
                               .price = PRICE_REQUEST_DEFAULT};
    for (;;) {
        int id = tool_args_next(&args);
        if (id == TOOL_ARGS_END) {
            return sim_request_check_together(request);
        }
        if (id == 'h') {
            printf("usage: weft sim COLLECTIVE [options]\n"
                   "       weft sim --scale [COLLECTIVE] [options]\n\n"
                   "Prices and checks the plans of up to %d ranks without running them.\n\n",
                   PLAN_RANKS_MAX);
            tool_options_print(options_table, stdout);
            *done = true;
            return TOOL_OK;
        }
        if (!sim_request_take(request, id, args.value)) {
            return TOOL_USAGE;
        }
    }
}

int sim_request_fill(sim_request_t *request)
{
    tool_session_t session;
    if (request->nspecs != 0) {
        return TOOL_OK;
    }
    weft_status_t status = tool_session_open(&session, &request->settings);
    if (status != WEFT_OK) {
        return tool_report(status);
    }
    for (uint32_t i = 0; i < SIM_ALGOS_MAX; i++) {
        const weft_loaded_t *loaded = weft_registry_get(session.registry, WEFT_KIND_ALGO, i);
        if (loaded == NULL) {
            break;
        }
        snprintf(request->specs[request->nspecs++], sizeof request->specs[0], "%s",
                 loaded->plugin->name);
    }
    tool_session_close(&session);
    return request->nspecs > 0 ? TOOL_OK
                               : tool_usage("no algorithm is loaded; [core] algo lists them");
}
