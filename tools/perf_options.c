/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Options of `weft perf`: those of nccl-tests and a few more. */
#include "tools/perf_options.h"

#include <stdlib.h>
#include <string.h>

#include "core/config/env.h"
#include "tools/args.h"
#include "tools/perf_job.h"
#include "tools/perf_names.h"
#include "tools/tool.h"
#include "tools/values.h"

static const tool_option_t options_table[] = {
    {'P', "processes", "N", "fork N ranks on this machine (no launcher needed)", 'P'},
    {'t', "nthreads", "N", "threads per process, each a rank [1]", 't'},
    {'g', "ngpus", "N", "devices per thread, a rank each; on host memory as -t times N [1]", 'g'},
    {'b', "minbytes", "SIZE", "first size [32M]", 'b'},
    {'e', "maxbytes", "SIZE", "last size [32M]", 'e'},
    {'i', "stepbytes", "SIZE", "add this for the next size [1M]", 'i'},
    {'f', "stepfactor", "X", "multiply for the next size; wins over -i [off]", 'f'},
    {'n', "iters", "N", "timed iterations [20]", 'n'},
    {'m', "agg_iters", "N", "operations started together in one iteration [1]", 'm'},
    {'w', "warmup_iters", "N", "warm-up iterations per size [1]", 'w'},
    {'N', "run_cycles", "N", "repeat the table N times, 0 = for ever [1]", 'N'},
    {'p', "parallel_init", "0/1", "no effect: ranks always join in parallel", 'p'},
    {'c', "check", "N", "verification runs, 0 = off [1]", 'c'},
    {'o', "op", "NAME",
     "sum, prod, min, max, avg, mulsum, band, bor, bxor, all of them, or user [sum]", 'o'},
    {'d', "datatype", "NAME", "int8, uint8, … float or fp32, double, bf16, f8e4m3 or all [float]",
     'd'},
    {'r', "root", "RANK", "root of rooted collectives; -1 or all = each in turn [0]", 'r'},
    {'z', "blocking", "0-3", "1 and 3: barrier after each iteration, 3 leaves it untimed [0]", 'z'},
    {'y', "stream_null", "0/1", "device: calls go into the null stream [0]", 'y'},
    {'T', "timeout", "SECONDS", "give up an operation after this time, exit code 4 [off]", 'T'},
    {'G', "cudagraph", "N", "device: record the iterations, replay them N times [0]", 'G'},
    {'C', "report_cputime", "0/1", "time what it takes to start operations [0]", 'C'},
    {'S', "report_timestamps", "0/1", "add a column with the time of day [0]", 'S'},
    {'J', "output_file", "FILE.json", "write JSON too", 'J'},
    {'a', "average", "0-3", "time of rank 0, average, least, most of the ranks [1]", 'a'},
    {'R', "local_register", "0-3", "plain, registered, windows, weft_mem_alloc [0]", 'R'},
    {'x', "cta_policy", "N", "no effect", 'x'},
    {'D', "device_implementation", "N", "only 0: there is no API for the caller's kernels", 'D'},
    {'V', "device_cta_count", "N", "no effect", 'V'},
    {'M', "memory", "0/1", "print what memory a rank used [0]", 'M'},
    {'u', "unalign", "N", "shift buffers by N elements [0]", 'u'},
    {'I', "per_iter_timing", "0/1", "add statistics of single iterations [0]", 'I'},
    {'K', "per_iter_skip", "N", "leave out the first N iterations of these [0]", 'K'},
    {0, "pattern", "NAME[:SEED]", "lengths of the blocks of the vector collectives [even]", 'l'},
    {0, "stats", NULL, "times of single iterations: min, percentiles, max, stddev", 'q'},
    {0, "model", NULL, "what the cost model predicts, beside the measured time", 'k'},
    {'A', "algo", "NAME[:X=Y]", "use this algorithm: --set plan.algo=NAME --set NAME.X=Y",
     TOOL_OPT_ALGO},
    {0, "span", "SIZE", "move small buffers through SIZE bytes [maxbytes]", 's'},
    {0, "min-bw", "GB/S", "fail (exit code 7) below 90 % of this average busbw", 'B'},
    TOOL_OPTIONS_CONFIG,
    {0, "json", NULL, "JSON on stdout in place of the table", TOOL_OPT_JSON},
    {'h', "help", NULL, "this text", 'h'},
    {0, NULL, NULL, NULL, 0},
};

