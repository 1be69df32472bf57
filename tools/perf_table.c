/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of `weft perf`, in the form of nccl-tests: lines that are no rows begin with '#'. */
#include "tools/perf_table.h"

#include <string.h>

#include "core/base/coll.h"
#include "tools/perf_job.h"
#include "tools/perf_names.h"
#include "tools/perf_place.h"
#include "tools/perf_rate.h"

/* A number in `width` places: two decimals, one, none, or with an exponent. */
static void perf_table_print_number(double value, int width)
{
    char text[64];
    for (int decimals = 2; decimals >= 0; decimals--) {
        int length = snprintf(text, sizeof text, "%*.*f", width, decimals, value);
        if (length <= width) {
            fputs(text, stdout);
            return;
        }
    }
    printf("%*.*e", width, width >= 7 ? 1 : 0, value);
}

static void perf_table_print_settings(const perf_options_t *o)
{
    bool factor = o->sizes.step_factor > 1;
    char step[32];
    snprintf(step, sizeof step, factor ? "%.6g" : "%.0f",
             factor ? o->sizes.step_factor : (double)o->sizes.step_bytes);
    printf("# nThread %lld nGpus %lld minBytes %llu maxBytes %llu step: %s(%s) warmup iters: %lld "
           "iters: %lld agg iters: %lld validation: %lld graph: %lld unalign: %lld\n",
           (long long)o->threads, (long long)o->gpus, (unsigned long long)o->sizes.min_bytes,
           (unsigned long long)o->sizes.max_bytes, step, factor ? "factor" : "bytes",
           (long long)o->loop.warmup_iters, (long long)o->loop.iters, (long long)o->loop.agg_iters,
           (long long)o->check, (long long)o->loop.graphs, (long long)o->unalign);
    if (o->loop.blocking != 0) {
        printf("# Blocking Enabled: wait for completion%s after each collective\n",
               o->loop.blocking != 2 ? " and barrier" : "");
    }
    if (o->loop.per_iter != 0) {
        printf("# Per-iteration timing enabled, first %lld iterations left out\n",
               (long long)o->loop.per_iter_skip);
    }
    if (o->loop.stats) {
        printf("# Statistics of single iterations, of the slowest rank each, first %lld left out\n",
               (long long)o->loop.per_iter_skip);
    }
    if (o->every || weft_coll_has_vectors(o->coll)) {
        printf("# Blocks of the vector collectives: %s, seed %llu\n",
               perf_pattern_name(&o->pattern), (unsigned long long)o->pattern.seed);
    }
    if (o->parallel_init != 0) {
        printf("# Parallel Init Enabled: threads call into weft_comm_init_rank concurrently\n");
    }
}

static void perf_table_print_half(const perf_options_t *o, const char *time, bool unit)
{
    printf("  %7s  %6s  %6s", unit ? "(us)" : time, unit ? "(GB/s)" : "algbw",
           unit ? "(GB/s)" : "busbw");
    if (o->loop.per_iter != 0) {
        printf("  %7s  %7s  %7s  %7s", unit ? "(us)" : "i_min", unit ? "(us)" : "i_max",
               unit ? "(us)" : "i_p99", unit ? "(%)" : "i_cv%");
    }
    printf("  %6s", unit ? "" : "#wrong");
}

static void perf_table_print_head(const perf_options_t *o)
{
    const char *time = o->output.cpu_time != 0 ? "cputime" : "time";
    int more = o->loop.per_iter != 0 ? 36 : 0;
    printf("#\n# %10s  %12s  %8s  %6s  %6s%11s%s%*s%s%*s\n", "", "", "", "", "", "", "out-of-place",
           23 + more, "", "in-place", 10 + more, "");
    printf("# %10s  %12s  %8s  %6s  %6s", "size", "count", "type", "redop", "root");
    perf_table_print_half(o, time, false);
    perf_table_print_half(o, time, false);
    printf(o->output.timestamps != 0 ? " %21s \n" : " \n", "timestamp");
    printf("# %10s  %12s  %8s  %6s  %6s", "(B)", "(elements)", "", "", "");
    perf_table_print_half(o, time, true);
    perf_table_print_half(o, time, true);
    printf(o->output.timestamps != 0 ? " %21s \n" : " \n", "");
}

/* Figures of ranks that share a device are not those of as many devices. */
static void perf_table_print_sharing(const perf_identity_t *ranks, uint32_t nranks)
{
    uint32_t most = 0;
    for (uint32_t r = 0; r < nranks; r++) {
        uint32_t sharers = perf_place_sharers(ranks, nranks, &ranks[r]);
        most = sharers > most ? sharers : most;
    }
    if (most > 1) {
        printf("# Ranks share devices: up to %u on one\n", most);
    }
}

void perf_table_begin(const perf_options_t *options, const perf_identity_t *ranks, uint32_t nranks,
                      uint64_t reduced_max)
{
    printf("# weft version %s weft-library=%d nccl-tests-format=2.19.6\n", weft_version(),
           WEFT_VERSION_MAJOR * 10000 + WEFT_VERSION_MINOR * 100 + WEFT_VERSION_PATCH);
    printf("# Collective test starting: %s\n", options->program);
    perf_table_print_settings(options);
    printf("#\n# Using devices\n");
    for (uint32_t r = 0; r < nranks; r++) {
        printf("#  Rank %2u Group %2d Pid %6d on %10s device %2u [%s] %s\n", r, 0, ranks[r].pid,
               ranks[r].host, ranks[r].device, ranks[r].pci, ranks[r].name);
    }
    perf_table_print_sharing(ranks, nranks);
    if (reduced_max != 0) {
        printf("#\n# Reducing maxBytes to %llu due to memory limitation\n",
               (unsigned long long)reduced_max);
    }
    perf_table_print_head(options);
    fflush(stdout);
}

