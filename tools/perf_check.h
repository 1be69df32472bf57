/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The check of one operation: fresh data goes in and what comes out is looked at, in pieces that
 * the host can touch. */
#ifndef WEFT_TOOLS_PERF_CHECK_H
#define WEFT_TOOLS_PERF_CHECK_H

#include "tools/perf_job.h"

/* One operation on fresh data (perf_check.c); adds this rank's wrong elements to *wrong_p. */
weft_status_t perf_check(perf_rank_t *rank, const perf_case_t *test, uint64_t seed,
                         double *wrong_p);

#endif