enum { RANKS_MOST = 65536 };

/* Whole-number options: where they go and their range. */
typedef struct integer_row {
    int id;
    size_t offset;
    int64_t min, max;
} integer_row_t;

#define ROW(id, field, min, max)                                                                   \
    {                                                                                              \
        id, offsetof(perf_options_t, field), min, max                                              \
    }
static const integer_row_t integers[] = {
    ROW('P', processes, 1, 1024),
    ROW('t', threads, 1, 1024),
    ROW('g', gpus, 1, 1024),
    ROW('n', loop.iters, 0, 1000000000),
    ROW('m', loop.agg_iters, 1, 4096),
    ROW('w', loop.warmup_iters, 0, 1000000000),
    ROW('N', loop.cycles, 0, 1000000000),
    ROW('p', parallel_init, 0, 1),
    ROW('c', check, 0, 1000000),
    ROW('z', loop.blocking, 0, 3),
    ROW('C', output.cpu_time, 0, 1),
    ROW('S', output.timestamps, 0, 1),
    ROW('a', output.average, 0, 3),
    ROW('R', registration, 0, 3),
    ROW('M', memory, 0, 1),
    ROW('u', unalign, 0, 1 << 20),
    ROW('I', loop.per_iter, 0, 1),
    ROW('K', loop.per_iter_skip, 0, 1000000000),
    ROW('G', loop.graphs, 0, 1000000),
    ROW('y', loop.null_stream, 0, 1),
};
#undef ROW

static const char *const op_names[] = {
#define NAME(value, name, text) [value] = text,
    WEFT_OP_MAP(NAME)
#undef NAME
        [WEFT_OP_COUNT] = "all",
    "user", NULL};

static const char *perf_options_option_name(int id)
{
    const tool_option_t *o = options_table;
    while (o->name != NULL && o->id != id) {
        o++;
    }
    return o->name != NULL ? o->name : "option";
}

static int perf_options_take_integer(perf_options_t *options, const integer_row_t *row,
                                     const char *text)
{
    char what[48];
    int64_t value;
    snprintf(what, sizeof what, "--%s", perf_options_option_name(row->id));
    if (!tool_parse_integer(what, text, row->min, row->max, &value)) {
        return TOOL_USAGE;
    }
    memcpy((char *)options + row->offset, &value, sizeof value);
    return TOOL_OK;
}

/* Options of nccl-tests that weft has no use for. */
static int perf_options_take_foreign_option(int id, const char *text)
{
    int64_t value;
    char what[48];
    snprintf(what, sizeof what, "--%s", perf_options_option_name(id));
    if (!tool_parse_integer(what, text, 0, INT32_MAX, &value)) {
        return TOOL_USAGE;
    }
    if (value != 0 && id == 'D') {
        fprintf(stderr, "weft: %s: weft %s has no API for kernels of the caller\n", what,
                weft_version());
        return TOOL_UNIMPLEMENTED;
    }
    if (value != 0) {
        fprintf(stderr, "weft: note: %s has no effect\n", what);
    }
    return TOOL_OK;
}

static int perf_options_take_dtype(perf_options_t *options, const char *text)
{
    int dtype = tool_parse_dtype(text, "all");
    options->dtype = dtype == WEFT_DTYPE_COUNT ? -1 : dtype;
    return dtype < 0 ? TOOL_USAGE : TOOL_OK;
}

static int perf_options_take_op(perf_options_t *options, const char *text)
{
    int op = tool_parse_name("operator", text, op_names);
    options->op = op == WEFT_OP_COUNT ? -1 : op > WEFT_OP_COUNT ? WEFT_OP_USER : op;
    return op < 0 ? TOOL_USAGE : TOOL_OK;
}

static int perf_options_take_json_file(perf_options_t *options, const char *text)
{
    size_t length = strlen(text);
    if (length < 6 || strcmp(text + length - 5, ".json") != 0) {
        return tool_usage("--output_file wants a name that ends in .json, got '%s'", text);
    }
    options->output.json_file = text;
    return TOOL_OK;
}

static int perf_options_take_root(perf_options_t *options, const char *text)
{
    if (strcmp(text, "all") == 0) {
        options->root = -1;
        return TOOL_OK;
    }
    return tool_parse_integer("--root", text, -1, INT32_MAX, &options->root) ? TOOL_OK : TOOL_USAGE;
}

