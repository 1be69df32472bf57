/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Asks the communicator of a job what it would choose, and prints that as a table or JSON. All
 * ranks answer; rank 0 prints, and the answers are compared. */
#include "tools/why.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/plural.h"
#include "tools/args.h"
#include "tools/job.h"
#include "tools/json.h"
#include "tools/plan_price.h"
#include "tools/price_head.h"
#include "tools/tool.h"
#include "tools/values.h"
#include "tools/why_rows.h"

typedef struct why_request {
    weft_coll_t coll;
    weft_dtype_t dtype;
    weft_op_t op;
    int64_t root, processes;
    why_sizes_t sizes;
    bool json, windows;
    tool_settings_t settings;
} why_request_t;

enum { WHY_WINDOWS = 1 };

static const tool_option_t options_table[] = {
    {'P', "processes", "N", "ask for N ranks on this machine (no launcher needed)", 'P'},
    {'b', "minbytes", "SIZE", "first size, of the block of one rank [8]", 'b'},
    {'e', "maxbytes", "SIZE", "last size [64M]", 'e'},
    {'f', "stepfactor", "X", "look at sizes so far apart; borders are sought between [2]", 'f'},
    {'d', "datatype", "NAME", "int8, uint8, … float or fp32, double, bf16, f8e4m3 [float]", 'd'},
    {'r', "root", "RANK", "root of rooted collectives, peer of send_recv [0, of send_recv 1]", 'r'},
    {'A', "algo", "NAME[:X=Y]", "ask of this algorithm: --set plan.algo=NAME --set NAME.X=Y",
     TOOL_OPT_ALGO},
    {0, "windows", NULL, "of a communicator that has a window", WHY_WINDOWS},
    TOOL_OPTIONS_CONFIG,
    {0, "json", NULL, "print JSON", TOOL_OPT_JSON},
    {'h', "help", NULL, "this text", 'h'},
    {0, NULL, NULL, NULL, 0},
};

/* "2 × 16 KiB". */
static void why_slices_text(const why_row_t *row, char *text, size_t bytes)
{
    char first[24], last[24];
    const weft_tuner_choice_t *a = &row->choices[0].tuner, *b = &row->choices[1].tuner;
    price_size_text(a->slice_bytes, first);
    price_size_text(b->slice_bytes, last);
    snprintf(text, bytes, a->slice_bytes == b->slice_bytes ? "%u x %s" : "%u x %s ... %s",
             a->slices, first, last);
}

static const char *why_decided(const weft_select_choice_t *choice)
{
    return choice->tuner.rule[0] != '\0' ? choice->tuner.rule
           : strstr(choice->tuner.reason, "preferred by the configuration") != NULL
               ? "[tuner] prefer"
               : "model";
}

static void why_print_row(const why_row_t *row, uint64_t element)
{
    char from[24], to[24], first[24], last[24], slices[64], next[96] = "-", time[24];
    const weft_select_choice_t *a = &row->choices[0], *b = &row->choices[1];
    why_slices_text(row, slices, sizeof slices);
    if (b->next != NULL) {
        snprintf(next, sizeof next, "%.40s %s", b->next,
                 price_time_text(b->tuner.next_seconds, time));
    }
    printf("%10s %10s  %-13s %8u  %-24s %-8s %10s %10s  %-24s  %s\n",
           price_size_text(row->counts[0] * element, from),
           price_size_text(row->counts[1] * element, to), a->algo, a->tuner.channels, slices,
           a->travel, price_time_text(a->seconds, first), price_time_text(b->seconds, last), next,
           why_decided(a));
}

static void why_print_table(const why_request_t *request, const weft_comm_figures_t *figures,
                            const why_rows_t *rows)
{
    char alpha[24], more[24];
    printf("# %s of %s, %u ranks on %u host%s\n", weft_coll_name(request->coll),
           weft_dtype_name(request->dtype), figures->nranks, figures->nhosts,
           weft_plural(figures->nhosts));
    for (uint32_t l = 0; l < WEFT_LEVELS; l++) {
        const weft_cost_edge_t *edge = &figures->model.level[l];
        if (figures->net[l][0] != '\0') {
            bool devices = l == WEFT_LEVEL_INSIDE && figures->path != NULL;
            printf("# %s: %s%s%s, %s a message, %s a further one, %.4g GB/s",
                   l == WEFT_LEVEL_INSIDE ? "inside a host" : "between hosts",
                   devices ? figures->kernel : figures->net[l], devices ? " " : "",
                   devices ? figures->path : "", price_time_text(edge->alpha, alpha),
                   price_time_text(edge->overhead, more), 1e-9 / edge->beta);
            if (edge->together > 0) {
                printf(", %.4g GB/s of all channels", 1e-9 / edge->together);
            }
            printf("\n");
        }
    }
    price_head_protocols(&figures->model, "# ");
    if (figures->model.launch > 0) {
        printf("# a launch: %s\n", price_time_text(figures->model.launch, alpha));
    }
    printf("# sizes are those of one rank's block; times by the model for the first and the last; "
           "next best at the last\n#%9s %10s  %-13s %8s  %-24s %-8s %10s %10s  %-24s  %s\n",
           "from", "to", "algorithm", "channels", "slices", "protocol", "time", "to", "next best",
           "decided by");
    for (uint32_t i = 0; i < rows->count; i++) {
        why_print_row(&rows->list[i], weft_dtype_size(request->dtype));
    }
    printf("# all %u ranks answer alike\n", figures->nranks);
}

