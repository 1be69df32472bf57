/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reduce-scatter and all-gather whose blocks go round the hosts on rings of heads. */
#ifndef HIER_RING_H
#define HIER_RING_H

#include "level.h"

/* Each writes the plan of call->rank, for any numbers of ranks on the hosts. */
void hier_ring_reduce_scatter(const hier_job_t *job);
void hier_ring_all_gather(const hier_job_t *job);

#endif
