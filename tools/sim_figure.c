/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The picture of `weft sim`: time over message size, and a map of who is fastest. */
#include "tools/sim_figure.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/error.h"
#include "core/base/plural.h"
#include "core/comm/figures.h"
#include "tools/plan_price.h"
#include "tools/sim_point.h"
#include "tools/svg.h"
#include "tools/svg_plot.h"
#include "tools/tool.h"
#include "tools/whole_file.h"

#define SAMPLES 160u
#define TIE 0.98      /* faster by less is equal */
#define CURVES_MAX 3u /* numbers of ranks in the left panel */

typedef struct figure {
    const sim_request_t *request;
    const sim_point_t *points;
    svg_t svg;
    double sizes[SAMPLES];
    svg_colour_t colour[SIM_ALGOS_MAX];
} figure_t;

static const sim_point_t *sim_figure_point_of(const figure_t *figure, uint32_t i, uint32_t a)
{
    return &figure->points[i * figure->request->nspecs + a];
}

static double sim_figure_time(const figure_t *figure, const sim_point_t *point, double size)
{
    return sim_point_time(figure->request, point, (uint64_t)size).seconds;
}

/* `last`, if nobody beats it by more than TIE: what is equal shall not flicker. */
static uint32_t sim_figure_fastest(const figure_t *figure, uint32_t i, double size, uint32_t last)
{
    uint32_t best = last;
    double least = last == figure->request->nspecs
                       ? INFINITY
                       : TIE * sim_figure_time(figure, sim_figure_point_of(figure, i, last), size);
    for (uint32_t a = 0; a < figure->request->nspecs; a++) {
        double t = sim_figure_time(figure, sim_figure_point_of(figure, i, a), size);
        if (t < least) {
            least = t;
            best = a;
        }
    }
    return best;
}

/* Rows of the left panel: the smallest, the middle and the largest number of ranks. */
static uint32_t sim_figure_curve_ranks(const figure_t *figure, uint32_t curve)
{
    uint32_t last = figure->request->nranks - 1;
    uint32_t curves = last + 1 < CURVES_MAX ? last + 1 : CURVES_MAX;
    return curves < 2 ? 0 : curve * last / (curves - 1);
}

/* Times of 0, as without latency, have no place on a logarithmic axis. */
static void sim_figure_time_range(const figure_t *figure, double *low, double *high)
{
    *low = INFINITY;
    *high = 0;
    uint32_t curves = figure->request->nranks < CURVES_MAX ? figure->request->nranks : CURVES_MAX;
    for (uint32_t c = 0; c < curves; c++) {
        for (uint32_t a = 0; a < figure->request->nspecs; a++) {
            for (uint32_t s = 0; s < SAMPLES; s += SAMPLES - 1) {
                double t = sim_figure_time(
                    figure, sim_figure_point_of(figure, sim_figure_curve_ranks(figure, c), a),
                    figure->sizes[s]);
                *low = t > 0 && t < *low ? t : *low;
                *high = isfinite(t) && t > *high ? t : *high;
            }
        }
    }
    *low = isfinite(*low) ? *low * 0.6 : 1e-9;
    *high = *high > *low ? *high * 1.6 : *low * 10;
}

static void sim_figure_put_curve(const figure_t *figure, const plot_t *plot, uint32_t curve,
                                 uint32_t a)
{
    static const char *const dashes[CURVES_MAX] = {"1.5 4", "7 4", NULL};
    uint32_t curves = figure->request->nranks < CURVES_MAX ? figure->request->nranks : CURVES_MAX;
    const sim_point_t *p = sim_figure_point_of(figure, sim_figure_curve_ranks(figure, curve), a);
    double y[SAMPLES];
    if (!sim_point_good(p)) {
        return;
    }
    for (uint32_t s = 0; s < SAMPLES; s++) {
        y[s] = sim_figure_time(figure, p, figure->sizes[s]);
    }
    plot_style_t style = {.colour = figure->colour[a].text,
                          .width = 2.2,
                          .dash = dashes[CURVES_MAX - curves + curve]};
    plot_line(plot, figure->sizes, y, SAMPLES, &style);
}

