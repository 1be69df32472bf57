/* SPDX-License-Identifier: BSD-3-Clause
 *
 * -P: forks the processes of a job on this machine before any thread exists. The parent runs no rank:
 * it carries the unique id from the first child to the others and watches. A child holds the write
 * end of its `up` pipe for its whole life, so end of file there means that it ended. */
#ifndef WEFT_TOOLS_PERF_FORK_H
#define WEFT_TOOLS_PERF_FORK_H

#include "tools/perf_ranks.h"

/* -P: forks the processes, passes the id, waits. Returns the job's exit code. */
int perf_fork_run(const perf_options_t *options);

#endif