static void why_put_row(json_t *json, const why_row_t *row, uint64_t element)
{
    const weft_select_choice_t *a = &row->choices[0], *b = &row->choices[1];
    json_open(json, NULL, '{');
    json_unsigned(json, "from", row->counts[0] * element);
    json_unsigned(json, "to", row->counts[1] * element);
    json_string(json, "algorithm", a->algo);
    json_unsigned(json, "channels", a->tuner.channels);
    json_unsigned(json, "slices", a->tuner.slices);
    json_unsigned(json, "slice_bytes_from", a->tuner.slice_bytes);
    json_unsigned(json, "slice_bytes_to", b->tuner.slice_bytes);
    json_string(json, "protocol", a->travel);
    json_real(json, "seconds_from", a->seconds);
    json_real(json, "seconds_to", b->seconds);
    json_string(json, "next", b->next != NULL ? b->next : "");
    json_real(json, "next_seconds", b->next != NULL ? b->tuner.next_seconds : 0);
    json_string(json, "decided_by", why_decided(a));
    json_string(json, "reason", b->tuner.reason);
    json_close(json, '}');
}

static void why_put_json(const why_request_t *request, const weft_comm_figures_t *figures,
                         const why_rows_t *rows)
{
    json_t json = {.out = stdout};
    json_open(&json, NULL, '{');
    json_string(&json, "collective", weft_coll_name(request->coll));
    json_string(&json, "datatype", weft_dtype_name(request->dtype));
    json_unsigned(&json, "nranks", figures->nranks);
    json_unsigned(&json, "nhosts", figures->nhosts);
    json_open(&json, "ranges", '[');
    for (uint32_t i = 0; i < rows->count; i++) {
        why_put_row(&json, &rows->list[i], weft_dtype_size(request->dtype));
    }
    json_close(&json, ']');
    json_close(&json, '}');
}

/* Every rank must come to the same table: rank 0 compares. Messages need no algorithm, and the one
 * that is asked about may be the only one that is allowed. */
static weft_status_t why_compare(weft_comm_t *comm, uint32_t rank, uint32_t nranks,
                                 const why_rows_t *rows)
{
    uint64_t mine = why_rows_hash(rows);
    if (rank != 0) {
        return weft_send(&mine, 1, WEFT_UINT64, 0, comm, NULL);
    }
    uint64_t *all = calloc(nranks, sizeof *all);
    if (all == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for the answers of %u ranks", nranks);
    }
    weft_status_t status = weft_group_start();
    for (uint32_t i = 1; i < nranks && status == WEFT_OK; i++) {
        status = weft_recv(&all[i], 1, WEFT_UINT64, i, comm, NULL);
    }
    weft_status_t ended = weft_group_end();
    status = status == WEFT_OK ? ended : status;
    for (uint32_t i = 1; i < nranks && status == WEFT_OK; i++) {
        if (all[i] != mine) {
            status = weft_fail(WEFT_ERR_STATE, 0, "rank %u would choose otherwise", i);
        }
    }
    free(all);
    return status;
}

static weft_status_t why_ask(weft_comm_t *comm, const why_request_t *request, uint32_t rank)
{
    weft_comm_figures_t figures;
    why_rows_t rows = {.list = calloc(WHY_ROWS_MAX, sizeof *rows.list)};
    weft_args_t call = {.coll = request->coll,
                        .dtype = request->dtype,
                        .op = request->op,
                        .root = (uint32_t)request->root};
    if (rows.list == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for a table");
    }
    weft_status_t status = weft_comm_figures(comm, &figures);
    if (status == WEFT_OK && call.root >= figures.nranks) {
        status = weft_fail(WEFT_ERR_ARG, 0, "--root %u, but the ranks are 0 to %u", call.root,
                           figures.nranks - 1);
    }
    status = status != WEFT_OK ? status : why_rows_make(comm, &call, &request->sizes, &rows);
    status = status != WEFT_OK ? status : why_compare(comm, rank, figures.nranks, &rows);
    if (status == WEFT_OK && rank == 0) {
        (request->json ? why_put_json : why_print_table)(request, &figures, &rows);
    }
    free(rows.list);
    return status;
}

