/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Iterations in a stream of the device: they are put there one after another, or recorded and
 * replayed, and the host waits once. */
#ifndef WEFT_TOOLS_PERF_STREAM_H
#define WEFT_TOOLS_PERF_STREAM_H

#include "tools/perf_job.h"

/* Time that the timed iterations took, in seconds. */
typedef struct perf_lap {
    double wall;   /* from the first one's start to the last one's end */
    double issue;  /* to start them */
    double device; /* between events before and behind them in the stream; 0 without one */
} perf_lap_t;

/* Iterations in a stream (perf_stream.c). open() and close() do nothing where there are none, and
 * wait() has nothing to wait for. */
weft_status_t perf_stream_open(perf_rank_t *rank);
void perf_stream_close(perf_rank_t *rank);
/* Until all that was put into the stream is done, at most as long as -T says. */
weft_status_t perf_stream_wait(perf_rank_t *rank);
weft_status_t perf_stream_iterate(perf_rank_t *rank, const perf_case_t *test, perf_lap_t *lap);
/* One operation to its end, on a device by way of a captured graph if -G asks for it. */
weft_status_t perf_stream_once(perf_rank_t *rank, const perf_case_t *test);

#endif
