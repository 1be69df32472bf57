/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Output of `weft perf`: sends every result to the table and the JSON documents, keeps the
 * totals. */
#ifndef WEFT_TOOLS_PERF_REPORT_H
#define WEFT_TOOLS_PERF_REPORT_H

#include "tools/perf_job.h"

/* Whether the file of -J can be written, before any rank starts. Returns an exit code. */
int perf_report_check(const perf_options_t *options);
/* Opens the outputs and prints what is known before the first measurement. */
int perf_report_begin(perf_report_t *report, const perf_rank_t *rank, const perf_identity_t *ranks,
                      uint64_t reduced_max);
/* `all` begins with another collective, or leaves one out. */
void perf_report_next(perf_report_t *report, weft_coll_t coll);
void perf_report_progress(perf_report_t *report, const perf_case_t *test);
/* One row. */
void perf_report_row(perf_report_t *report, const perf_case_t *test, const perf_sample_t *out,
                     const perf_sample_t *in);
/* The footer, with what -M asks for: how the process of `rank` has grown, and what the ranks hold.
 * Returns the exit code that the results call for. */
int perf_report_end(perf_report_t *report, const perf_rank_t *rank, const char *error);

#endif
