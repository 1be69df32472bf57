/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Statistics of single iterations: of every rank's own times (-I), and of the times of the slowest
 * rank of each iteration (--stats). */
#include "tools/perf_spread.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/perf_job.h"
#include "tools/perf_sync.h"

static int perf_spread_ascending(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Least of the sorted times that `percent` % of all do not exceed. */
static double perf_spread_percentile(const double *sorted, size_t n, size_t percent)
{
    return sorted[(n * percent + 99) / 100 - 1];
}

/* Sorts the times. */
static perf_spread_t spread_of(double *times, size_t n)
{
    double sum = 0;
    double squares = 0;
    for (size_t i = 0; i < n; i++) {
        sum += times[i];
    }
    double mean = sum / (double)n;
    for (size_t i = 0; i < n; i++) {
        squares += (times[i] - mean) * (times[i] - mean);
    }
    qsort(times, n, sizeof *times, perf_spread_ascending);
    return (perf_spread_t){
        .min = times[0],
        .p50 = n % 2 != 0 ? times[n / 2] : (times[n / 2 - 1] + times[n / 2]) / 2,
        .p90 = perf_spread_percentile(times, n, 90),
        .p99 = perf_spread_percentile(times, n, 99),
        .max = times[n - 1],
        .deviation = sqrt(squares / (double)n),
        .mean = mean,
    };
}

/* Ends of iterations become their lengths, per operation. */
static void perf_spread_differences(const perf_options_t *o, double *samples)
{
    for (size_t i = (size_t)o->loop.iters - 1; i > 0; i--) {
        samples[i] -= samples[i - 1];
    }
    for (size_t i = 0; i < (size_t)o->loop.iters; i++) {
        samples[i] /= (double)o->loop.agg_iters;
    }
}

weft_status_t perf_spread_of_iterations(perf_rank_t *rank, perf_sample_t *sample)
{
    const perf_options_t *o = rank->options;
    const int64_t most = 3;
    size_t skip = (size_t)o->loop.per_iter_skip;
    size_t n = (size_t)o->loop.iters - skip;
    double *own = rank->samples + skip;
    double *slowest = rank->samples + o->loop.iters;
    weft_status_t status = WEFT_OK;
    perf_spread_differences(o, rank->samples);
    memcpy(slowest, own, n * sizeof *own);
    if (o->loop.stats) {
        status = perf_combine(rank, slowest, (uint32_t)n, most);
        sample->slowest = spread_of(slowest, n);
    }
    if (status == WEFT_OK && o->loop.per_iter != 0) {
        sample->own = spread_of(own, n);
        status = perf_combine(rank, &sample->own.min, sizeof sample->own / sizeof(double),
                              o->output.average);
    }
    return status;
}
