/* SPDX-License-Identifier: BSD-3-Clause
 *
 * -P: forks the processes of a job on this machine before any thread exists. The parent runs no
 * rank: it carries the unique id from the first child to the others and watches. A child holds the
 * write end of its `up` pipe for its whole life, so end of file there means that it ended. A byte
 * before that says that it did its part: a plugin may call exit(). */
#ifndef WEFT_TOOLS_PERF_FORK_H
#define WEFT_TOOLS_PERF_FORK_H

#include "tools/tool.h"

typedef struct perf_fork_job {
    uint32_t processes;
    uint32_t threads; /* ranks of each */
    const tool_settings_t *settings;
    /* Runs process `index`; returns its exit code. */
    int (*run)(const void *arg, uint32_t index, const weft_unique_id_t *id);
    const void *arg;
} perf_fork_job_t;

/* -P: forks the processes, passes the id, waits. Returns the job's exit code. */
int perf_fork_run(const perf_fork_job_t *job);

#endif
