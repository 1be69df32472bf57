/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The JSON of `weft perf`: format version 3 of nccl-tests, with weft's own keys added. */
#ifndef WEFT_TOOLS_PERF_JSON_H
#define WEFT_TOOLS_PERF_JSON_H

#include "tools/perf_job.h"

void perf_json_begin(json_t *json, const perf_report_t *report, const perf_identity_t *ranks);
void perf_json_row(json_t *json, const perf_options_t *options, uint32_t nranks,
                   const perf_case_t *test, const perf_sample_t *out, const perf_sample_t *in);
void perf_json_end(json_t *json, const perf_report_t *report, const perf_rank_t *rank,
                   const char *error);

#endif
