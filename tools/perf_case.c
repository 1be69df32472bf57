/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Timing and checking of one case. Buffers move on with the iterations, so that small messages do not
 * stay in the cache; one look at the clock separates two iterations. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "tools/perf.h"

typedef struct case_buffers {
    uint8_t *send;
    uint8_t *recv;
} case_buffers_t;

/* Where the buffers of iteration `i` are. */
static case_buffers_t buffers_of(const perf_rank_t *rank, const perf_case_t *test, uint64_t i)
{
    size_t element = weft_dtype_size(test->dtype);
    uint64_t steps = test->stride > 0 ? rank->span / test->stride : 0;
    uint64_t shift = steps > 1 ? i % steps * test->stride : 0;
    shift += (uint64_t)rank->options->unalign * element;
    uint8_t *send = rank->send + shift;
    uint8_t *recv = rank->recv + shift;
    uint64_t block = rank->rank * test->count * element;
    if (!test->in_place) {
        return (case_buffers_t){send, recv};
    }
    switch (test->coll) {
    case WEFT_ALL_GATHER:
        return (case_buffers_t){recv + block, recv};
    case WEFT_REDUCE_SCATTER:
        return (case_buffers_t){send, send + block};
    default:
        return (case_buffers_t){recv, recv};
    }
}

/* One operation; with `request_p` it is only started. */
static weft_status_t issue(perf_rank_t *rank, const perf_case_t *test, uint64_t i,
                           weft_request_t **request_p)
{
    uint64_t scalar = 0;
    weft_call_t call = {
        .size = sizeof call, .request_p = request_p, .timeout = rank->options->timeout};
    if (test->op == WEFT_PREMULSUM) {
        perf_data_scalar(test->dtype, rank->rank, &scalar);
        call.scalar = &scalar;
    }
    case_buffers_t b = buffers_of(rank, test, i);
    switch (test->coll) {
    case WEFT_ALL_REDUCE:
        return weft_all_reduce(b.send, b.recv, test->count, test->dtype, test->op, rank->comm,
                               &call);
    case WEFT_REDUCE_SCATTER:
        return weft_reduce_scatter(b.send, b.recv, test->count, test->dtype, test->op, rank->comm,
                                   &call);
    case WEFT_ALL_GATHER:
        return weft_all_gather(b.send, b.recv, test->count, test->dtype, rank->comm, &call);
    case WEFT_BROADCAST:
        return weft_broadcast(b.send, b.recv, test->count, test->dtype, test->root, rank->comm,
                              &call);
    case WEFT_REDUCE:
        return weft_reduce(b.send, b.recv, test->count, test->dtype, test->op, test->root,
                           rank->comm, &call);
    default:
        return weft_barrier(rank->comm, &call);
    }
}

/* M operations started together; the time to start them is added to *started. */
static weft_status_t iterate_group(perf_rank_t *rank, const perf_case_t *test, uint64_t i,
                                   weft_request_t **requests, double *started)
{
    uint32_t count = (uint32_t)rank->options->agg_iters;
    uint32_t under_way = 0;
    weft_status_t status = WEFT_OK;
    uint64_t begin = weft_os_clock_ns();
    while (status == WEFT_OK && under_way < count) {
        status = issue(rank, test, i * count + under_way, &requests[under_way]);
        under_way += status == WEFT_OK;
    }
    *started += (double)(weft_os_clock_ns() - begin) * 1e-9;
    for (uint32_t k = 0; k < under_way; k++) {
        weft_status_t one = weft_request_wait(&requests[k]);
        status = status != WEFT_OK ? status : one;
    }
    return status;
}

