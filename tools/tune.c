/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See tune.h. Rank 0 keeps the results, and tells the others which points are left. */
#include "tools/tune.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/plural.h"
#include "core/os/os.h"
#include "tools/args.h"
#include "tools/job.h"
#include "tools/tune_edges.h"
#include "tools/tune_fit.h"
#include "tools/tune_plot.h"
#include "tools/tune_points.h"
#include "tools/tune_state.h"
#include "tools/tune_write.h"
#include "tools/values.h"

static const tool_option_t options_table[] = {
    {'P', "processes", "N", "fork N ranks on this machine (no launcher needed)", 'P'},
    {'b', "minbytes", "SIZE", "first size, of the block of one rank [8]", 'b'},
    {'e', "maxbytes", "SIZE", "last size [4M]", 'e'},
    {'f', "stepfactor", "X", "the next size is so many times as large [4]", 'f'},
    {'d', "datatype", "NAME",
     "int8, uint8, … float or fp32, double, bf16, f8e4m3 [float]; the rules name it", 'd'},
    {'n', "rounds", "N", "measurements of each candidate, of which the middle half counts [9]",
     'n'},
    {'t', "time", "SECONDS", "time of one measurement [0.004]", 't'},
    {'O', "output", "FILE.ini", "rules and figures [weft-tuned.ini]; a plot beside it", 'O'},
    {0, "variants", NULL, "measure the best algorithm in other slices and channels, too", 'V'},
    {0, "fresh", NULL, "forget what an interrupted run has measured", 'F'},
    TOOL_OPTIONS_CONFIG,
    {'h', "help", NULL, "this text", 'h'},
    {0, NULL, NULL, NULL, 0},
};

enum { TUNE_OUT_MAX = 480 };

/* What rank 0 alone has. */
typedef struct tune_desk {
    tune_results_t results;
    FILE *state;
    char path[512]; /* of the state */
    uint32_t done, points;
} tune_desk_t;

static uint64_t tune_next_size(const tune_request_t *request, uint64_t bytes)
{
    uint64_t next = (uint64_t)((double)bytes * request->factor);
    return next > bytes ? next : bytes + 1;
}

static uint32_t tune_count_points(const tune_request_t *request)
{
    uint32_t points = 0;
    for (uint32_t coll = 0; coll < WEFT_COLL_COUNT; coll++) {
        for (uint64_t b = request->first; request->colls[coll] && b <= request->last;
             b = tune_next_size(request, b)) {
            points++;
        }
    }
    return points;
}

/* Says what a state file is of: results of another job are of no use, nor are those of other
 * candidates, of which some would not be measured and some could not be used. */
static weft_status_t tune_describe(const tune_rank_t *rank, char *text, size_t bytes)
{
    const char *names[TUNE_CANDIDATES_MAX];
    uint32_t count = 0;
    weft_status_t status = weft_comm_algos(rank->comm, names, &count);
    size_t at = (size_t)snprintf(
        text, bytes, "# weft %s, %u ranks on %u hosts, %s, %s, %s%s", weft_version(), rank->nranks,
        rank->figures.nhosts, rank->figures.net[0], rank->figures.net[1],
        weft_dtype_name(rank->request->dtype), rank->request->variants ? ", variants" : "");
    for (uint32_t i = 0; status == WEFT_OK && i < count && at < bytes; i++) {
        at += (size_t)snprintf(text + at, bytes - at, "%s%s", i > 0 ? " " : ", ", names[i]);
    }
    return status;
}

static void tune_show_progress(const tune_desk_t *desk, weft_coll_t coll, uint64_t bytes)
{
    static const char bar[] = "##############################";
    uint32_t filled = desk->points > 0 ? 30 * desk->done / desk->points : 30;
    if (isatty(STDERR_FILENO)) {
        fprintf(stderr, "\r[%-30.*s] %u of %u: %s of %llu bytes        ", (int)filled, bar,
                desk->done, desk->points, weft_coll_name(coll), (unsigned long long)bytes);
        fflush(stderr);
    }
}

/* Tells all ranks what rank 0 says. */
static weft_status_t tune_tell(const tune_rank_t *rank, uint32_t *word)
{
    return weft_broadcast(word, word, 1, WEFT_UINT32, 0, rank->comm, NULL);
}

static weft_status_t tune_one(tune_rank_t *rank, tune_desk_t *desk, weft_coll_t coll,
                              uint64_t bytes)
{
    tune_result_t results[TUNE_CANDIDATES_MAX];
    uint32_t count = 0, known = 0, failed = 0;
    weft_status_t status = tune_point_list(rank, coll, bytes, results, &count);
    if (status == WEFT_OK && rank->rank == 0) {
        tune_show_progress(desk, coll, bytes);
        known = tune_state_has(&desk->results, results, count);
    }
    status = status != WEFT_OK ? status : tune_tell(rank, &known);
    if (status == WEFT_OK && known == 0) {
        status = tune_point(rank, coll, bytes, results, &count);
        if (status == WEFT_OK && rank->rank == 0) {
            failed = !tune_state_add(desk->state, desk->path, &desk->results, results, count);
        }
        if (status == WEFT_OK) {
            status = tune_tell(rank, &failed);
        }
        if (status == WEFT_OK && failed != 0) {
            status = weft_fail(WEFT_ERR_SYSTEM, 0, "rank 0 cannot write its results");
        }
    }
    desk->done++;
    return status;
}

