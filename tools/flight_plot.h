/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Flight records as a trace that Perfetto and chrome://tracing open, and as a picture. */
#ifndef WEFT_TOOLS_FLIGHT_PLOT_H
#define WEFT_TOOLS_FLIGHT_PLOT_H

#include <stdio.h>

#include "tools/flight_jobs.h"

/* The events of the trace format of Chrome: a process for each record, whose number is that of its
 * rank (behind those of all ranks where several jobs have one of that number), and a thread for
 * each communicator. Operations without times are left out. `now` has the moment of each job on its
 * clock, to which open operations of processes that run reach; NULL: not known. Ends the process
 * where there is no memory. */
void flight_put_json(const flight_jobs_t *jobs, const uint64_t *now, FILE *out);
/* A line for each rank of the communicator, a bar for each operation whose times are known. `now`
 * as above; 0: not known. */
void flight_put_svg(const flight_job_t *job, uint64_t now, FILE *out);

#endif
