/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One process of the job and its threads, used by the forked and by the launched form. */
#ifndef WEFT_TOOLS_PERF_RANKS_H
#define WEFT_TOOLS_PERF_RANKS_H

#include "tools/perf_job.h"

/* One process of the job. */
typedef struct perf_process {
    const perf_options_t *options;
    uint32_t index, count; /* of the job's processes */
    uint32_t local;        /* index among those on this host */
} perf_process_t;

/* Exit code of a job in which both happened. Wrong results give way to failures, and what the other
 * ranks are told to the timeout of one. */
int perf_exit_join(int so_far, int code);

/* Runs the process's ranks, each in a thread; returns its exit code. */
int perf_process_run(const perf_process_t *process, const weft_unique_id_t *id);
uint32_t perf_process_threads(const perf_options_t *options);

#endif