static weft_status_t tune_all(tune_rank_t *rank, tune_desk_t *desk)
{
    const tune_request_t *request = rank->request;
    weft_status_t status = WEFT_OK;
    desk->points = tune_count_points(request);
    for (uint32_t coll = 0; coll < WEFT_COLL_COUNT; coll++) {
        for (uint64_t b = request->first;
             status == WEFT_OK && request->colls[coll] && b <= request->last;
             b = tune_next_size(request, b)) {
            status = tune_one(rank, desk, (weft_coll_t)coll, b);
        }
    }
    if (rank->rank == 0 && isatty(STDERR_FILENO)) {
        fprintf(stderr, "\r%*s\r", 78, "");
    }
    return status;
}

static bool tune_finish(tune_rank_t *rank, tune_desk_t *desk, tune_figures_t *figures)
{
    tune_errors_t errors[2];
    fclose(desk->state);
    desk->state = NULL;
    tune_results_sort(&desk->results);
    tune_errors_find(&desk->results, false, &errors[0]);
    if (tune_fit(rank, figures, &desk->results) != WEFT_OK) {
        return false;
    }
    tune_errors_find(&desk->results, true, &errors[1]);
    if (!tune_write_ini(rank, figures, &desk->results, errors) ||
        !tune_plot_all(rank, &desk->results)) {
        return false;
    }
    tune_errors_print(stdout, &errors[0], &errors[1]);
    printf("# %zu result%s; rules and figures in %s, results in %s\n", desk->results.count,
           weft_plural(desk->results.count), rank->request->out, desk->path);
    return true;
}

static weft_status_t tune_work(tune_rank_t *rank, tune_desk_t *desk)
{
    char job[TUNE_JOB_MAX];
    uint32_t failed = 0;
    tune_figures_t figures;
    rank->room = tune_room(rank->request, rank->nranks);
    rank->send = calloc(1, rank->room);
    rank->recv = calloc(1, rank->room);
    if (rank->send == NULL || rank->recv == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for buffers");
    }
    weft_status_t status = weft_comm_figures(rank->comm, &rank->figures);
    status = status != WEFT_OK ? status : tune_describe(rank, job, sizeof job);
    if (status == WEFT_OK && rank->rank == 0) {
        snprintf(desk->path, sizeof desk->path, "%s.state", rank->request->out);
        failed =
            !tune_state_open(desk->path, job, rank->request->fresh, &desk->results, &desk->state);
    }
    status = status != WEFT_OK ? status : tune_tell(rank, &failed);
    if (status == WEFT_OK && failed != 0) {
        return weft_fail(WEFT_ERR_SYSTEM, 0, "rank 0 cannot write its results");
    }
    status = status != WEFT_OK ? status : tune_edges_measure(rank, &figures);
    status = status != WEFT_OK ? status : tune_candidates_open(rank);
    status = status != WEFT_OK ? status : tune_all(rank, desk);
    if (status == WEFT_OK && rank->rank == 0 && !tune_finish(rank, desk, &figures)) {
        status = weft_fail(WEFT_ERR_SYSTEM, 0, "rank 0 cannot write its results");
    }
    return status;
}

static int tune_run(void *arg, uint32_t index, uint32_t nranks, const weft_unique_id_t *id)
{
    tune_rank_t rank = {.request = arg, .rank = index, .nranks = nranks};
    tune_desk_t desk = {.done = 0};
    weft_comm_options_t options = tool_settings_options(&rank.request->settings);
    weft_status_t status = weft_comm_init_rank(&rank.comm, nranks, id, index, &options);
    status = status != WEFT_OK ? status : tune_work(&rank, &desk);
    int code = status == WEFT_OK ? TOOL_OK
               : index == 0      ? tool_report(status)
                                 : tool_exit_code(status);
    if (desk.state != NULL) {
        fclose(desk.state);
    }
    tune_candidates_close(&rank);
    if (rank.comm != NULL) {
        weft_comm_destroy(rank.comm);
    }
    free(desk.results.list);
    free(rank.send);
    free(rank.recv);
    return code;
}

static void tune_print_help(void)
{
    printf("usage: weft tune COLLECTIVE... [options]\n\n"
           "Measures the algorithms of the configuration on this job, in turns, and writes an INI\n"
           "file with the figures of the cost model and with rules, and a plot per collective. An\n"
           "interrupted run goes on where it was. Ranks come from -P or from a launcher; `all`\n"
           "stands for all collectives without vectors.\n\nOptions:\n");
    tool_options_print(options_table, stdout);
    printf("\nTry: weft tune all_reduce broadcast -P 4 -e 1M\n");
}

