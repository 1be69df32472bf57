/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Log-log plots. */
#include "tools/svg_plot.h"

#include <math.h>
#include <stdlib.h>

#include "tools/svg.h"

static double svg_plot_place(const plot_axis_t *axis, double value)
{
    double v = value < axis->low ? axis->low : value > axis->high ? axis->high : value;
    return log(v / axis->low) / log(axis->high / axis->low);
}

svg_point_t plot_at(const plot_t *plot, double x, double y)
{
    return (svg_point_t){plot->box.x + plot->box.w * svg_plot_place(&plot->x, x),
                         plot->box.y + plot->box.h * (1 - svg_plot_place(&plot->y, y))};
}

static void svg_plot_name_value(plot_unit_t unit, double value, char text[32])
{
    static const char *const bytes[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    static const char *const times[] = {"ns", "us", "ms", "s", "ks"};
    static const char *const numbers[] = {"", " k", " M", " G", " T"};
    int at = 0;
    switch (unit) {
    case PLOT_BYTES:
        for (; value >= 1024 && at < 4; at++) {
            value /= 1024;
        }
        snprintf(text, 32, "%.4g %s", value, bytes[at]);
        break;
    case PLOT_SECONDS:
        for (value *= 1e9; value >= 999.5 && at < 4; at++) {
            value /= 1000;
        }
        snprintf(text, 32, "%.3g %s", value, times[at]);
        break;
    case PLOT_RANKS:
    case PLOT_GBS:
        snprintf(text, 32, "%.5g", value);
        break;
    default:
        for (; value >= 999.5 && at < 4; at++) {
            value /= 1000;
        }
        snprintf(text, 32, "%.3g%s", value, numbers[at]);
    }
}

/* From one grid line to the next: a factor that leaves at most `most` of them. */
static double svg_plot_grid_factor(const plot_axis_t *axis, double most)
{
    double base = axis->unit == PLOT_BYTES ? 2 : axis->unit == PLOT_RANKS ? 4 : 10, factor = base;
    while (log(axis->high / axis->low) / log(factor) > most) {
        factor *= base;
    }
    return factor;
}

static double svg_plot_grid_first(const plot_axis_t *axis, double factor)
{
    return pow(factor, ceil(log(axis->low) / log(factor) - 1e-9));
}

static void svg_plot_put_grid_x(const plot_t *plot)
{
    double factor = svg_plot_grid_factor(&plot->x, plot->box.w / 62);
    svg_paint_t line = {.stroke = SVG_FAINT, .width = 1};
    svg_font_t font = {.size = 11, .anchor = 'm', .fill = SVG_GREY};
    double bottom = plot->box.y + plot->box.h;
    for (double v = svg_plot_grid_first(&plot->x, factor); v <= plot->x.high * 1.0001;
         v *= factor) {
        char text[32];
        double x = plot_at(plot, v, plot->y.low).x;
        svg_plot_name_value(plot->x.unit, v, text);
        svg_line(plot->svg, (svg_point_t){x, plot->box.y}, (svg_point_t){x, bottom}, &line);
        svg_text(plot->svg, (svg_point_t){x, bottom + 17}, &font, "%s", text);
    }
    font.size = 12.5;
    svg_text(plot->svg, (svg_point_t){plot->box.x + plot->box.w / 2, bottom + 37}, &font, "%s",
             plot->x.name);
}

static void svg_plot_put_line_y(const plot_t *plot, double v)
{
    char text[32];
    svg_paint_t line = {.stroke = SVG_FAINT, .width = 1};
    svg_font_t font = {.size = 11, .anchor = 'e', .fill = SVG_GREY};
    double y = plot_at(plot, plot->x.low, v).y;
    svg_plot_name_value(plot->y.unit, v, text);
    svg_line(plot->svg, (svg_point_t){plot->box.x, y}, (svg_point_t){plot->box.x + plot->box.w, y},
             &line);
    svg_text(plot->svg, (svg_point_t){plot->box.x - 7, y + 4}, &font, "%s", text);
}

/* An axis that is too short for two lines of the grid has its ends. */
static void svg_plot_put_grid_y(const plot_t *plot)
{
    double factor = svg_plot_grid_factor(&plot->y, plot->box.h / 30);
    double first = svg_plot_grid_first(&plot->y, factor);
    if (first * factor > plot->y.high * 1.0001) {
        svg_plot_put_line_y(plot, plot->y.low);
        svg_plot_put_line_y(plot, plot->y.high);
        return;
    }
    for (double v = first; v <= plot->y.high * 1.0001; v *= factor) {
        svg_plot_put_line_y(plot, v);
    }
}

void plot_axes(const plot_t *plot, const char *title)
{
    svg_font_t bold = {.size = 13.5, .anchor = 's', .bold = true};
    svg_font_t small = {.size = 12.5, .anchor = 's', .fill = SVG_GREY};
    svg_paint_t frame = {.stroke = SVG_PALE, .width = 1.2};
    svg_plot_put_grid_x(plot);
    svg_plot_put_grid_y(plot);
    svg_rect(plot->svg, plot->box, &frame);
    svg_text(plot->svg, (svg_point_t){plot->box.x, plot->box.y - 12}, &bold, "%s", title);
    svg_text(plot->svg, (svg_point_t){plot->box.x + 14 + svg_width(title, 14.2), plot->box.y - 12},
             &small, "%s", plot->y.name);
}

void plot_line(const plot_t *plot, const double *x, const double *y, size_t count,
               const plot_style_t *style)
{
    svg_point_t *points = calloc(count + 1, sizeof *points);
    svg_paint_t stroke = {.stroke = style->colour, .width = style->width, .dash = style->dash};
    svg_paint_t dot = {.fill = style->colour};
    size_t used = 0;
    for (size_t i = 0; points != NULL && i < count; i++) {
        if (y[i] > 0 && isfinite(y[i])) {
            points[used++] = plot_at(plot, x[i], y[i]);
        }
    }
    if (used > 1) {
        svg_poly(plot->svg, points, used, &stroke);
    }
    for (size_t i = 0; style->marks && i < used; i++) {
        svg_circle(plot->svg, points[i], style->width + 1.2, &dot);
    }
    free(points);
}

void plot_mark(const plot_t *plot, double x, double y)
{
    svg_paint_t ring = {.fill = SVG_PAPER, .stroke = SVG_INK, .width = 1.6};
    svg_circle(plot->svg, plot_at(plot, x, y), 4.5, &ring);
}

void plot_cell(const plot_t *plot, svg_point_t low, svg_point_t high, const char *colour)
{
    svg_point_t a = plot_at(plot, low.x, low.y), b = plot_at(plot, high.x, high.y);
    svg_paint_t fill = {.fill = colour};
    svg_rect(plot->svg, (svg_box_t){a.x, b.y, b.x - a.x + 0.3, a.y - b.y + 0.3, 0}, &fill);
}
