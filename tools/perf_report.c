/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Output of `weft perf`: sends every result to the table and the JSON documents, keeps the totals. */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/os/os.h"
#include "tools/perf.h"

void perf_timestamp(char *text, size_t bytes)
{
    time_t now = (time_t)weft_os_wall_s();
    struct tm parts;
    if (localtime_r(&now, &parts) == NULL ||
        strftime(text, bytes, "%Y-%m-%d %H:%M:%S", &parts) == 0) {
        snprintf(text, bytes, "unknown");
    }
}

/* Bytes that the bandwidth is about. */
static double moved_bytes(const perf_case_t *test)
{
    return (double)test->size;
}

double perf_algbw(const perf_case_t *test, double time)
{
    return time > 0 ? moved_bytes(test) / time / 1e9 : 0;
}

double perf_busbw(const perf_case_t *test, uint32_t nranks, double time)
{
    double n = nranks;
    double factor = 1;
    if (test->coll == WEFT_ALL_REDUCE) {
        factor = 2 * (n - 1) / n;
    } else if (test->coll == WEFT_ALL_GATHER || test->coll == WEFT_REDUCE_SCATTER) {
        factor = (n - 1) / n;
    }
    return perf_algbw(test, time) * factor;
}

double perf_report_average(const perf_report_t *report)
{
    return report->bandwidth_count > 0 ? report->bandwidth_sum / (double)report->bandwidth_count
                                       : 0;
}

bool perf_report_bandwidth_ok(const perf_report_t *report)
{
    return perf_report_average(report) >= 0.9 * report->options->min_bandwidth;
}

int perf_report_begin(perf_report_t *report, const perf_options_t *options,
                      const perf_identity_t *ranks, uint32_t nranks, uint64_t reduced_max)
{
    *report = (perf_report_t){.options = options, .nranks = nranks, .table = !options->json_stdout};
    report->progress = isatty(STDERR_FILENO) == 1;
    perf_timestamp(report->start, sizeof report->start);
    if (options->json_stdout) {
        report->json[report->json_count++] = (json_t){.out = stdout};
    }
    if (options->json_file != NULL) {
        FILE *file = fopen(options->json_file, "we");
        if (file == NULL) {
            return tool_usage("cannot write %s: %s", options->json_file, strerror(errno));
        }
        report->json[report->json_count++] = (json_t){.out = file};
    }
    if (report->table) {
        perf_table_begin(options, ranks, nranks, reduced_max);
    }
    for (uint32_t i = 0; i < report->json_count; i++) {
        perf_json_begin(&report->json[i], report, ranks);
    }
    return TOOL_OK;
}

void perf_report_progress(perf_report_t *report, const perf_case_t *test)
{
    if (report->progress) {
        const char *reduction = perf_coll_reduces(test->coll) ? weft_op_name(test->op) : "none";
        fprintf(stderr, "\r\033[K  measuring %llu B, %s, %s …", (unsigned long long)test->size,
                weft_dtype_name(test->dtype), reduction);
        fflush(stderr);
    }
}

static void clear_progress(const perf_report_t *report)
{
    if (report->progress) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
}

void perf_report_row(perf_report_t *report, const perf_case_t *test, const perf_sample_t *out,
                     const perf_sample_t *in)
{
    report->bandwidth_sum +=
        perf_busbw(test, report->nranks, out->time) + perf_busbw(test, report->nranks, in->time);
    report->bandwidth_count += 2;
    report->wrong += (out->wrong > 0 ? out->wrong : 0) + (in->wrong > 0 ? in->wrong : 0);
    clear_progress(report);
    if (report->table) {
        perf_table_row(report->options, report->nranks, test, out, in);
    }
    for (uint32_t i = 0; i < report->json_count; i++) {
        perf_json_row(&report->json[i], report->options, report->nranks, test, out, in);
    }
}

int perf_report_end(perf_report_t *report, const uint64_t memory[3], const char *error)
{
    bool flushed = true;
    clear_progress(report);
    if (report->table) {
        perf_table_end(report, memory, error);
    }
    for (uint32_t i = 0; i < report->json_count; i++) {
        FILE *file = report->json[i].out;
        perf_json_end(&report->json[i], report, error);
        flushed = (file == stdout ? fflush(file) : fclose(file)) == 0 && flushed;
    }
    if (!flushed || fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "weft: cannot write the results: %s\n", strerror(errno));
        return TOOL_INTERNAL;
    }
    return report->wrong > 0 || !perf_report_bandwidth_ok(report) ? TOOL_WRONG : TOOL_OK;
}
