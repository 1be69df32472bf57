/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The results so far, kept in a file beside the output, so that an interrupted run goes on. */
#ifndef WEFT_TOOLS_TUNE_STATE_H
#define WEFT_TOOLS_TUNE_STATE_H

#include "tools/tune_job.h"

#define TUNE_JOB_MAX 4096 /* bytes of the line that says of which job a state is */

/* Reads the file, if it is of the same job; `job` says what that is in one line. Results of another
 * job, or all if `fresh`, are kept in `path`.old. False and one line on stderr if that cannot be
 * done or the file cannot be written; it is open all the same if *file_p is not NULL. */
bool tune_state_open(const char *path, const char *job, bool fresh, tune_results_t *results,
                     FILE **file_p);
/* Adds results to the list and the file, the last one first: those that tell whether a point is
 * whole are the first in `more`, and the others are then in the file, too. False: no memory, or the
 * file, whose name is `path`, does not take them and one line on stderr says why. */
bool tune_state_add(FILE *file, const char *path, tune_results_t *results,
                    const tune_result_t *more, uint32_t count);
/* True if there is a result for each of the candidates `wanted`, whose times do not matter. A run
 * that ended while it wrote has left some of a point. */
bool tune_state_has(const tune_results_t *results, const tune_result_t *wanted, uint32_t count);

#endif
