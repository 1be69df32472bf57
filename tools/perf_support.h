/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which collectives the loaded algorithms serve. Most is known before a rank is started, so that
 * what cannot run is said once and names who would serve it; some algorithms look at the hosts
 * too. */
#ifndef WEFT_TOOLS_PERF_SUPPORT_H
#define WEFT_TOOLS_PERF_SUPPORT_H

#include "tools/perf_job.h"

/* Asks the communicator the same, which also knows the hosts and proves the plans. ERR_PLAN: the
 * plan of something that is to be run is refused. */
weft_status_t perf_support_refine(perf_rank_t *rank);
/* Asks the algorithms which of the wanted collectives they serve on `nranks` ranks
 * (perf_support.c), and the kernel whether it chooses a device. Fills options->support and
 * device_key, or without `every` returns the exit code, after the cause was printed if this process
 * speaks for all. */
int perf_support_check(perf_options_t *options, uint32_t nranks, bool speaks);

#endif
