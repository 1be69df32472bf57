/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Flight records as a trace that Perfetto and chrome://tracing open, and as a picture. */
#ifndef WEFT_TOOLS_FLIGHT_PLOT_H
#define WEFT_TOOLS_FLIGHT_PLOT_H

#include <stdio.h>

#include "tools/flight_jobs.h"

/* The events of the trace format of Chrome: a process for each rank of the first communicator, a
 * thread for each communicator. Operations without times are left out. */
void flight_put_json(const flight_jobs_t *jobs, FILE *out);
/* A line for each rank of the communicator, a bar for each operation whose times are known. */
void flight_put_svg(const flight_job_t *job, FILE *out);

#endif
