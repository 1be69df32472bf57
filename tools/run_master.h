/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A job of `weft run` from its start to the end of its last rank. */
#ifndef WEFT_TOOLS_RUN_MASTER_H
#define WEFT_TOOLS_RUN_MASTER_H

#include "tools/run_task.h"

/* Returns the exit code: of the rank that failed first, 128 plus its signal, 127 if the program
 * cannot be started, or 3 if a host is lost. */
int run_master(const run_job_t *job);

#endif
