/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See tune_write.h. */
#include "tools/tune_write.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/coll.h"
#include "core/base/plural.h"
#include "core/os/os.h"
#include "tools/plan_price.h"
#include "tools/tool.h"
#include "tools/whole_file.h"

/* A winner stays unless another is better by more than this, surely or as far as the range
 * tells. */
#define ALIKE 1.02
#define ALIKE_AT_MOST 1.05

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

/* The results from `first` on that are of one collective and size; returns the end. */
static size_t tune_point_end(const tune_results_t *results, size_t first)
{
    size_t end = first;
    while (end < results->count && results->list[end].coll == results->list[first].coll &&
           results->list[end].bytes == results->list[first].bytes) {
        end++;
    }
    return end;
}

/* Index of the winner at each size of a collective: the best of its size, or the winner of the size
 * before if that is as good within its confidence. Results of one collective stand together, in
 * the order of sizes. */
static size_t tune_winner(const tune_results_t *results, size_t first, size_t end,
                          const char *before)
{
    size_t best = first;
    for (size_t i = first; i < end; i++) {
        best = results->list[i].seconds < results->list[best].seconds ? i : best;
    }
    for (size_t i = first; i < end; i++) {
        const tune_result_t *r = &results->list[i];
        double least = results->list[best].seconds;
        bool alike =
            r->seconds <= ALIKE * least || (r->low <= least && r->seconds <= ALIKE_AT_MOST * least);
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
            price_time_text(w->seconds, time), price_time_text(w->low, low),
            price_time_text(w->high, high));
    for (size_t i = first; i < end; i++) {
        const tune_result_t *r = &results->list[i];
        if (i != winner) {
            fprintf(out, ", %s %s", r->algo, price_time_text(r->seconds, time));
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

/* Sizes from `from` up to the border to the next point. A type that was asked for is in the rules
 * of collectives that reduce: runs for several types may share a file. */
static void tune_write_rule(FILE *out, const tune_rank_t *rank, const tune_result_t *winner,
                            uint64_t from, uint64_t to)
{
    char first[24], last[24], how[TUNE_NAME_MAX];
    snprintf(how, sizeof how, "%s", winner->algo);
    for (char *comma = strchr(how, ','); comma != NULL; comma = strchr(comma, ',')) {
        *comma = ' ';
    }
    const bool typed = rank->request->typed && weft_coll_reduces(winner->coll);
    fprintf(out, "rule = %s bytes=%s..%s ranks=%u hosts=%u%s%s: %s\n", weft_coll_name(winner->coll),
            tune_write_size(from, first), tune_write_size(to, last), rank->nranks,
            rank->figures.nhosts, typed ? " dtype=" : "",
            typed ? weft_dtype_name(rank->request->dtype) : "", how);
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

/* What is read back: 0 would say nothing, and beyond the limits of [figures] the file would be
 * refused. */
static double tune_write_ns(double seconds)
{
    return fmin(fmax(seconds * 1e9, 1), 60e9);
}

static double tune_write_gb_per_second(double beta)
{
    return fmin(fmax(1e-9 / beta, 1e-9), 1e6);
}

static void tune_write_figures(FILE *out, const tune_rank_t *rank, const tune_figures_t *figures)
{
    static const char *const names[] = {
#define NAME(value, name, bytes, text) [value] = text,
        WEFT_DTYPE_MAP(NAME)
#undef NAME
            [WEFT_FIGURES_COPY] = "copy",
        [WEFT_FIGURES_MEMORY] = "memory",
    };
    fprintf(out, "\n[figures]\n");
    for (uint32_t l = 0; l < WEFT_LEVELS; l++) {
        const weft_cost_edge_t *edge = &figures->level[l];
        const weft_cost_busy_t *busy = &figures->busy[l];
        if (edge->alpha > 0 && edge->beta > 0) {
            fprintf(out, "edge = %s %s latency=%.0fns overhead=%.0fns bandwidth=%.4gGB/s",
                    figures->net[l], l == WEFT_LEVEL_INSIDE ? "inside" : "between",
                    tune_write_ns(edge->alpha), tune_write_ns(edge->overhead),
                    tune_write_gb_per_second(edge->beta));
            if (busy->turn > 0) {
                fprintf(out, " turn=%.0fns slice=%.0fns work=%.4gGB/s", tune_write_ns(busy->turn),
                        tune_write_ns(busy->slice), tune_write_gb_per_second(busy->beta));
            }
            if (l == WEFT_LEVEL_BETWEEN && figures->wire > 0) {
                fprintf(out, " wire=%.4gGB/s", tune_write_gb_per_second(figures->wire));
            }
            fprintf(out, "\n");
        }
    }
    fprintf(out, "kernel = %s", rank->figures.kernel);
    for (uint32_t i = 0; i < WEFT_FIGURES_RATES; i++) {
        if (figures->gamma[i] > 0) {
            fprintf(out, " %s=%.3gGB/s", names[i], tune_write_gb_per_second(figures->gamma[i]));
        }
    }
    fprintf(out, "\n");
    if (figures->cache > 0) {
        fprintf(out, "cache = %.0f\n", fmin(fmax(figures->cache, 1), 0x1p40));
    }
    /* Also where the configuration says so already: the file that is written takes its place. */
    if (figures->cores < rank->figures.crowd) {
        fprintf(out, "cores = %.2f\n", fmax(figures->cores, 0.01));
    }
}

static int tune_write_compare_real(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* True if the model, or else the tuner as configured, chooses this result at its size. */
static bool tune_write_is_chosen(const tune_results_t *results, size_t first, size_t end, size_t i,
                                 bool by_model)
{
    for (size_t j = first; by_model && j < end; j++) {
        const tune_result_t *other = &results->list[j];
        if (other->model < results->list[i].model ||
            (j < i && other->model <= results->list[i].model)) {
            return false;
        }
    }
    return by_model || results->list[i].chosen;
}

static void tune_write_count_choices(const tune_results_t *results, bool by_model,
                                     tune_errors_t *errors)
{
    for (size_t at = 0, end; at < results->count; at = end) {
        end = tune_point_end(results, at);
        double best = results->list[tune_winner(results, at, end, "")].seconds;
        for (size_t i = at; i < end; i++) {
            bool chosen = tune_write_is_chosen(results, at, end, i, by_model);
            errors->all += chosen;
            errors->good += chosen && results->list[i].seconds <= 1.1 * best;
        }
    }
}

void tune_errors_find(const tune_results_t *results, bool by_model, tune_errors_t *errors)
{
    size_t n = results->count;
    double *wrong = calloc(n + 1, sizeof *wrong);
    *errors = (tune_errors_t){0};
    if (wrong == NULL || n == 0) {
        free(wrong);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        wrong[i] = fabs(results->list[i].model / results->list[i].seconds - 1) * 100;
    }
    qsort(wrong, n, sizeof *wrong, tune_write_compare_real);
    *errors =
        (tune_errors_t){.low = wrong[n / 4], .median = wrong[n / 2], .high = wrong[3 * n / 4]};
    tune_write_count_choices(results, by_model, errors);
    free(wrong);
}

void tune_errors_print(FILE *out, const tune_errors_t *before, const tune_errors_t *after)
{
    fprintf(out,
            "# The model as configured was wrong by %.0f %% in the median (quartiles %.0f and %.0f "
            "%%);\n# its choice was within 10 %% of the best at %zu of %zu sizes.\n",
            before->median, before->low, before->high, before->good, before->all);
    fprintf(out,
            "# With the figures found here it is wrong by %.0f %% (quartiles %.0f and %.0f %%),\n"
            "# and would choose well, without rules, at %zu of %zu.\n",
            after->median, after->low, after->high, after->good, after->all);
}

bool tune_write_ini(const tune_rank_t *rank, const tune_figures_t *figures,
                    const tune_results_t *results, const tune_errors_t errors[2])
{
    char host[64], date[32] = "";
    time_t now = time(NULL);
    struct tm local;
    whole_file_t file;
    weft_status_t status = whole_file_open(&file, rank->request->out);
    if (status != WEFT_OK) {
        return tool_report(status) == TOOL_OK;
    }
    FILE *out = file.out;
    if (localtime_r(&now, &local) != NULL) {
        (void)strftime(date, sizeof date, "%Y-%m-%d %H:%M", &local);
    }
    weft_os_host_name(host, sizeof host);
    fprintf(out,
            TUNE_FIRST_WORDS
            "%s tune on %s, %s: %u ranks on %u host%s.\n"
            "# Use it as it is (WEFT_CONF, --conf), or copy the sections into another weft.ini.\n"
            "# Times are the middle of %lld rounds, compared within each, with the range of the "
            "median.\n",
            weft_version(), host, date, rank->nranks, rank->figures.nhosts,
            weft_plural(rank->figures.nhosts), (long long)rank->request->rounds);
    tune_errors_print(out, &errors[0], &errors[1]);
    tune_write_figures(out, rank, figures);
    fprintf(out, "\n[tuner]\n");
    for (size_t at = 0; at < results->count;) {
        at = tune_write_coll(out, rank, results, at);
    }
    status = whole_file_close(&file);
    return status == WEFT_OK || tool_report(status) == TOOL_OK;
}