static void sim_figure_put_crossings(const figure_t *figure, const plot_t *plot, uint32_t curve)
{
    uint32_t i = sim_figure_curve_ranks(figure, curve), none = figure->request->nspecs;
    uint32_t last = sim_figure_fastest(figure, i, figure->sizes[0], none);
    for (uint32_t s = 1; s < SAMPLES; s++) {
        uint32_t now = sim_figure_fastest(figure, i, figure->sizes[s], last);
        if (now == last || now == figure->request->nspecs) {
            continue;
        }
        double size = sqrt(figure->sizes[s - 1] * figure->sizes[s]);
        double t = sim_figure_time(figure, sim_figure_point_of(figure, i, now), size);
        if (t > 0) {
            plot_mark(plot, size, t);
        }
        last = now;
    }
}

static void sim_figure_put_keys(figure_t *figure, double x, double y)
{
    svg_t *svg = &figure->svg;
    svg_font_t font = {.size = 12.5, .anchor = 's'};
    static const char *const dashes[CURVES_MAX] = {"1.5 4", "7 4", NULL};
    for (uint32_t a = 0; a < figure->request->nspecs; a++) {
        svg_paint_t stroke = {.stroke = figure->colour[a].text, .width = 5};
        svg_line(svg, (svg_point_t){x, y - 4}, (svg_point_t){x + 24, y - 4}, &stroke);
        svg_text(svg, (svg_point_t){x + 31, y}, &font, "%s", figure->points[a].algo);
        x += 52 + svg_width(figure->points[a].algo, 12.5);
    }
    uint32_t curves = figure->request->nranks < CURVES_MAX ? figure->request->nranks : CURVES_MAX;
    for (uint32_t c = 0; c < curves; c++) {
        char text[32];
        svg_paint_t stroke = {
            .stroke = SVG_INK, .width = 2, .dash = dashes[CURVES_MAX - curves + c]};
        snprintf(text, sizeof text, "%u ranks",
                 figure->request->ranks[sim_figure_curve_ranks(figure, c)]);
        svg_line(svg, (svg_point_t){x, y - 4}, (svg_point_t){x + 32, y - 4}, &stroke);
        svg_text(svg, (svg_point_t){x + 39, y}, &font, "%s", text);
        x += 60 + svg_width(text, 12.5);
    }
    svg_paint_t ring = {.fill = SVG_PAPER, .stroke = SVG_INK, .width = 1.6};
    svg_circle(svg, (svg_point_t){x + 6, y - 4}, 4.5, &ring);
    svg_text(svg, (svg_point_t){x + 18, y}, &font, "crossover");
}

static double sim_figure_edge(const figure_t *figure, uint32_t i, int upper)
{
    const uint32_t *ranks = figure->request->ranks;
    uint32_t last = figure->request->nranks - 1;
    if (last == 0) {
        return upper ? ranks[0] * 2.0 : ranks[0] / 2.0;
    }
    if (upper) {
        double ratio = i < last ? (double)ranks[i + 1] / ranks[i] : (double)ranks[i] / ranks[i - 1];
        return ranks[i] * sqrt(ratio);
    }
    double ratio = i > 0 ? (double)ranks[i] / ranks[i - 1] : (double)ranks[i + 1] / ranks[i];
    return ranks[i] / sqrt(ratio);
}

/* One cell for all neighbouring sizes with the same answer. */
static void sim_figure_put_map(const figure_t *figure, const plot_t *plot)
{
    uint32_t none = figure->request->nspecs;
    for (uint32_t i = 0; i < figure->request->nranks; i++) {
        uint32_t last = sim_figure_fastest(figure, i, figure->sizes[0], none), first = 0;
        for (uint32_t s = 1; s < SAMPLES; s++) {
            uint32_t now = sim_figure_fastest(figure, i, figure->sizes[s], last);
            if (now == last && s + 1 < SAMPLES) {
                continue;
            }
            if (last != none) {
                plot_cell(plot, (svg_point_t){figure->sizes[first], sim_figure_edge(figure, i, 0)},
                          (svg_point_t){figure->sizes[s], sim_figure_edge(figure, i, 1)},
                          figure->colour[last].text);
            }
            last = now;
            first = s;
        }
    }
}