static void perf_table_print_sample(const perf_options_t *o, uint32_t nranks,
                                    const perf_case_t *test, const perf_sample_t *sample)
{
    if (sample->absent) {
        printf("  %7s  %6s  %6s%s  %6s", "N/A", "N/A", "N/A",
               o->loop.per_iter != 0 ? "      N/A      N/A      N/A      N/A" : "", "N/A");
        return;
    }
    fputs("  ", stdout);
    perf_table_print_number(sample->time * 1e6, 7);
    fputs("  ", stdout);
    perf_table_print_number(perf_algbw(test, sample->time), 6);
    fputs("  ", stdout);
    perf_table_print_number(perf_busbw(test, nranks, sample->time), 6);
    const perf_spread_t *own = &sample->own;
    const double more[] = {own->min * 1e6, own->max * 1e6, own->p99 * 1e6,
                           own->mean > 0 ? own->deviation / own->mean * 100 : 0};
    for (int i = 0; o->loop.per_iter != 0 && i < 4; i++) {
        fputs("  ", stdout);
        perf_table_print_number(more[i], 7);
    }
    if (sample->wrong < 0) {
        fputs("    N/A", stdout);
    } else {
        printf("  %6g", sample->wrong);
    }
}

static void perf_table_print_spread(const perf_options_t *o, const char *form,
                                    const perf_sample_t *sample)
{
    const perf_spread_t *s = &sample->slowest;
    if (o->loop.stats && !sample->absent) {
        printf("#   %-12s  min %.2f  p50 %.2f  p90 %.2f  p99 %.2f  max %.2f  stddev %.2f us\n",
               form, s->min * 1e6, s->p50 * 1e6, s->p90 * 1e6, s->p99 * 1e6, s->max * 1e6,
               s->deviation * 1e6);
    }
}

void perf_table_row(const perf_options_t *options, uint32_t nranks, const perf_case_t *test,
                    const perf_sample_t *out, const perf_sample_t *in)
{
    bool barrier = test->coll == WEFT_BARRIER;
    printf("%12llu  %12llu  %8s  %6s  %6d", (unsigned long long)test->size,
           (unsigned long long)test->count, barrier ? "none" : weft_dtype_name(test->dtype),
           perf_op_text(test->coll, test->op),
           weft_coll_is_rooted(test->coll) ? (int)test->root : -1);
    perf_table_print_sample(options, nranks, test, out);
    perf_table_print_sample(options, nranks, test, in);
    if (options->output.timestamps != 0) {
        char now[32];
        perf_timestamp(now, sizeof now);
        printf(" %21s", now);
    }
    fputc('\n', stdout);
    if (test->model >= 0 && out->time > 0) {
        printf("#   %-12s  %.2f us, %+.0f %%\n", "model", test->model * 1e6,
               (test->model / out->time - 1) * 100);
    }
    perf_table_print_spread(options, "out-of-place", out);
    perf_table_print_spread(options, "in-place", in);
    fflush(stdout);
}

void perf_table_next(weft_coll_t coll, const char *unserved)
{
    if (unserved[0] != '\0') {
        printf("# SKIPPED %s: %s\n", weft_coll_name(coll), unserved);
    } else {
        printf("# %s\n", weft_coll_name(coll));
    }
    fflush(stdout);
}

/* One line a collective. */
static void perf_table_print_summary(const perf_report_t *report)
{
    printf("#\n# Summary        %-16s  %6s  %10s  %8s\n", "collective", "rows", "busbw", "#wrong");
    for (int c = 0; c < WEFT_COLL_COUNT; c++) {
        const perf_total_t *total = &report->each[c];
        const char *verdict = report->support->unserved[c][0] != '\0' ? "SKIPPED"
                              : total->wrong > 0                      ? "FAILED"
                              : total->rows == 0                      ? "NOT RUN"
                                                                      : "OK";
        printf("# %-12s   %-16s  %6llu  %10.4g  %8.0f\n", verdict, weft_coll_name((weft_coll_t)c),
               (unsigned long long)total->rows, perf_total_average(total), total->wrong);
    }
}

void perf_table_end(const perf_report_t *report, const perf_rank_t *rank, const char *error)
{
    const perf_options_t *o = report->options;
    if (o->every) {
        perf_table_print_summary(report);
    }
    printf("# %-20s : %.0f %s\n", "Out of bounds values", report->all.wrong,
           report->all.wrong > 0 ? "FAILED" : "OK");
    printf("# %-20s : %g %s\n", "Avg bus bandwidth", perf_total_average(&report->all),
           o->output.min_bandwidth <= 0       ? ""
           : perf_report_bandwidth_ok(report) ? "OK"
                                              : "FAILED");
    printf("#\n# Collective test concluded: %s\n", o->program);
    if (o->memory != 0) {
        const double mib = 1024 * 1024;
        const uint64_t *memory = rank->memory;
        printf("# %-20s : Initialization %.1f MiB | User-Allocated %.1f MiB | Collective %.1f MiB "
               "| Total %.1f MiB\n",
               "Host memory per rank", (double)memory[0] / mib, (double)memory[1] / mib,
               (double)memory[2] / mib, (double)(memory[0] + memory[1] + memory[2]) / mib);
        if (rank->held.nranks > 0) {
            holdings_summary_print(&rank->held, "# ");
        }
    }
    puts("#");
    if (error != NULL && error[0] != '\0') {
        printf("# error: %s\n", error);
    } else {
        puts("");
    }
    fflush(stdout);
}
