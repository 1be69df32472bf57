/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Figures of `weft perf`: rates, their mean, and the time of day. */
#include "tools/perf_rate.h"

#include <stdio.h>
#include <time.h>

#include "core/base/coll.h"
#include "core/os/os.h"
#include "tools/perf_job.h"

void perf_timestamp(char *text, size_t bytes)
{
    time_t now = (time_t)weft_os_wall_s();
    struct tm parts;
    if (localtime_r(&now, &parts) == NULL ||
        strftime(text, bytes, "%Y-%m-%d %H:%M:%S", &parts) == 0) {
        snprintf(text, bytes, "unknown");
    }
}

double perf_algbw(const perf_case_t *test, double time)
{
    return time > 0 ? (double)test->size / time / 1e9 : 0;
}

double perf_busbw(const perf_case_t *test, uint32_t nranks, double time)
{
    double n = nranks;
    double factor = 1;
    if (test->coll == WEFT_ALL_REDUCE) {
        factor = 2 * (n - 1) / n;
    } else if (weft_coll_has_any_blocks(test->coll)) {
        factor = (n - 1) / n;
    }
    return perf_algbw(test, time) * factor;
}

double perf_total_average(const perf_total_t *total)
{
    return total->bandwidth_count > 0 ? total->bandwidth_sum / (double)total->bandwidth_count : 0;
}

bool perf_report_bandwidth_ok(const perf_report_t *report)
{
    return perf_total_average(&report->all) >= 0.9 * report->options->output.min_bandwidth;
}
