/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gather, scatter and all-to-all in two levels: blocks pass through one rank of each host, so a
 * rank has a link to every host and not to every rank. */
#ifndef HIER_PAIRS_H
#define HIER_PAIRS_H

#include "level.h"

/* Each writes the plan of call->rank, for any numbers of ranks on the hosts. */
void hier_gather(const hier_job_t *job);
void hier_scatter(const hier_job_t *job);
void hier_all_to_all(const hier_job_t *job);

#endif
