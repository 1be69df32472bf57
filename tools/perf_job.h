/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft perf`: options, one rank's measurement, the data, and the two forms of output. */
#ifndef WEFT_TOOLS_PERF_H
#define WEFT_TOOLS_PERF_H

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

typedef struct perf_options {
    char program[32]; /* name under which it was called, e.g. "all_reduce_perf" */
    int argc;
    char **argv;
    weft_coll_t coll;  /* WEFT_COLL_COUNT with `every` */
    bool every;        /* all collectives in turn */
    int64_t processes; /* -P; 0 = not given */
    int64_t threads;   /* -t */
    int64_t gpus;      /* -g: ranks per thread, each a thread of its own */
    char
        device_key[64]; /* "section.key" that chooses the kernel's device, where the user did not */
    uint64_t min_bytes, max_bytes, step_bytes;
    uint64_t span; /* bytes through which the buffers of small sizes move, at least max_bytes */
    double step_factor;
    int64_t iters, agg_iters, warmup_iters, cycles;
    int64_t parallel_init, check, root;
    int op, dtype; /* -1 = all; op may be WEFT_OP_USER */
    perf_pattern_t pattern;
    int64_t blocking;
    double timeout;
    int64_t graphs;      /* -G: replays of a recording of the iterations; 0: no recording */
    int64_t null_stream; /* -y */
    int64_t cpu_time, timestamps, average, registration, memory, unalign;
    int64_t per_iter, per_iter_skip;
    bool stats;
    const char *json_file;
    bool json_stdout;
    double min_bandwidth;
    perf_support_t support; /* as far as it is known before the ranks start */
    tool_settings_t settings;
} perf_options_t;

/* Returns TOOL_OK, or the exit code after the cause was printed. *done is set if --help was asked. */
int perf_options_read(perf_options_t *options, int argc, char **argv, bool *done);

/* Names (perf_names.c): of weft, and where they differ of nccl-tests ("alltoall"). */
/* The collective that `text` names, WEFT_COLL_COUNT for "all", or −1 and one line on stderr. */
int perf_coll_parse(const char *text);
/* The same from "all_reduce_perf" or a path to it; −1 for other names. */
int perf_coll_of_program(const char *program);
/* Writes "alltoall_perf"; "all_perf" for WEFT_COLL_COUNT. */
void perf_program_name(weft_coll_t coll, char *text, size_t bytes);
/* Operator of a row: "sum", "user", or "none" where nothing is reduced. */
const char *perf_op_text(weft_coll_t coll, weft_op_t op);
/* NAME or NAME:SEED. */
bool perf_pattern_parse(const char *text, perf_pattern_t *pattern);
const char *perf_pattern_name(const perf_pattern_t *pattern);
/* Lists for --help. */
void perf_names_print(FILE *out);

/* One measured call. */
typedef struct perf_case {
    weft_coll_t coll;
    weft_dtype_t dtype;
    weft_op_t op;
    uint32_t root;
    uint64_t count;  /* argument of the call; of a v-form, its largest block */
    uint64_t size;   /* bytes shown: of the largest send or receive buffer */
    uint64_t stride; /* bytes between the buffers of two iterations */
    bool in_place;
    const perf_layout_t *layout;
} perf_case_t;

/* Times of single iterations, in seconds. */
typedef struct perf_spread {
    double min, p50, p90, p99, max, deviation, mean;
} perf_spread_t;

/* Times in seconds, combined over the ranks. */
typedef struct perf_sample {
    double time;
    double device_time;    /* between two marks of the stream; −1: not measured */
    perf_spread_t own;     /* -I: of each rank's iterations, combined as -a says */
    perf_spread_t slowest; /* --stats: of the slowest rank's time of each iteration */
    double wrong;          /* −1: not checked */
    bool absent;           /* the collective has no in-place form: nothing was measured */
} perf_sample_t;

/* Who a rank is and what it computes on, for the list of devices. */
typedef struct perf_identity {
    int32_t pid;
    uint32_t on_device;   /* 0: on host memory */
    uint32_t device;      /* as its kernel counts; on host memory its number on the host */
    uint64_t memory_free; /* of the device or the host; or WEFT_BYTES_UNKNOWN */
    char host[56];
    char pci[16]; /* "0000:3b:00" */
    char name[40];
} perf_identity_t;

/* What the rows of one collective, or all, come to. */
typedef struct perf_total {
    uint64_t rows;
    double bandwidth_sum;
    uint64_t bandwidth_count;
    double wrong;
} perf_total_t;

typedef struct perf_rank perf_rank_t;

/* Fills in where the rank computes: a device, or host memory. */
void perf_device_identify(const perf_device_t *device, perf_identity_t *identity);
/* Finds the device, tells the other ranks and hears of theirs (one each in all[]), and sets max_bytes and
 * span to what all have room for; *reduced_p: that is less than was asked for, else 0 (perf_place.c). */
weft_status_t perf_place_find(perf_rank_t *rank, perf_identity_t *all, uint64_t *reduced_p);
/* Ranks that compute on the same device as `one`, with it; 0 on host memory. */
uint32_t perf_place_sharers(const perf_identity_t *all, uint32_t nranks,
                            const perf_identity_t *one);

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

/* Opens the outputs and prints what is known before the first measurement. */
int perf_report_begin(perf_report_t *report, const perf_rank_t *rank, const perf_identity_t *ranks,
                      uint64_t reduced_max);
/* `all` begins with another collective, or leaves one out. */
void perf_report_next(perf_report_t *report, weft_coll_t coll);
void perf_report_progress(perf_report_t *report, const perf_case_t *test);
/* One row. */
void perf_report_row(perf_report_t *report, const perf_case_t *test, const perf_sample_t *out,
                     const perf_sample_t *in);
/* The footer, with the memory of -M (bytes that joining, buffers and collectives took); returns the
 * exit code that the results call for. */
int perf_report_end(perf_report_t *report, const uint64_t memory[3], const char *error);

/* The table's part of these (perf_table.c) and the JSON part (perf_json.c). */
void perf_table_begin(const perf_options_t *options, const perf_identity_t *ranks, uint32_t nranks,
                      uint64_t reduced_max);
void perf_table_row(const perf_options_t *options, uint32_t nranks, const perf_case_t *test,
                    const perf_sample_t *out, const perf_sample_t *in);
void perf_table_next(weft_coll_t coll, const char *unserved);
void perf_table_end(const perf_report_t *report, const uint64_t memory[3], const char *error);
void perf_json_begin(json_t *json, const perf_report_t *report, const perf_identity_t *ranks);
void perf_json_row(json_t *json, const perf_options_t *options, uint32_t nranks,
                   const perf_case_t *test, const perf_sample_t *out, const perf_sample_t *in);
void perf_json_end(json_t *json, const perf_report_t *report, const char *error);
/* Mean busbw of the rows. */
double perf_total_average(const perf_total_t *total);
bool perf_report_bandwidth_ok(const perf_report_t *report);

/* GB/s: bytes that the call is about over time, and what the slowest link must carry. */
double perf_algbw(const perf_case_t *test, double time);
double perf_busbw(const perf_case_t *test, uint32_t nranks, double time);
void perf_timestamp(char *text, size_t bytes);

/* Data: what a rank puts in and must get out. ------------------------------------------------------ */

typedef struct perf_data {
    perf_case_t test;
    uint32_t rank, nranks;
    uint64_t seed;
} perf_data_t;

/* `count` elements of a buffer from number `first` on. */
typedef struct perf_range {
    uint64_t first, count;
} perf_range_t;

/* `piece` holds the elements of the range. */
void perf_data_fill_send(const perf_data_t *data, perf_range_t range, void *piece);
/* Number of elements that differ from what they must be. */
uint64_t perf_data_check_send(const perf_data_t *data, perf_range_t range, const void *piece);
uint64_t perf_data_check_recv(const perf_data_t *data, perf_range_t range, const void *piece);
/* This rank's factor for PREMULSUM; at most 8 bytes. */
void perf_data_scalar(weft_dtype_t dtype, uint32_t rank, void *scalar);

/* Running ------------------------------------------------------------------------------------------- */

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
    uint64_t wrong; /* seen by this rank itself */
    uint64_t memory[3];
    int exit_code;
};

/* Asks the communicator the same, which also knows the hosts and proves the plans. */
void perf_support_refine(perf_rank_t *rank);
/* The whole job of one rank, from the communicator's making to its end. */
void perf_rank_run(perf_rank_t *rank, const weft_unique_id_t *id);
/* Measures and checks one case. */
weft_status_t perf_case_run(perf_rank_t *rank, const perf_case_t *test, uint64_t seed,
                            perf_sample_t *sample);
weft_status_t perf_case_warm_up(perf_rank_t *rank, const perf_case_t *test);
/* One operation on fresh data (perf_check.c); adds this rank's wrong elements to *wrong_p. */
weft_status_t perf_check(perf_rank_t *rank, const perf_case_t *test, uint64_t seed,
                         double *wrong_p);

/* Time that the timed iterations took, in seconds. */
typedef struct perf_lap {
    double wall;   /* from the first one's start to the last one's end */
    double issue;  /* to start them */
    double device; /* between marks before and behind them in the stream; 0 without one */
} perf_lap_t;

/* Iterations in a stream (perf_stream.c). open() and close() do nothing where there are none, and wait()
 * has nothing to wait for. */
weft_status_t perf_stream_open(perf_rank_t *rank);
void perf_stream_close(perf_rank_t *rank);
/* Until all that was put into the stream is done, at most as long as -T says. */
weft_status_t perf_stream_wait(perf_rank_t *rank);
weft_status_t perf_stream_iterate(perf_rank_t *rank, const perf_case_t *test, perf_lap_t *lap);
/* One operation to its end, on a device by way of a recording if -G asks for it. */
weft_status_t perf_stream_once(perf_rank_t *rank, const perf_case_t *test);

/* Buffers of a call; `i` counts iterations. */
typedef struct perf_buffers {
    uint8_t *send, *recv;
} perf_buffers_t;
perf_buffers_t perf_call_buffers(const perf_rank_t *rank, const perf_case_t *test, uint64_t i);
/* One operation. Where there is a stream it is put there; else with `request_p`, PERF_REQUESTS places,
 * it is only started. */
#define PERF_REQUESTS 2u
weft_status_t perf_call_issue(perf_rank_t *rank, const perf_case_t *test, uint64_t i,
                              weft_request_t **request_p);
/* From rank->samples, the ends of the iterations since the begin: the statistics of -I and --stats. */
weft_status_t perf_spread_of_iterations(perf_rank_t *rank, perf_sample_t *sample);

/* What ranks tell each other beside the measurement (perf_sync.c): a reduction of each value; one by
 * `average` as -a says, where 0 takes rank 0's; `bytes` of every rank in the order of ranks. */
weft_status_t perf_reduce(perf_rank_t *rank, double *values, uint32_t count, weft_op_t op);
weft_status_t perf_combine(perf_rank_t *rank, double *values, uint32_t count, int64_t average);
weft_status_t perf_collect(perf_rank_t *rank, const void *mine, uint32_t bytes, void *all);
weft_status_t perf_barrier(perf_rank_t *rank);

/* Buffers as -R says, on the device if the kernel has one. */
weft_status_t perf_memory_alloc(perf_rank_t *rank);
void perf_memory_free(perf_rank_t *rank);
weft_status_t perf_memory_set(perf_rank_t *rank, uint8_t *at, uint8_t value, uint64_t bytes);
/* The bytes of a buffer at `at`, where the host can touch them: itself, or rank->piece, which load()
 * fills and store() writes back. At most perf_memory_room() bytes at a time. */
#define PERF_PIECE (UINT64_C(4) << 20)
uint64_t perf_memory_room(const perf_rank_t *rank, uint64_t bytes);
uint8_t *perf_memory_piece(const perf_rank_t *rank, uint8_t *at);
weft_status_t perf_memory_load(perf_rank_t *rank, const uint8_t *at, uint64_t bytes);
weft_status_t perf_memory_store(perf_rank_t *rank, uint8_t *at, uint64_t bytes);
uint64_t perf_memory_available(void);
uint64_t perf_memory_resident(void);

/* Asks the algorithms which of the wanted collectives they serve on `nranks` ranks (perf_support.c), and
 * the kernel whether it chooses a device. Fills options->support and device_key, or without `every`
 * returns the exit code, after the cause was printed if this process speaks for all. */
int perf_support_check(perf_options_t *options, uint32_t nranks, bool speaks);

/* Starts the ranks of this process, or of all processes with -P. Returns the exit code. */
int perf_ranks_start(perf_options_t *options);

#endif
