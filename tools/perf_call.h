/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One measured call: which buffers, and which function of weft. Buffers move on with the
 * iterations, so that small messages do not stay in the cache. */
#ifndef WEFT_TOOLS_PERF_CALL_H
#define WEFT_TOOLS_PERF_CALL_H

#include "tools/perf_job.h"

typedef struct perf_buffers {
    uint8_t *send, *recv;
} perf_buffers_t;

#define PERF_REQUESTS 2u /* of one operation */

perf_buffers_t perf_call_buffers(const perf_rank_t *rank, const perf_case_t *test, uint64_t i);
weft_status_t perf_call_issue(perf_rank_t *rank, const perf_case_t *test, uint64_t i,
                              weft_request_t **request_p);

#endif
