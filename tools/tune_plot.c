/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See tune_plot.h. */
#include "tools/tune_plot.h"

#include <math.h>
#include <string.h>

#include "core/base/plural.h"
#include "tools/svg_plot.h"
#include "tools/tool.h"
#include "tools/whole_file.h"

#define POINTS_MAX 256

/* The results of one collective. */
typedef struct tune_curves {
    const tune_results_t *results;
    size_t first, end;
    char algos[TUNE_CANDIDATES_MAX][TUNE_NAME_MAX];
    uint32_t count;
} tune_curves_t;

static void tune_plot_collect(tune_curves_t *curves, plot_t *plot)
{
    plot->x.low = plot->y.low = INFINITY;
    plot->x.high = plot->y.high = 0;
    for (size_t i = curves->first; i < curves->end; i++) {
        const tune_result_t *r = &curves->results->list[i];
        uint32_t known = 0;
        plot->x.low = fmin(plot->x.low, (double)r->bytes);
        plot->x.high = fmax(plot->x.high, (double)r->bytes);
        plot->y.low = fmin(plot->y.low, r->seconds);
        plot->y.high = fmax(plot->y.high, r->seconds);
        /* A variant has no line of its own: there are too many. */
        while (known < curves->count && strcmp(curves->algos[known], r->algo) != 0) {
            known++;
        }
        if (known == curves->count && known < TUNE_CANDIDATES_MAX && strchr(r->algo, ',') == NULL) {
            memcpy(curves->algos[curves->count++], r->algo, sizeof r->algo);
        }
    }
    plot->x.high = plot->x.high > plot->x.low ? plot->x.high : 2 * plot->x.low;
    plot->y.low /= 1.2;
    plot->y.high *= 1.2;
}

/* One line a candidate; dashes are the model's. */
static void tune_plot_curve(const tune_curves_t *curves, const plot_t *plot, uint32_t which)
{
    double x[POINTS_MAX], y[POINTS_MAX], model[POINTS_MAX];
    svg_colour_t colour = svg_hue(which, curves->count);
    size_t n = 0;
    for (size_t i = curves->first; i < curves->end && n < POINTS_MAX; i++) {
        const tune_result_t *r = &curves->results->list[i];
        if (strcmp(r->algo, curves->algos[which]) == 0) {
            x[n] = (double)r->bytes;
            y[n] = r->seconds;
            model[n++] = fmin(fmax(r->model, plot->y.low), plot->y.high);
        }
    }
    plot_style_t style = {.colour = colour.text, .width = 2, .marks = true};
    plot_line(plot, x, y, n, &style);
    style = (plot_style_t){.colour = colour.text, .width = 1, .dash = "3 4"};
    plot_line(plot, x, model, n, &style);
    svg_font_t font = {.size = 14, .anchor = 's', .fill = colour.text};
    svg_text(plot->svg,
             (svg_point_t){plot->box.x + plot->box.w + 16, plot->box.y + 20 + 22 * (double)which},
             &font, "%s", curves->algos[which]);
}

/* A ring where the tuner chooses. */
static void tune_plot_choices(const tune_curves_t *curves, const plot_t *plot)
{
    for (size_t i = curves->first; i < curves->end; i++) {
        const tune_result_t *r = &curves->results->list[i];
        if (r->chosen) {
            plot_mark(plot, (double)r->bytes, r->seconds);
        }
    }
}

static void tune_plot_draw(const tune_rank_t *rank, tune_curves_t *curves, FILE *out)
{
    char title[160];
    svg_t svg;
    plot_t plot = {.svg = &svg,
                   .box = {90, 70, 640, 400, 0},
                   .x = {.name = "bytes of one rank's block", .unit = PLOT_BYTES},
                   .y = {.name = "time", .unit = PLOT_SECONDS}};
    tune_plot_collect(curves, &plot);
    snprintf(title, sizeof title, "%s, %u ranks on %u host%s",
             weft_coll_name(curves->results->list[curves->first].coll), rank->nranks,
             rank->figures.nhosts, weft_plural(rank->figures.nhosts));
    svg_open(&svg, out, 920, 560, title);
    plot_axes(&plot, title);
    for (uint32_t i = 0; i < curves->count; i++) {
        tune_plot_curve(curves, &plot, i);
    }
    tune_plot_choices(curves, &plot);
    svg_font_t small = {.size = 12, .anchor = 's', .fill = SVG_GREY};
    svg_text(&svg, (svg_point_t){90, 545}, &small,
             "lines: measured; dashes: the model; rings: the choice as configured");
    svg_close(&svg);
}

static bool tune_plot_file(const tune_rank_t *rank, tune_curves_t *curves)
{
    char path[512];
    const char *out = rank->request->out, *dot = strrchr(out, '.');
    snprintf(path, sizeof path, "%.*s-%s.svg",
             dot != NULL && strchr(dot, '/') == NULL ? (int)(dot - out) : (int)strlen(out), out,
             weft_coll_name(curves->results->list[curves->first].coll));
    whole_file_t file;
    weft_status_t status = whole_file_open(&file, path);
    if (status == WEFT_OK) {
        tune_plot_draw(rank, curves, file.out);
        status = whole_file_close(&file);
    }
    return status == WEFT_OK || tool_report(status) == TOOL_OK;
}

bool tune_plot_all(const tune_rank_t *rank, const tune_results_t *results)
{
    bool good = true;
    for (size_t at = 0; at < results->count && good;) {
        tune_curves_t curves = {.results = results, .first = at};
        while (at < results->count && results->list[at].coll == results->list[curves.first].coll) {
            at++;
        }
        curves.end = at;
        good = tune_plot_file(rank, &curves);
    }
    return good;
}
