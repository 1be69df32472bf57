/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See tune_write.h. */
#include "tools/tune_write.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/coll.h"
#include "core/os/os.h"
#include "tools/plan_price.h"
#include "tools/tool.h"

#define ALIKE 1.02 /* a winner stays unless another is better by more than this */

static int tune_write_compare(const void *a, const void *b)
{
    const tune_result_t *x = a, *y = b;
    if (x->coll != y->coll) {
        return x->coll < y->coll ? -1 : 1;
    }
    if (x->bytes != y->bytes) {
        return x->bytes < y->bytes ? -1 : 1;
    }
    return strcmp(x->algo, y->algo);
}

void tune_results_sort(tune_results_t *results)
{
    qsort(results->list, results->count, sizeof *results->list, tune_write_compare);
}

size_t tune_point_end(const tune_results_t *results, size_t first)
{
    size_t end = first;
    while (end < results->count && results->list[end].coll == results->list[first].coll &&
           results->list[end].bytes == results->list[first].bytes) {
        end++;
    }
    return end;
}

size_t tune_winner(const tune_results_t *results, size_t first, size_t end, const char *before)
{
    size_t best = first;
    for (size_t i = first; i < end; i++) {
        best = results->list[i].median < results->list[best].median ? i : best;
    }
    for (size_t i = first; i < end; i++) {
        const tune_result_t *r = &results->list[i];
        bool alike =
            r->median <= ALIKE * results->list[best].median || r->low <= results->list[best].median;
        if (strcmp(r->algo, before) == 0 && alike) {
            return i;
        }
    }
    return best;
}

static void tune_write_point(FILE *out, const tune_results_t *results, size_t first, size_t end,
                             size_t winner)
{
    char size[24], time[24], low[24], high[24];
    const tune_result_t *w = &results->list[winner];
    fprintf(out, "# %s: %s %s (%s to %s)", price_size_text(w->bytes, size), w->algo,
            price_time_text(w->median, time), price_time_text(w->low, low),
            price_time_text(w->high, high));
    for (size_t i = first; i < end; i++) {
        const tune_result_t *r = &results->list[i];
        if (i != winner) {
            fprintf(out, ", %s %s", r->algo, price_time_text(r->median, time));
        }
    }
    fprintf(out, "\n");
}

/* "256K" where that is exact. */
static const char *tune_write_size(uint64_t bytes, char text[24])
{
    static const char units[] = "\0KMG";
    uint32_t unit = 0;
    for (; unit < 3 && bytes >= 1024 && bytes % 1024 == 0; unit++) {
        bytes /= 1024;
    }
    snprintf(text, 24, "%llu%.1s", (unsigned long long)bytes, &units[unit]);
    return text;
}

/* Sizes from `from` up to the border to the next point. */
static void tune_write_rule(FILE *out, const tune_rank_t *rank, const tune_result_t *winner,
                            uint64_t from, uint64_t to)
{
    char first[24], last[24];
    fprintf(out, "rule = %s bytes=%s..%s ranks=%u hosts=%u: %s\n", weft_coll_name(winner->coll),
            tune_write_size(from, first), tune_write_size(to, last), rank->nranks,
            rank->figures.nhosts, winner->algo);
}

/* The rules of one collective, from result `first` on; returns the end. */
static size_t tune_write_coll(FILE *out, const tune_rank_t *rank, const tune_results_t *results,
                              size_t first)
{
    weft_coll_t coll = results->list[first].coll;
    const tune_result_t *held = NULL;
    uint64_t from = results->list[first].bytes;
    size_t at = first;
    fprintf(out, "\n");
    while (at < results->count && results->list[at].coll == coll) {
        size_t end = tune_point_end(results, at);
        size_t winner = tune_winner(results, at, end, held != NULL ? held->algo : "");
        const tune_result_t *w = &results->list[winner];
        if (held != NULL && strcmp(w->algo, held->algo) != 0) {
            uint64_t border = (uint64_t)sqrt((double)held->bytes * (double)w->bytes);
            tune_write_rule(out, rank, held, from, border);
            from = border;
        }
        tune_write_point(out, results, at, end, winner);
        held = w;
        at = end;
    }
    tune_write_rule(out, rank, held, from, held->bytes);
    return at;
}

