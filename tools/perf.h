/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft perf`: options, one rank's measurement, the data, and the two forms of output. */
#ifndef WEFT_TOOLS_PERF_H
#define WEFT_TOOLS_PERF_H

#include "tools/json.h"
#include "tools/tool.h"

typedef struct perf_options {
    const char *program; /* name under which it was called, e.g. "all_reduce_perf" */
    int argc;
    char **argv;
    weft_coll_t coll;
    int64_t processes; /* -P; 0 = not given */
    int64_t threads;   /* -t */
    int64_t gpus;      /* -g: on host memory ranks per thread, each a thread of its own */
    uint64_t min_bytes, max_bytes, step_bytes;
    uint64_t span; /* bytes through which the buffers of small sizes move, at least max_bytes */
    double step_factor;
    int64_t iters, agg_iters, warmup_iters, cycles;
    int64_t parallel_init, check, root;
    int op, dtype; /* -1 = all */
    int64_t blocking;
    double timeout;
    int64_t cpu_time, timestamps, average, registration, memory, unalign;
    int64_t per_iter, per_iter_skip;
    const char *json_file;
    bool json_stdout;
    double min_bandwidth;
    tool_settings_t settings;
} perf_options_t;

/* Returns TOOL_OK, or the exit code after the cause was printed. *done is set if --help was asked. */
int perf_options_read(perf_options_t *options, int argc, char **argv, bool *done);
bool perf_coll_reduces(weft_coll_t coll);
bool perf_coll_rooted(weft_coll_t coll);

/* One measured call. */
typedef struct perf_case {
    weft_coll_t coll;
    weft_dtype_t dtype;
    weft_op_t op;
    uint32_t root;
    uint64_t count;  /* argument of the call */
    uint64_t size;   /* bytes shown: the larger of one rank's send and receive buffer */
    uint64_t stride; /* bytes between the buffers of two iterations */
    bool in_place;
} perf_case_t;

/* Times in seconds, combined over the ranks. */
typedef struct perf_sample {
    double time;
    double least, median, p99, most, variation; /* of single iterations; only with -I */
    double wrong;                               /* −1: not checked */
} perf_sample_t;

/* Who a rank is, for the list of devices. */
typedef struct perf_identity {
    int32_t pid;
    uint32_t device;
    char host[56];
} perf_identity_t;

/* The printing rank's output: the table on stdout or JSON there, and the JSON file. */
typedef struct perf_report {
    const perf_options_t *options;
    bool table;
    bool progress;
    json_t json[2];
    uint32_t json_count;
    uint32_t nranks;
    double bandwidth_sum;
    uint64_t bandwidth_count;
    double wrong;
    char start[32];
} perf_report_t;

/* Opens the outputs and prints what is known before the first measurement. */
int perf_report_begin(perf_report_t *report, const perf_options_t *options,
                      const perf_identity_t *ranks, uint32_t nranks, uint64_t reduced_max);
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
void perf_table_end(const perf_report_t *report, const uint64_t memory[3], const char *error);
void perf_json_begin(json_t *json, const perf_report_t *report, const perf_identity_t *ranks);
void perf_json_row(json_t *json, const perf_options_t *options, uint32_t nranks,
                   const perf_case_t *test, const perf_sample_t *out, const perf_sample_t *in);
void perf_json_end(json_t *json, const perf_report_t *report, const char *error);
double perf_report_average(const perf_report_t *report);
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

/* Elements of the send and the receive buffer of this rank; 0 where it has none. */
uint64_t perf_data_send_count(const perf_data_t *data);
uint64_t perf_data_recv_count(const perf_data_t *data);
void perf_data_fill_send(const perf_data_t *data, void *send);
/* Number of elements that differ from what they must be. */
uint64_t perf_data_check_send(const perf_data_t *data, const void *send);
uint64_t perf_data_check_recv(const perf_data_t *data, const void *recv);
/* This rank's factor for PREMULSUM; at most 8 bytes. */
void perf_data_scalar(weft_dtype_t dtype, uint32_t rank, void *scalar);

/* Running ------------------------------------------------------------------------------------------- */

/* One rank of the job in this process. */
typedef struct perf_rank {
    const perf_options_t *options;
    weft_comm_t *comm;
    uint32_t rank, nranks;
    uint32_t device;      /* number of the rank on its host */
    uint32_t local_ranks; /* ranks that share this host's memory */
    perf_report_t *report;
    uint64_t max_bytes;
    uint64_t span;        /* bytes of a buffer that the iterations move through */
    uint8_t *send, *recv; /* buffers, with the misalignment of -u added for each test */
    uint64_t buffer_bytes;
    weft_region_t *regions[2];
    double *samples;
    uint64_t wrong; /* seen by this rank itself */
    uint64_t memory[3];
    int exit_code;
} perf_rank_t;

/* The whole job of one rank, from the communicator's making to its end. */
void perf_rank_run(perf_rank_t *rank, const weft_unique_id_t *id);
/* Measures and checks one case. */
weft_status_t perf_case_run(perf_rank_t *rank, const perf_case_t *test, uint64_t seed,
                            perf_sample_t *sample);
weft_status_t perf_case_warm_up(perf_rank_t *rank, const perf_case_t *test);

/* Combination over ranks through weft itself: each value by op; average 0 = take rank 0's. */
weft_status_t perf_combine(perf_rank_t *rank, double *values, uint32_t count, int64_t average);
weft_status_t perf_sum(perf_rank_t *rank, double *value);
weft_status_t perf_barrier(perf_rank_t *rank);

/* Buffers as -R says. */
weft_status_t perf_memory_alloc(perf_rank_t *rank);
void perf_memory_free(perf_rank_t *rank);
uint64_t perf_memory_available(void);
uint64_t perf_memory_resident(void);

/* Starts the ranks of this process, or of all processes with -P. Returns the exit code. */
int perf_ranks_start(const perf_options_t *options);

#endif
