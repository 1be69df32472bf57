/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Output of `weft perf`: sends every result to the table and the JSON documents, keeps the
 * totals. */
#include "tools/perf_report.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tools/perf_job.h"
#include "tools/perf_json.h"
#include "tools/perf_names.h"
#include "tools/perf_rate.h"
#include "tools/perf_table.h"
#include "tools/tool.h"

/* NULL: the reason was printed. */
static FILE *perf_report_open(const perf_options_t *options, const char *mode)
{
    FILE *file = fopen(options->output.json_file, mode);
    if (file == NULL) {
        tool_usage("cannot write %s: %s", options->output.json_file, strerror(errno));
    }
    return file;
}

int perf_report_check(const perf_options_t *options)
{
    if (options->output.json_file == NULL) {
        return TOOL_OK;
    }
    FILE *file = perf_report_open(options, "ae");
    return file == NULL || fclose(file) != 0 ? TOOL_USAGE : TOOL_OK;
}

int perf_report_begin(perf_report_t *report, const perf_rank_t *rank, const perf_identity_t *ranks,
                      uint64_t reduced_max)
{
    const perf_options_t *options = rank->options;
    *report = (perf_report_t){.options = options,
                              .support = &rank->support,
                              .nranks = rank->nranks,
                              .table = !options->output.json_stdout};
    report->progress = isatty(STDERR_FILENO) == 1;
    perf_timestamp(report->start, sizeof report->start);
    if (options->output.json_stdout) {
        report->json[report->json_count++] = (json_t){.out = stdout};
    }
    if (options->output.json_file != NULL) {
        FILE *file = perf_report_open(options, "we");
        if (file == NULL) {
            return TOOL_USAGE;
        }
        report->json[report->json_count++] = (json_t){.out = file};
    }
    if (report->table) {
        perf_table_begin(options, ranks, rank->nranks, reduced_max);
    }
    for (uint32_t i = 0; i < report->json_count; i++) {
        perf_json_begin(&report->json[i], report, ranks);
    }
    return TOOL_OK;
}

void perf_report_progress(perf_report_t *report, const perf_case_t *test)
{
    if (report->progress) {
        fprintf(stderr, "\r\033[K  measuring %s, %llu B, %s, %s …", weft_coll_name(test->coll),
                (unsigned long long)test->size, weft_dtype_name(test->dtype),
                perf_op_text(test->coll, test->op));
        fflush(stderr);
    }
}

static void perf_report_clear_progress(const perf_report_t *report)
{
    if (report->progress) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
}

void perf_report_next(perf_report_t *report, weft_coll_t coll)
{
    perf_report_clear_progress(report);
    if (report->table) {
        perf_table_next(coll, report->support->unserved[coll]);
    }
}

static void perf_report_add_sample(perf_total_t *total, double bandwidth,
                                   const perf_sample_t *sample)
{
    if (!sample->absent) {
        total->bandwidth_sum += bandwidth;
        total->bandwidth_count++;
        total->wrong += sample->wrong > 0 ? sample->wrong : 0;
    }
}

static void perf_report_add_row(perf_total_t *total, uint32_t nranks, const perf_case_t *test,
                                const perf_sample_t *out, const perf_sample_t *in)
{
    total->rows++;
    perf_report_add_sample(total, perf_busbw(test, nranks, out->time), out);
    perf_report_add_sample(total, perf_busbw(test, nranks, in->time), in);
}

void perf_report_row(perf_report_t *report, const perf_case_t *test, const perf_sample_t *out,
                     const perf_sample_t *in)
{
    perf_report_add_row(&report->all, report->nranks, test, out, in);
    perf_report_add_row(&report->each[test->coll], report->nranks, test, out, in);
    perf_report_clear_progress(report);
    if (report->table) {
        perf_table_row(report->options, report->nranks, test, out, in);
    }
    for (uint32_t i = 0; i < report->json_count; i++) {
        perf_json_row(&report->json[i], report->options, report->nranks, test, out, in);
    }
}

int perf_report_end(perf_report_t *report, const perf_rank_t *rank, const char *error)
{
    bool flushed = true;
    perf_report_clear_progress(report);
    if (report->table) {
        perf_table_end(report, rank, error);
    }
    for (uint32_t i = 0; i < report->json_count; i++) {
        FILE *file = report->json[i].out;
        perf_json_end(&report->json[i], report, rank, error);
        const char *path = file == stdout ? "the results" : report->options->output.json_file;
        flushed = tool_close(file, path) && flushed;
    }
    if (!flushed || !tool_close(stdout, "the results")) {
        return TOOL_INTERNAL;
    }
    return report->all.wrong > 0 || !perf_report_bandwidth_ok(report) ? TOOL_WRONG : TOOL_OK;
}