/* The N timed iterations; samples[i] is the end of iteration i in seconds since the begin. */
static weft_status_t iterate(perf_rank_t *rank, const perf_case_t *test, weft_request_t **requests,
                             double *total)
{
    const perf_options_t *o = rank->options;
    bool group = o->agg_iters > 1 || o->cpu_time != 0;
    double started = 0;
    uint64_t untimed = 0;
    weft_status_t status = WEFT_OK;
    uint64_t begin = weft_os_clock_ns();
    for (int64_t i = 0; i < o->iters && status == WEFT_OK; i++) {
        status = group ? iterate_group(rank, test, (uint64_t)i, requests, &started)
                       : issue(rank, test, (uint64_t)i, NULL);
        if (o->blocking == 1 && status == WEFT_OK) {
            status = perf_barrier(rank);
        }
        if (rank->samples != NULL) {
            rank->samples[i] = (double)(weft_os_clock_ns() - begin - untimed) * 1e-9;
        }
        if (o->blocking == 3 && status == WEFT_OK) {
            uint64_t before = weft_os_clock_ns();
            status = perf_barrier(rank);
            untimed += weft_os_clock_ns() - before;
        }
    }
    *total = o->cpu_time != 0 ? started : (double)(weft_os_clock_ns() - begin - untimed) * 1e-9;
    return status;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void summarise(const perf_options_t *o, double *samples, perf_sample_t *out)
{
    size_t skip = (size_t)o->per_iter_skip;
    size_t n = (size_t)o->iters - skip;
    double sum = 0;
    double squares = 0;
    for (size_t i = (size_t)o->iters - 1; i > 0; i--) {
        samples[i] -= samples[i - 1];
    }
    double *used = samples + skip;
    for (size_t i = 0; i < n; i++) {
        used[i] /= (double)o->agg_iters;
        sum += used[i];
    }
    qsort(used, n, sizeof *used, ascending);
    double mean = sum / (double)n;
    for (size_t i = 0; i < n; i++) {
        squares += (used[i] - mean) * (used[i] - mean);
    }
    out->least = used[0];
    out->most = used[n - 1];
    out->median = n % 2 != 0 ? used[n / 2] : (used[n / 2 - 1] + used[n / 2]) / 2;
    out->p99 = used[(n * 99 + 99) / 100 - 1];
    out->variation = mean > 0 ? sqrt(squares / (double)n) / mean : 0;
}

static weft_status_t measure(perf_rank_t *rank, const perf_case_t *test, perf_sample_t *sample)
{
    const perf_options_t *o = rank->options;
    double total = 0;
    if (o->iters == 0) {
        return WEFT_OK;
    }
    weft_request_t **requests = calloc((size_t)o->agg_iters, sizeof(weft_request_t *));
    if (requests == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for %lld requests",
                         (long long)o->agg_iters);
    }
    weft_status_t status = issue(rank, test, 0, NULL);
    status = status != WEFT_OK ? status : perf_barrier(rank);
    status = status != WEFT_OK ? status : iterate(rank, test, requests, &total);
    free(requests);
    if (status != WEFT_OK) {
        return status;
    }
    sample->time = total / (double)(o->iters * o->agg_iters);
    if (rank->samples != NULL) {
        summarise(o, rank->samples, sample);
    }
    return perf_combine(rank, &sample->time, 6, o->average);
}

/* One operation on fresh data, its result checked on every rank. */
static weft_status_t check(perf_rank_t *rank, const perf_case_t *test, uint64_t seed,
                           double *wrong_p)
{
    perf_data_t data = {.test = *test, .rank = rank->rank, .nranks = rank->nranks, .seed = seed};
    case_buffers_t b = buffers_of(rank, test, 0);
    size_t element = weft_dtype_size(test->dtype);
    memset(b.recv, 0xa5, perf_data_recv_count(&data) * element);
    perf_data_fill_send(&data, b.send);
    weft_status_t status = issue(rank, test, 0, NULL);
    if (status != WEFT_OK) {
        return status;
    }
    uint64_t wrong = perf_data_check_recv(&data, b.recv);
    wrong += test->in_place ? 0 : perf_data_check_send(&data, b.send);
    rank->wrong += wrong;
    *wrong_p += (double)wrong;
    return WEFT_OK;
}

weft_status_t perf_case_warm_up(perf_rank_t *rank, const perf_case_t *test)
{
    weft_status_t status = WEFT_OK;
    for (int64_t i = 0; i < rank->options->warmup_iters && status == WEFT_OK; i++) {
        status = issue(rank, test, (uint64_t)i, NULL);
    }
    return status;
}

weft_status_t perf_case_run(perf_rank_t *rank, const perf_case_t *test, uint64_t seed,
                            perf_sample_t *sample)
{
    const perf_options_t *o = rank->options;
    *sample = (perf_sample_t){.wrong = -1};
    weft_status_t status = measure(rank, test, sample);
    if (status != WEFT_OK || o->check == 0 || test->coll == WEFT_BARRIER) {
        return status;
    }
    sample->wrong = 0;
    for (int64_t c = 0; c < o->check && status == WEFT_OK; c++) {
        status = check(rank, test, seed + (uint64_t)c, &sample->wrong);
    }
    return status != WEFT_OK ? status : perf_sum(rank, &sample->wrong);
}