static bool tune_take_coll(tune_request_t *request, const char *text)
{
    int coll = tool_parse_coll(text, "all");
    if (coll >= 0 && coll < WEFT_COLL_COUNT && !tune_serves((weft_coll_t)coll)) {
        (void)tool_usage("%s cannot be tuned: %s", text,
                         coll == WEFT_BARRIER     ? "it is an all_reduce of nothing"
                         : coll == WEFT_SEND_RECV ? "it has no algorithm"
                                                  : "its time depends on more than one size");
        return false;
    }
    for (int i = 0; i < WEFT_COLL_COUNT; i++) {
        request->colls[i] |= i == coll || (coll == WEFT_COLL_COUNT && tune_serves((weft_coll_t)i));
    }
    return coll >= 0;
}

/* Whether nothing is lost if the file is replaced: there is none, or no run has written anything
 * else into it. */
static bool tune_may_replace(const char *path)
{
    char line[256];
    FILE *file = fopen(path, "re");
    bool may = file == NULL || fgets(line, sizeof line, file) == NULL ||
               strncmp(line, TUNE_FIRST_WORDS, strlen(TUNE_FIRST_WORDS)) == 0;
    while (may && file != NULL && fgets(line, sizeof line, file) != NULL) {
        may = line[0] != '[' || strcmp(line, "[figures]\n") == 0 || strcmp(line, "[tuner]\n") == 0;
    }
    if (file != NULL) {
        fclose(file);
    }
    return may;
}

/* Before hours of measuring. The file's name goes on where the state is kept. */
static bool tune_take_out(tune_request_t *request, const char *text)
{
    struct stat found;
    request->out = text;
    if (text[0] == '\0' || strlen(text) > TUNE_OUT_MAX) {
        (void)tool_usage("--output wants the name of a file, at most %d bytes long, got '%.40s'",
                         TUNE_OUT_MAX, text);
        return false;
    }
    if (stat(text, &found) == 0 && S_ISDIR(found.st_mode)) {
        (void)tool_usage("--output %s: a folder, expected the name of a file", text);
        return false;
    }
    if (stat(text, &found) == 0 && S_ISREG(found.st_mode) && !tune_may_replace(text)) {
        (void)tool_usage("--output %s: a file that is not all by weft tune and would be lost; "
                         "expected another name",
                         text);
        return false;
    }
    return true;
}

static bool tune_take(tune_request_t *request, int id, const char *text)
{
    int dtype;
    switch (id) {
    case TOOL_ARGS_OPERAND:
        return tune_take_coll(request, text);
    case 'P':
        return tool_parse_integer("--processes", text, 2, 1024, &request->processes);
    case 'b':
        return tool_parse_size("--minbytes", text, &request->first);
    case 'e':
        return tool_parse_size("--maxbytes", text, &request->last);
    case 'f':
        return tool_parse_real("--stepfactor", text, 1.01, &request->factor);
    case 'n':
        return tool_parse_integer("--rounds", text, 1, 64, &request->rounds);
    case 't':
        return tool_parse_real("--time", text, 0, &request->budget);
    case 'O':
        return tune_take_out(request, text);
    case 'F':
        request->fresh = true;
        return true;
    case 'V':
        request->variants = true;
        return true;
    case 'd':
        dtype = tool_parse_dtype(text, NULL);
        request->dtype = dtype >= 0 ? (weft_dtype_t)dtype : WEFT_FP32;
        request->typed = true;
        return dtype >= 0;
    default:
        return tool_settings_take(&request->settings, id, text);
    }
}

int tool_tune(int argc, char **argv)
{
    tune_request_t request = {.dtype = WEFT_FP32,
                              .rounds = 9,
                              .first = 8,
                              .last = UINT64_C(4) << 20,
                              .factor = 4,
                              .budget = 0.004,
                              .out = "weft-tuned.ini"};
    tool_args_t args = {.options = options_table, .argc = argc, .argv = argv, .at = 1};
    for (int id = tool_args_next(&args); id != TOOL_ARGS_END; id = tool_args_next(&args)) {
        if (id == 'h') {
            tune_print_help();
            return TOOL_OK;
        }
        if (id == TOOL_ARGS_ERROR || !tune_take(&request, id, args.value)) {
            return TOOL_USAGE;
        }
    }
    request.first = request.first > 0 ? request.first : 1;
    if (request.first > request.last) {
        return tool_usage("--minbytes is larger than --maxbytes");
    }
    if (tune_count_points(&request) == 0) {
        return tool_usage("which collective? Try: weft tune all_reduce -P 4 -e 1M");
    }
    tool_job_t job = {.processes = request.processes,
                      .settings = &request.settings,
                      .run = tune_run,
                      .arg = &request};
    return tool_job_run(&job);
}