static int perf_options_ok_if(bool good)
{
    return good ? TOOL_OK : TOOL_USAGE;
}

static int perf_options_take_option(perf_options_t *options, int id, const char *text)
{
    for (size_t i = 0; i < sizeof integers / sizeof integers[0]; i++) {
        if (integers[i].id == id) {
            return perf_options_take_integer(options, &integers[i], text);
        }
    }
    switch (id) {
    case 'b':
        return perf_options_ok_if(tool_parse_size("--minbytes", text, &options->sizes.min_bytes));
    case 'e':
        return perf_options_ok_if(tool_parse_size("--maxbytes", text, &options->sizes.max_bytes));
    case 'i':
        return perf_options_ok_if(tool_parse_size("--stepbytes", text, &options->sizes.step_bytes));
    case 's':
        return perf_options_ok_if(tool_parse_size("--span", text, &options->sizes.span));
    case 'f':
        return perf_options_ok_if(
            tool_parse_real("--stepfactor", text, 1, &options->sizes.step_factor));
    case 'T':
        return perf_options_ok_if(tool_parse_real("--timeout", text, 0, &options->timeout));
    case 'B':
        return perf_options_ok_if(
            tool_parse_real("--min-bw", text, 0, &options->output.min_bandwidth));
    case 'o':
        return perf_options_take_op(options, text);
    case 'd':
        return perf_options_take_dtype(options, text);
    case 'l':
        return perf_options_ok_if(perf_pattern_parse(text, &options->pattern));
    case 'q':
        options->loop.stats = true;
        return TOOL_OK;
    case 'k':
        options->output.model = true;
        return TOOL_OK;
    case 'r':
        return perf_options_take_root(options, text);
    case 'J':
        return perf_options_take_json_file(options, text);
    case TOOL_OPT_JSON:
        options->output.json_stdout = true;
        return TOOL_OK;
    case TOOL_OPT_CONF:
    case TOOL_OPT_SET:
    case TOOL_OPT_ALGO:
        return perf_options_ok_if(tool_settings_take(&options->settings, id, text));
    default:
        return perf_options_take_foreign_option(id, text);
    }
}

static void perf_options_print_help(void)
{
    printf("usage: weft perf COLLECTIVE [options]\n"
           "       COLLECTIVE_perf [options]\n\n"
           "Measures a collective and checks its results, on host memory or on that of the device\n"
           "that the kernel computes on. Ranks come from -P, from -t, or from a launcher such as\n"
           "mpirun, srun or torchrun.\n\n");
    perf_names_print(stdout);
    printf("\nOptions:\n");
    tool_options_print(options_table, stdout);
    printf("\nExit codes: 0 good, 3 library error, 4 timeout, 5 not possible here,\n"
           "6 wrong usage, 7 wrong results or too little bandwidth.\n\n"
           "Try: weft perf all_reduce -P 4 -b 8 -e 16M -f 4\n"
           "     weft perf all_reduce -P 2 -G 10 --set core.kernel=kernel-cuda\n"
           "     weft perf all_to_all_v -P 4 -b 1M -e 1M --pattern zipf --stats\n"
           "     weft perf all -P 4 -b 64K -e 64K\n");
}

static int perf_options_read_environment(perf_options_t *options)
{
    const char *floor = weft_env("NCCL_TESTS_MIN_BW");
    if (weft_env("NCCL_TESTS_SPLIT") != NULL || weft_env("NCCL_TESTS_SPLIT_MASK") != NULL) {
        fprintf(stderr, "weft: NCCL_TESTS_SPLIT is set, but weft perf runs one communicator\n");
        return TOOL_UNIMPLEMENTED;
    }
    if (weft_env("NCCL_TESTS_ALLTOALLV_SPREAD") != NULL ||
        weft_env("NCCL_TESTS_ALLTOALLV_MATRIX_FILE") != NULL) {
        fprintf(stderr, "weft: NCCL_TESTS_ALLTOALLV_… is set, but weft perf takes --pattern\n");
        return TOOL_UNIMPLEMENTED;
    }
    if (floor != NULL &&
        !tool_parse_real("NCCL_TESTS_MIN_BW", floor, 0, &options->output.min_bandwidth)) {
        return TOOL_USAGE;
    }
    return TOOL_OK;
}

