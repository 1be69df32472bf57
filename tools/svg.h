/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A small SVG writer: shapes, text, arrows, and colours that differ evenly to the eye. */
#ifndef WEFT_TOOLS_SVG_H
#define WEFT_TOOLS_SVG_H

#include <stdbool.h>
#include <stdio.h>

#include <weft/types.h>

#define SVG_INK "#1f2933"
#define SVG_GREY "#7b8794"
#define SVG_PALE "#d6dbe1"
#define SVG_FAINT "#eef1f4"
#define SVG_PAPER "#ffffff"

typedef struct svg {
    FILE *out;
} svg_t;

typedef struct svg_point {
    double x, y;
} svg_point_t;

typedef struct svg_box {
    double x, y, w, h;
    double round; /* radius of the corners */
} svg_box_t;

/* Colour as "#rrggbb". */
typedef struct svg_colour {
    char text[8];
} svg_colour_t;

/* How a shape is drawn; NULL colours are not drawn, 0 opacity is opaque, 0 width is 1. */
typedef struct svg_paint {
    const char *fill, *stroke;
    double width, opacity;
    const char *dash;
} svg_paint_t;

typedef struct svg_font {
    double size;
    char anchor; /* 's' start, 'm' middle, 'e' end */
    bool bold;
    const char *fill; /* NULL: ink */
} svg_font_t;

/* Returns the length of a way. Not hypot(): what uses that needs glibc 2.35. */
double svg_length(double dx, double dy);

/* The document, with a title that viewers show; `width` and `height` in pixels. */
void svg_open(svg_t *svg, FILE *out, double width, double height, const char *title);
void svg_close(svg_t *svg);

void svg_rect(svg_t *svg, svg_box_t box, const svg_paint_t *paint);
void svg_circle(svg_t *svg, svg_point_t centre, double radius, const svg_paint_t *paint);
void svg_line(svg_t *svg, svg_point_t from, svg_point_t to, const svg_paint_t *paint);
/* A polyline. */
void svg_poly(svg_t *svg, const svg_point_t *points, size_t count, const svg_paint_t *paint);
/* Part of a circle, in radians, clockwise from the right. */
void svg_arc(svg_t *svg, svg_point_t centre, double radius, const double angles[2],
             const svg_paint_t *paint);
/* Quadratic curve with a head of length `head` at its end (0: none). */
void svg_arrow(svg_t *svg, const svg_point_t curve[3], double head, const svg_paint_t *paint);
/* `format` may hold any characters; they are escaped. */
void svg_text(svg_t *svg, svg_point_t at, const svg_font_t *font, const char *format, ...)
    WEFT_PRINTF(4, 5);
/* A tooltip of what follows until svg_end(). */
void svg_begin(svg_t *svg, const char *format, ...) WEFT_PRINTF(2, 3);
void svg_end(svg_t *svg);

/* Lightness and chroma 0 … 1, hue in degrees, of the OKLCH space. */
svg_colour_t svg_oklch(double lightness, double chroma, double hue);
/* The i-th of n colours that tell things apart, and of n that show an order. */
svg_colour_t svg_hue(uint32_t i, uint32_t n);
svg_colour_t svg_ramp(double at);
/* Width of a text in the drawing's font, about. */
double svg_width(const char *text, double size);

#endif