/* Asks beside a window of one page, where that is wanted. */
static weft_status_t why_ask_beside(weft_comm_t *comm, const why_request_t *request, uint32_t rank)
{
    enum { BYTES = 4096 };
    void *memory = NULL;
    weft_window_t *window = NULL;
    if (!request->windows) {
        return why_ask(comm, request, rank);
    }
    weft_status_t status = weft_mem_alloc_device(comm, BYTES, &memory);
    if (status == WEFT_OK) {
        status = weft_window_register(comm, memory, BYTES, &window);
    }
    if (status == WEFT_OK) {
        status = why_ask(comm, request, rank);
        weft_status_t ended = weft_window_deregister(comm, window);
        status = status == WEFT_OK ? ended : status;
    }
    if (memory != NULL) {
        weft_mem_free(comm, memory);
    }
    return status;
}

static int why_run(void *arg, uint32_t rank, uint32_t nranks, const weft_unique_id_t *id)
{
    const why_request_t *request = arg;
    weft_comm_t *comm = NULL;
    weft_comm_options_t options = tool_settings_options(&request->settings);
    weft_status_t status = weft_comm_init_rank(&comm, nranks, id, rank, &options);
    if (status == WEFT_OK) {
        status = why_ask_beside(comm, request, rank);
    }
    int code = status == WEFT_OK ? TOOL_OK
               : rank == 0       ? tool_report(status)
                                 : tool_exit_code(status);
    if (comm != NULL) {
        weft_comm_destroy(comm);
    }
    return code;
}

static void why_print_help(void)
{
    printf(
        "usage: weft why COLLECTIVE [options]\n\n"
        "Tells which algorithm serves which sizes in this job, on how many channels and in what\n"
        "slices, what time the model predicts, what would be second best, and which rule of the\n"
        "configuration decided. Ranks come from -P or from a launcher.\n\nOptions:\n");
    tool_options_print(options_table, stdout);
    printf("\nTry: weft why all_reduce -P 4 -b 8 -e 64M\n");
}

static bool why_take(why_request_t *request, int id, const char *text)
{
    int dtype;
    switch (id) {
    case TOOL_ARGS_OPERAND:
        if (request->coll != WEFT_COLL_COUNT) {
            (void)tool_usage("'%s' is one name too many", text);
            return false;
        }
        dtype = tool_parse_coll(text, NULL);
        request->coll = dtype >= 0 ? (weft_coll_t)dtype : WEFT_COLL_COUNT;
        return dtype >= 0;
    case 'P':
        return tool_parse_integer("--processes", text, 2, 1024, &request->processes);
    case 'b':
        return tool_parse_size("--minbytes", text, &request->sizes.first);
    case 'e':
        return tool_parse_size("--maxbytes", text, &request->sizes.last);
    case 'f':
        return tool_parse_real("--stepfactor", text, 1.01, &request->sizes.factor);
    case 'r':
        return tool_parse_integer("--root", text, 0, INT32_MAX, &request->root);
    case 'd':
        dtype = tool_parse_dtype(text, NULL);
        request->dtype = dtype >= 0 ? (weft_dtype_t)dtype : WEFT_FP32;
        return dtype >= 0;
    case TOOL_OPT_JSON:
        request->json = true;
        return true;
    case WHY_WINDOWS:
        request->windows = true;
        return true;
    default:
        return tool_settings_take(&request->settings, id, text);
    }
}

int tool_why(int argc, char **argv)
{
    why_request_t request = {.coll = WEFT_COLL_COUNT,
                             .dtype = WEFT_FP32,
                             .op = WEFT_SUM,
                             .root = -1,
                             .sizes = {.first = 8, .last = UINT64_C(64) << 20, .factor = 2}};
    tool_args_t args = {.options = options_table, .argc = argc, .argv = argv, .at = 1};
    for (int id = tool_args_next(&args); id != TOOL_ARGS_END; id = tool_args_next(&args)) {
        if (id == 'h') {
            why_print_help();
            return TOOL_OK;
        }
        if (id == TOOL_ARGS_ERROR || !why_take(&request, id, args.value)) {
            return TOOL_USAGE;
        }
    }
    if (request.coll == WEFT_COLL_COUNT) {
        return tool_usage("which collective? Try: weft why all_reduce -P 4 -b 8 -e 64M");
    }
    if (request.sizes.first > request.sizes.last) {
        return tool_usage("--minbytes is larger than --maxbytes");
    }
    request.root = request.root >= 0 ? request.root : request.coll == WEFT_SEND_RECV ? 1 : 0;
    tool_job_t job = {.processes = request.processes,
                      .settings = &request.settings,
                      .run = why_run,
                      .arg = &request};
    return tool_job_run(&job);
}
