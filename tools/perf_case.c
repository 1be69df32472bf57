/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Timing of one case. One look at the clock separates two iterations. */
#include "tools/perf_case.h"

#include <stdlib.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "tools/perf_call.h"
#include "tools/perf_check.h"
#include "tools/perf_job.h"
#include "tools/perf_spread.h"
#include "tools/perf_stream.h"
#include "tools/perf_sync.h"

/* M operations as one group. */
static weft_status_t perf_case_iterate_group(perf_rank_t *rank, const perf_case_t *test, uint64_t i)
{
    uint32_t count = (uint32_t)rank->options->loop.agg_iters;
    weft_status_t status = weft_group_start();
    for (uint32_t k = 0; k < count && status == WEFT_OK; k++) {
        status = perf_call_issue(rank, test, i * count + k, NULL);
    }
    weft_status_t ended = weft_group_end();
    return status != WEFT_OK ? status : ended;
}

/* M operations started as requests; the time to start them is added to *started. */
static weft_status_t perf_case_iterate_apart(perf_rank_t *rank, const perf_case_t *test, uint64_t i,
                                             weft_request_t **requests, double *started)
{
    uint32_t count = (uint32_t)rank->options->loop.agg_iters;
    weft_status_t status = WEFT_OK;
    uint64_t begin = weft_os_clock_ns();
    for (uint32_t k = 0; k < count && status == WEFT_OK; k++) {
        status = perf_call_issue(rank, test, i * count + k, &requests[PERF_REQUESTS * k]);
    }
    *started += (double)(weft_os_clock_ns() - begin) * 1e-9;
    for (uint32_t k = 0; k < PERF_REQUESTS * count; k++) {
        weft_status_t one = requests[k] != NULL ? weft_request_wait(&requests[k]) : WEFT_OK;
        status = status != WEFT_OK ? status : one;
    }
    return status;
}

/* The N timed iterations; samples[i] is the end of iteration i in seconds since the begin. */
static weft_status_t perf_case_iterate(perf_rank_t *rank, const perf_case_t *test,
                                       weft_request_t **requests, perf_lap_t *lap)
{
    const perf_options_t *o = rank->options;
    uint64_t untimed = 0;
    weft_status_t status = perf_barrier(rank);
    uint64_t begin = weft_os_clock_ns();
    for (int64_t i = 0; i < o->loop.iters && status == WEFT_OK; i++) {
        if (o->output.cpu_time != 0) {
            status = perf_case_iterate_apart(rank, test, (uint64_t)i, requests, &lap->issue);
        } else if (o->loop.agg_iters > 1) {
            status = perf_case_iterate_group(rank, test, (uint64_t)i);
        } else {
            status = perf_call_issue(rank, test, (uint64_t)i, NULL);
        }
        if (o->loop.blocking == 1 && status == WEFT_OK) {
            status = perf_barrier(rank);
        }
        if (rank->samples != NULL) {
            rank->samples[i] = (double)(weft_os_clock_ns() - begin - untimed) * 1e-9;
        }
        if (o->loop.blocking == 3 && status == WEFT_OK) {
            uint64_t before = weft_os_clock_ns();
            status = perf_barrier(rank);
            untimed += weft_os_clock_ns() - before;
        }
    }
    lap->wall = (double)(weft_os_clock_ns() - begin - untimed) * 1e-9;
    return status;
}

/* On host memory: each call waits, or its request is waited for. */
static weft_status_t perf_case_iterate_on_host(perf_rank_t *rank, const perf_case_t *test,
                                               perf_lap_t *lap)
{
    size_t count = PERF_REQUESTS * (size_t)rank->options->loop.agg_iters;
    weft_request_t **requests = calloc(count, sizeof(weft_request_t *));
    if (requests == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for %zu requests", count);
    }
    weft_status_t status = perf_case_iterate(rank, test, requests, lap);
    free(requests);
    return status;
}

static weft_status_t perf_case_measure(perf_rank_t *rank, const perf_case_t *test,
                                       perf_sample_t *sample)
{
    const perf_options_t *o = rank->options;
    const bool streams = rank->device.streams != NULL;
    perf_lap_t lap = {0};
    if (o->loop.iters == 0) {
        return WEFT_OK;
    }
    weft_status_t status = perf_call_issue(rank, test, 0, NULL);
    status = status != WEFT_OK ? status : perf_stream_wait(rank);
    if (status == WEFT_OK) {
        status = streams ? perf_stream_iterate(rank, test, &lap)
                         : perf_case_iterate_on_host(rank, test, &lap);
    }
    if (status != WEFT_OK) {
        return status;
    }
    const double runs =
        (double)(o->loop.iters * o->loop.agg_iters * (o->loop.graphs > 0 ? o->loop.graphs : 1));
    double times[] = {(o->output.cpu_time != 0 ? lap.issue : lap.wall) / runs, lap.device / runs};
    if (rank->samples != NULL) {
        status = perf_spread_of_iterations(rank, sample);
    }
    status = status != WEFT_OK ? status : perf_combine(rank, times, 2, o->output.average);
    sample->time = times[0];
    sample->device_time = streams ? times[1] : -1;
    return status;
}

weft_status_t perf_case_warm_up(perf_rank_t *rank, const perf_case_t *test)
{
    weft_status_t status = WEFT_OK;
    for (int64_t i = 0; i < rank->options->loop.warmup_iters && status == WEFT_OK; i++) {
        status = perf_call_issue(rank, test, (uint64_t)i, NULL);
    }
    return status != WEFT_OK ? status : perf_stream_wait(rank);
}

weft_status_t perf_case_run(perf_rank_t *rank, const perf_case_t *test, uint64_t seed,
                            perf_sample_t *sample)
{
    const perf_options_t *o = rank->options;
    *sample = (perf_sample_t){.wrong = -1, .device_time = -1};
    weft_status_t status = perf_case_measure(rank, test, sample);
    if (status != WEFT_OK || o->check == 0 || test->coll == WEFT_BARRIER) {
        return status;
    }
    sample->wrong = 0;
    for (int64_t c = 0; c < o->check && status == WEFT_OK; c++) {
        status = perf_check(rank, test, seed + (uint64_t)c, &sample->wrong);
    }
    return status != WEFT_OK ? status : perf_reduce(rank, &sample->wrong, 1, WEFT_SUM);
}
