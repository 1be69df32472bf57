/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ranks of a subcommand, one per process: forked on this machine, or those of a launcher. */
#ifndef WEFT_TOOLS_JOB_H
#define WEFT_TOOLS_JOB_H

#include "tools/tool.h"

typedef struct tool_job {
    int64_t processes; /* to fork; 0: the launcher has started the ranks */
    const tool_settings_t *settings;
    /* Runs one rank; returns its exit code. */
    int (*run)(void *arg, uint32_t rank, uint32_t nranks, const weft_unique_id_t *id);
    void *arg;
} tool_job_t;

/* Runs the job's ranks in this process, or those that it forks. Returns the exit code. */
int tool_job_run(const tool_job_t *job);

#endif
