/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The agents of a job, as `weft run` sees them: processes here, or remote shells to other hosts. */
#ifndef WEFT_TOOLS_RUN_FAR_H
#define WEFT_TOOLS_RUN_FAR_H

#include <sys/types.h>

#include "tools/run_task.h"
#include "tools/run_wire.h"

typedef struct run_far {
    const run_host_t *host;
    pid_t pid;    /* of the agent, or of the remote shell; 0: not started */
    int to, from; /* -1: closed */
    run_reader_t reader;
    bool greeted, ready;
    uint32_t ports; /* what it was ready with */
    uint32_t left;  /* ranks that have not ended */
    uint32_t owed;  /* bytes of output that have come and do not count as written yet */
} run_far_t;

/* Starts the agent of a host and tells it its task. False and one line on stderr if it cannot. */
bool run_far_start(run_far_t *far, const run_job_t *job, const run_host_t *host);
/* Takes the agent's greeting out of what has come. Text before it, which a remote shell wrote, goes
 * to stderr. False and one line on stderr if the agent is of another version. */
bool run_far_greet(run_far_t *far);
/* Hangs up, waits `seconds` for the process to end, and kills it then. Returns what waitpid()
 * said. */
int run_far_end(run_far_t *far, double seconds);

#endif