static void sim_figure_put_panels(figure_t *figure)
{
    const sim_request_t *request = figure->request;
    double low, high;
    uint32_t curves = request->nranks < CURVES_MAX ? request->nranks : CURVES_MAX;
    sim_figure_time_range(figure, &low, &high);
    plot_axis_t sizes = {"message size", PLOT_BYTES, figure->sizes[0], figure->sizes[SAMPLES - 1]};
    plot_t left = {.svg = &figure->svg,
                   .box = {80, 134, 480, 400, 0},
                   .x = sizes,
                   .y = {"", PLOT_SECONDS, low, high}};
    plot_axes(&left, "time of one operation");
    for (uint32_t c = 0; c < curves; c++) {
        for (uint32_t a = 0; a < request->nspecs; a++) {
            sim_figure_put_curve(figure, &left, c, a);
        }
    }
    for (uint32_t c = 0; c < curves; c++) {
        sim_figure_put_crossings(figure, &left, c);
    }
    plot_t right = {.svg = &figure->svg,
                    .box = {660, 134, 480, 400, 0},
                    .x = sizes,
                    .y = {"ranks", PLOT_RANKS, sim_figure_edge(figure, 0, 0),
                          sim_figure_edge(figure, request->nranks - 1, 1)}};
    plot_axes(&right, "the fastest, by more than 2 %");
    sim_figure_put_map(figure, &right);
}

/* With a path, what slices cost through slots between the devices of a host. */
static void sim_figure_put_model(figure_t *figure, const price_model_t *model)
{
    const sim_request_t *request = figure->request;
    const bool devices = plan_path_is_given(&model->path);
    const weft_cost_model_t figures = price_model_figures(model);
    const weft_cost_edge_t *edge = &figures.level[WEFT_LEVEL_INSIDE];
    svg_font_t small = {.size = 13, .anchor = 's', .fill = SVG_GREY};
    char text[24], more[24];
    svg_text(&figure->svg, (svg_point_t){28, 62}, &small,
             "cost walk · %s%s%s%sα %s a message, %s a further one · links %.4g GB/s · combining "
             "%.4g GB/s · %lld slots of up to %llu KiB · %lld rank%s a host",
             devices ? model->path.kernel : "", devices ? " " : "",
             devices ? weft_figures_path_name(model->path.path) : "", devices ? " · " : "",
             price_time_text(edge->alpha, text), price_time_text(edge->overhead, more),
             1e-9 / edge->beta, 1e-9 / figures.gamma, (long long)request->slots,
             (unsigned long long)(model->slot_bytes >> 10), (long long)request->per_host,
             weft_plural((uint64_t)request->per_host));
}

static void put_figure(figure_t *figure, FILE *out)
{
    const sim_request_t *request = figure->request;
    const price_model_t *model = NULL;
    char title[160];
    for (uint32_t i = 0; i < request->nranks * request->nspecs && model == NULL; i++) {
        model = figure->points[i].served ? &figure->points[i].model : NULL;
    }
    snprintf(title, sizeof title, "%s: which algorithm for which size",
             weft_coll_name(request->coll));
    svg_open(&figure->svg, out, 1170, 640, title);
    svg_font_t large = {.size = 22, .anchor = 's', .bold = true};
    svg_text(&figure->svg, (svg_point_t){28, 40}, &large, "%s", title);
    if (model != NULL) {
        sim_figure_put_model(figure, model);
    }
    sim_figure_put_keys(figure, 28, 92);
    sim_figure_put_panels(figure);
    svg_close(&figure->svg);
}

static void sim_figure_fill(figure_t *figure, const sim_request_t *request,
                            const sim_point_t *points)
{
    double low = (double)request->price.first, high = (double)request->price.last;
    high = high > low ? high : low * 2;
    figure->request = request;
    figure->points = points;
    for (uint32_t s = 0; s < SAMPLES; s++) {
        figure->sizes[s] = low * pow(high / low, (double)s / (SAMPLES - 1));
    }
    for (uint32_t a = 0; a < request->nspecs; a++) {
        figure->colour[a] = request->nspecs == 2 ? svg_oklch(0.66, 0.14, a == 0 ? 250 : 55)
                                                 : svg_hue(a, request->nspecs);
    }
}

int sim_put_figure(const sim_request_t *request, const sim_point_t *points)
{
    figure_t *figure = calloc(1, sizeof *figure);
    whole_file_t file;
    weft_status_t status = figure != NULL
                               ? whole_file_open(&file, request->svg)
                               : weft_fail(WEFT_ERR_RESOURCE, 0, "out of memory for a drawing");
    if (status != WEFT_OK) {
        free(figure);
        return tool_report(status);
    }
    sim_figure_fill(figure, request, points);
    put_figure(figure, file.out);
    free(figure);
    status = whole_file_close(&file);
    return status == WEFT_OK ? TOOL_OK : tool_report(status);
}
