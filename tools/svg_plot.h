/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plots with two logarithmic axes: lines, marks, filled cells, a key. */
#ifndef WEFT_TOOLS_SVG_PLOT_H
#define WEFT_TOOLS_SVG_PLOT_H

#include "tools/svg.h"

typedef enum plot_unit {
    PLOT_NUMBER,  /* 1, 10, 1 k */
    PLOT_BYTES,   /* powers of 2: 1 B, 1 KiB */
    PLOT_RANKS,   /* powers of 2: 4, 16 */
    PLOT_SECONDS, /* 1 us, 1 ms */
    PLOT_GBS      /* numbers with decimals */
} plot_unit_t;

typedef struct plot_axis {
    const char *name;
    plot_unit_t unit;
    double low, high; /* above 0 */
} plot_axis_t;

typedef struct plot {
    svg_t *svg;
    svg_box_t box; /* of the data */
    plot_axis_t x, y;
} plot_t;

typedef struct plot_style {
    const char *colour;
    double width;
    const char *dash;
    bool marks; /* a dot at every point */
} plot_style_t;

/* Frame, grid, numbers, names of the axes, and a title over it. */
void plot_axes(const plot_t *plot, const char *title);
svg_point_t plot_at(const plot_t *plot, double x, double y);
void plot_line(const plot_t *plot, const double *x, const double *y, size_t count,
               const plot_style_t *style);
/* A ring round a point that matters. */
void plot_mark(const plot_t *plot, double x, double y);
/* From (x0, y0) to (x1, y1) in the units of the axes. */
void plot_cell(const plot_t *plot, svg_point_t low, svg_point_t high, const char *colour);

#endif