static void tune_write_figures(FILE *out, const tune_rank_t *rank, const tune_figures_t *figures)
{
    static const char *const names[] = {
#define NAME(value, name, bytes, text) [value] = text,
        WEFT_DTYPE_MAP(NAME)
#undef NAME
            [WEFT_FIGURES_COPY] = "copy",
    };
    fprintf(out, "\n[figures]\n");
    for (uint32_t l = 0; l < WEFT_LEVELS; l++) {
        const weft_cost_edge_t *edge = &figures->level[l];
        if (edge->alpha > 0) {
            fprintf(out, "edge = %s %s latency=%.0fns overhead=%.0fns bandwidth=%.3gGB/s\n",
                    figures->net[l], l == WEFT_LEVEL_INSIDE ? "inside" : "between",
                    edge->alpha * 1e9, edge->overhead * 1e9, 1e-9 / edge->beta);
        }
    }
    fprintf(out, "kernel = %s", rank->figures.kernel);
    for (uint32_t i = 0; i < WEFT_FIGURES_RATES; i++) {
        if (figures->gamma[i] > 0) {
            fprintf(out, " %s=%.3gGB/s", names[i], 1e-9 / figures->gamma[i]);
        }
    }
    fprintf(out, "\n");
}

static int tune_write_compare_real(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Sizes at which the choice as configured is within 10 % of the best. */
static void tune_write_count_choices(const tune_results_t *results, size_t *good, size_t *all)
{
    for (size_t at = 0, end; at < results->count; at = end) {
        end = tune_point_end(results, at);
        double best = results->list[tune_winner(results, at, end, "")].median;
        for (size_t i = at; i < end; i++) {
            *all += results->list[i].chosen;
            *good += results->list[i].chosen && results->list[i].median <= 1.1 * best;
        }
    }
}

void tune_write_errors(FILE *out, const tune_results_t *results)
{
    size_t good = 0, all = 0, n = results->count;
    double *errors = calloc(n + 1, sizeof *errors);
    if (errors == NULL || n == 0) {
        free(errors);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        errors[i] = fabs(results->list[i].model / results->list[i].median - 1) * 100;
    }
    qsort(errors, n, sizeof *errors, tune_write_compare_real);
    tune_write_count_choices(results, &good, &all);
    fprintf(out,
            "# The model as configured was wrong by %.0f %% in the median (quartiles %.0f and %.0f "
            "%%);\n# its choice was within 10 %% of the best at %zu of %zu sizes.\n",
            errors[n / 2], errors[n / 4], errors[3 * n / 4], good, all);
    free(errors);
}

bool tune_write_ini(const tune_rank_t *rank, const tune_figures_t *figures,
                    const tune_results_t *results)
{
    char host[64], date[32] = "";
    time_t now = time(NULL);
    struct tm local;
    FILE *out = fopen(rank->request->out, "w");
    if (out == NULL) {
        (void)tool_usage("cannot write %s: %s", rank->request->out, strerror(errno));
        return false;
    }
    if (localtime_r(&now, &local) != NULL) {
        (void)strftime(date, sizeof date, "%Y-%m-%d %H:%M", &local);
    }
    weft_os_host_name(host, sizeof host);
    fprintf(out,
            "# Measured by weft %s tune on %s, %s: %u ranks on %u host%s.\n"
            "# Use it as it is (WEFT_CONF, --conf), or copy the sections into another weft.ini.\n"
            "# Times are medians of %lld rounds with the range that holds the median.\n",
            weft_version(), host, date, rank->nranks, rank->figures.nhosts,
            rank->figures.nhosts == 1 ? "" : "s", (long long)rank->request->rounds);
    tune_write_errors(out, results);
    tune_write_figures(out, rank, figures);
    fprintf(out, "\n[tuner]\n");
    for (size_t at = 0; at < results->count;) {
        at = tune_write_coll(out, rank, results, at);
    }
    bool good = ferror(out) == 0;
    good = fclose(out) == 0 && good;
    if (!good) {
        (void)tool_usage("cannot write %s: %s", rank->request->out, strerror(errno));
    }
    return good;
}
