/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft perf`: what a measurement is made of: options, cases, samples, ranks. */
#ifndef WEFT_TOOLS_PERF_JOB_H
#define WEFT_TOOLS_PERF_JOB_H

#include "tools/holdings_summary.h"
#include "tools/json.h"
#include "tools/perf_device.h"
#include "tools/perf_layout.h"
#include "tools/tool.h"

/* What the algorithms in use do not serve. */
typedef struct perf_support {
    char unserved[WEFT_COLL_COUNT][384]; /* with `all`: why a collective is left out, or "" */
    bool forced;                         /* [plan] algo allows one algorithm only */
    bool by_hand;                        /* it serves no all-reduce: ranks meet by messages */
} perf_support_t;

/* -b, -e, -i, -f: bytes of the measured buffers. */
typedef struct perf_sizes {
    uint64_t min_bytes, max_bytes, step_bytes;
    double step_factor;
    uint64_t span; /* bytes through which the buffers of small sizes move, at least max_bytes */
} perf_sizes_t;

/* How a case is repeated and its calls are issued. */
typedef struct perf_loop {
    int64_t iters, agg_iters, warmup_iters, cycles;
    int64_t per_iter, per_iter_skip; /* -I, -K */
    bool stats;
    int64_t blocking;
    int64_t graphs;      /* -G: launches of a captured graph of the iterations; 0: no capture */
    int64_t null_stream; /* -y */
} perf_loop_t;

typedef struct perf_output {
    int64_t cpu_time, timestamps, average;
    const char *json_file;
    bool json_stdout;
    double min_bandwidth;
    bool model; /* what the cost model predicts, too */
} perf_output_t;

typedef struct perf_options {
    char program[32]; /* name under which it was called, e.g. "all_reduce_perf" */
    int argc;
    char **argv;
    weft_coll_t coll;    /* WEFT_COLL_COUNT with `every` */
    bool every;          /* all collectives in turn */
    int64_t processes;   /* -P; 0 = not given */
    int64_t threads;     /* -t */
    int64_t gpus;        /* -g: ranks per thread, each a thread of its own */
    char device_key[64]; /* "section.key" that chooses the kernel's device; "": the user did */
    perf_sizes_t sizes;
    perf_loop_t loop;
    int64_t parallel_init, check, root;
    int op, dtype; /* -1 = all; op may be WEFT_OP_USER */
    perf_pattern_t pattern;
    double timeout;
    int64_t registration, memory, unalign;
    perf_output_t output;
    perf_support_t support; /* as far as it is known before the ranks start */
    tool_settings_t settings;
} perf_options_t;

/* One measured call. */
typedef struct perf_case {
    weft_coll_t coll;
    weft_dtype_t dtype;
    weft_op_t op;
    uint32_t root;
    uint64_t count;  /* argument of the call; of a vector collective, its largest block */
    uint64_t size;   /* bytes shown: of the largest send or receive buffer */
    uint64_t stride; /* bytes between the buffers of two iterations */
    bool in_place;
    double model; /* seconds that the cost model predicts; −1: it was not asked, or cannot say */
    const perf_layout_t *layout;
} perf_case_t;

/* Times of single iterations, in seconds. */
typedef struct perf_spread {
    double min, p50, p90, p99, max, deviation, mean;
} perf_spread_t;

/* Times in seconds, combined over the ranks. */
typedef struct perf_sample {
    double time;
    double device_time;    /* between two events of the stream; −1: not measured */
    perf_spread_t own;     /* -I: of each rank's iterations, combined as -a says */
    perf_spread_t slowest; /* --stats: of the slowest rank's time of each iteration */
    double wrong;          /* −1: not checked */
    bool absent;           /* the collective has no in-place form: nothing was measured */
} perf_sample_t;

/* What the rows of one collective, or all, come to. */
typedef struct perf_total {
    uint64_t rows;
    double bandwidth_sum;
    uint64_t bandwidth_count;
    double wrong;
} perf_total_t;

typedef struct perf_rank perf_rank_t;

/* The printing rank's output: the table on stdout or JSON there, and the JSON file. */
typedef struct perf_report {
    const perf_options_t *options;
    const perf_support_t *support;
    bool table;
    bool progress;
    json_t json[2];
    uint32_t json_count;
    uint32_t nranks;
    perf_total_t all;
    perf_total_t each[WEFT_COLL_COUNT];
    char start[32];
} perf_report_t;

/* One rank of the job in this process. */
struct perf_rank {
    const perf_options_t *options;
    weft_comm_t *comm;
    uint32_t rank, nranks;
    uint32_t local; /* number of the rank on its host */
    perf_report_t *report;
    uint64_t max_bytes;
    uint64_t span; /* bytes of a buffer that the iterations move through */
    perf_device_t device;
    uint8_t *send, *recv; /* buffers, with the misalignment of -u added for each test */
    uint8_t *piece;       /* PERF_PIECE bytes that the host can touch; NULL on host memory */
    uint64_t buffer_bytes;
    weft_mem_region_t *regions[2];
    weft_window_t *windows[2];
    double *samples; /* room for two numbers per iteration; NULL without -I and --stats */
    weft_op_t user_op;
    perf_support_t support;
    uint64_t wrong;          /* seen by this rank itself */
    uint64_t memory[3];      /* bytes by which the process has grown: join, buffers, calls */
    holdings_summary_t held; /* -M: of all ranks, after the last call */
    int exit_code;
};

#endif
