/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of `weft perf`, in the form of nccl-tests: lines that are no rows begin with '#'. */
#ifndef WEFT_TOOLS_PERF_TABLE_H
#define WEFT_TOOLS_PERF_TABLE_H

#include "tools/perf_job.h"

/* The table's part of these (perf_table.c) and the JSON part (perf_json.c). */
void perf_table_begin(const perf_options_t *options, const perf_identity_t *ranks, uint32_t nranks,
                      uint64_t reduced_max);
void perf_table_row(const perf_options_t *options, uint32_t nranks, const perf_case_t *test,
                    const perf_sample_t *out, const perf_sample_t *in);
void perf_table_next(weft_coll_t coll, const char *unserved);
void perf_table_end(const perf_report_t *report, const perf_rank_t *rank, const char *error);

#endif
