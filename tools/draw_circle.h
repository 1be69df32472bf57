/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Discs or boxes on a circle, and links between them that pass under none of the others. */
#ifndef WEFT_TOOLS_DRAW_CIRCLE_H
#define WEFT_TOOLS_DRAW_CIRCLE_H

#include "tools/svg.h"

typedef struct draw_circle {
    svg_point_t centre;
    double radius;
    double node;    /* radius of what lies on the circle */
    uint32_t count; /* things on it */
    double turn;    /* angle of the first, clockwise from the right */
} draw_circle_t;

/* Clockwise from the top. */
#define DRAW_CIRCLE_TOP (-1.57079632679489661923)

/* Returns the angle of a position, and the point of the circle, or of one of another radius,
 * there. */
double draw_circle_angle(const draw_circle_t *circle, double position);
svg_point_t draw_circle_at(const draw_circle_t *circle, double position, double radius);
/* Fills a curve for svg_arrow(), from centre to centre; `beside` tells links of the same pair
 * apart. */
void draw_circle_link(const draw_circle_t *circle, uint32_t from, uint32_t to, uint32_t beside,
                      svg_point_t curve[3]);
/* Returns the point `length` away from `from` on the way to `to`. */
svg_point_t draw_circle_towards(svg_point_t from, svg_point_t to, double length);
/* The least radius at which neighbours have `distance` between their centres. */
double draw_circle_radius(uint32_t count, double distance);

#endif
