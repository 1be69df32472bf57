/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The job of one rank: joins, walks over data types, operators, roots and sizes, leaves. */
#ifndef WEFT_TOOLS_PERF_RUN_H
#define WEFT_TOOLS_PERF_RUN_H

#include "tools/perf_job.h"

/* The whole job of one rank, from the communicator's making to its end. */
void perf_rank_run(perf_rank_t *rank, const weft_unique_id_t *id);

#endif
