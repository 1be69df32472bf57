/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Figures of `weft perf`: rates, their mean, and the time of day. */
#ifndef WEFT_TOOLS_PERF_RATE_H
#define WEFT_TOOLS_PERF_RATE_H

#include "tools/perf_job.h"

/* Mean busbw of the rows. */
double perf_total_average(const perf_total_t *total);
bool perf_report_bandwidth_ok(const perf_report_t *report);
/* GB/s: bytes that the call is about over time, and what the slowest link must carry. */
double perf_algbw(const perf_case_t *test, double time);
double perf_busbw(const perf_case_t *test, uint32_t nranks, double time);
void perf_timestamp(char *text, size_t bytes);

#endif