static int perf_options_check_ranks(const perf_options_t *options)
{
    const int64_t processes = options->processes > 0 ? options->processes : 1;
    const int64_t ranks = processes * options->threads * options->gpus;
    return ranks <= RANKS_MOST
               ? TOOL_OK
               : tool_usage(
                     "-P %lld, -t %lld and -g %lld are %lld ranks, at most %d can be started",
                     (long long)processes, (long long)options->threads, (long long)options->gpus,
                     (long long)ranks, RANKS_MOST);
}

static int perf_options_check_together(const perf_options_t *options)
{
    if (options->coll == WEFT_COLL_COUNT && !options->every) {
        return tool_usage("which collective? Try: weft perf all_reduce -P 4 -b 8 -e 16M -f 4");
    }
    if (options->sizes.min_bytes > options->sizes.max_bytes) {
        return tool_usage("--minbytes %llu is larger than --maxbytes %llu; both are 32M by default",
                          (unsigned long long)options->sizes.min_bytes,
                          (unsigned long long)options->sizes.max_bytes);
    }
    if (options->sizes.step_factor <= 1 && options->sizes.step_bytes == 0 &&
        options->sizes.min_bytes < options->sizes.max_bytes) {
        return tool_usage("--stepbytes 0 never reaches --maxbytes");
    }
    if (perf_options_check_ranks(options) != TOOL_OK) {
        return TOOL_USAGE;
    }
    if ((options->loop.per_iter != 0 || options->loop.stats) &&
        options->loop.per_iter_skip >= options->loop.iters) {
        return tool_usage("--per_iter_skip leaves no iteration");
    }
    if (options->loop.graphs > 0 && (options->loop.blocking != 0 || options->loop.per_iter != 0 ||
                                     options->loop.stats || options->loop.null_stream != 0)) {
        return tool_usage("--cudagraph records the iterations: it does not go with --blocking, "
                          "--per_iter_timing, --stats or --stream_null");
    }
    return TOOL_OK;
}

/* −1: a name that was reported already, or none. */
static int perf_options_take_coll(perf_options_t *options, int coll)
{
    options->coll = coll >= 0 ? (weft_coll_t)coll : WEFT_COLL_COUNT;
    options->every = coll == WEFT_COLL_COUNT;
    return coll >= 0 ? TOOL_OK : TOOL_USAGE;
}

static int perf_options_read_arguments(perf_options_t *options, int argc, char **argv, bool *done)
{
    tool_args_t args = {.options = options_table, .argc = argc, .argv = argv, .at = 1};
    for (;;) {
        int id = tool_args_next(&args);
        int code = TOOL_OK;
        if (id == TOOL_ARGS_END) {
            return TOOL_OK;
        }
        if (id == 'h') {
            perf_options_print_help();
            *done = true;
            return TOOL_OK;
        }
        if (id == TOOL_ARGS_OPERAND && options->coll == WEFT_COLL_COUNT && !options->every) {
            code = perf_options_take_coll(options, perf_coll_parse(args.value));
        } else if (id == TOOL_ARGS_OPERAND) {
            code = tool_usage("'%s' is one name too many", args.value);
        } else {
            code = id == TOOL_ARGS_ERROR ? TOOL_USAGE
                                         : perf_options_take_option(options, id, args.value);
        }
        if (code != TOOL_OK) {
            return code;
        }
    }
}

int perf_options_read(perf_options_t *options, int argc, char **argv, bool *done)
{
    *done = false;
    *options = (perf_options_t){
        .argc = argc,
        .argv = argv,
        .threads = 1,
        .gpus = 1,
        .sizes.min_bytes = UINT64_C(32) << 20,
        .sizes.max_bytes = UINT64_C(32) << 20,
        .sizes.step_bytes = UINT64_C(1) << 20,
        .sizes.step_factor = 1,
        .loop.iters = 20,
        .loop.agg_iters = 1,
        .loop.warmup_iters = 1,
        .loop.cycles = 1,
        .check = 1,
        .op = WEFT_SUM,
        .dtype = WEFT_FP32,
        .output.average = 1,
    };
    perf_options_take_coll(options, perf_coll_of_program(argv[0]));
    int code = perf_options_read_environment(options);
    code = code != TOOL_OK ? code : perf_options_read_arguments(options, argc, argv, done);
    if (code != TOOL_OK || *done) {
        return code;
    }
    code = perf_options_check_together(options);
    perf_program_name(options->coll, options->program, sizeof options->program);
    return code;
}
