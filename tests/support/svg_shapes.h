/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a drawing consists of: the shapes that tools/svg.c has written, read back, so that tests can
 * ask whether any of them overlap. */
#ifndef TESTS_SUPPORT_SVG_SHAPES_H
#define TESTS_SUPPORT_SVG_SHAPES_H

#include "tools/svg.h"

#define SVG_SHAPES_MAX 20000

typedef struct svg_disc {
    svg_point_t centre;
    double radius;
} svg_disc_t;

/* A text with the room that it takes. */
typedef struct svg_words {
    svg_box_t box;
    double size;
    char text[64];
} svg_words_t;

typedef struct svg_shapes {
    double width, height;
    svg_disc_t *discs; /* filled ones */
    svg_box_t *boxes;  /* those that are filled with `box` */
    svg_point_t (*curves)[3];
    svg_words_t *words;
    size_t ndiscs, nboxes, ncurves, nwords;
} svg_shapes_t;

/* Reads a drawing; `box` is a colour, "#f3f5f7". Fails the test if there are too many shapes. */
void svg_shapes_read(svg_shapes_t *shapes, const char *text, const char *box);
void svg_shapes_free(svg_shapes_t *shapes);

/* How often `what` is in a drawing. */
size_t svg_count(const char *text, const char *what);
/* Returns the point of a curve at `at`, 0 to 1. */
svg_point_t svg_curve_at(const svg_point_t curve[3], double at);
/* True if the boxes have more than their edges in common. */
bool svg_boxes_overlap(const svg_box_t *a, const svg_box_t *b);

#endif
