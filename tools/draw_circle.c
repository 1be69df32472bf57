/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The geometry of a circle of discs. A link between neighbours bends to the left of its way, so
 * that the two directions lie apart. All others bend inwards, as far as it takes to pass by the
 * discs between their ends. */
#include "tools/draw_circle.h"

#include <math.h>

#define TAU 6.28318530717958647692
#define CLEAR 9.0    /* between a link and a disc that it passes */
#define BESIDE 9.0   /* between links of the same pair */
#define SHALLOW 0.05 /* least depth of a bend, as a part of its length */

double draw_circle_angle(const draw_circle_t *circle, double position)
{
    return TAU * position / circle->count + circle->turn;
}

svg_point_t draw_circle_at(const draw_circle_t *circle, double position, double radius)
{
    double angle = draw_circle_angle(circle, position);
    return (svg_point_t){circle->centre.x + radius * cos(angle),
                         circle->centre.y + radius * sin(angle)};
}

svg_point_t draw_circle_towards(svg_point_t from, svg_point_t to, double length)
{
    double dx = to.x - from.x, dy = to.y - from.y, all = svg_length(dx, dy);
    all = all < 1e-9 ? 1 : all;
    return (svg_point_t){from.x + dx / all * length, from.y + dy / all * length};
}

double draw_circle_radius(uint32_t count, double distance)
{
    return count < 2 ? 0 : distance / (2 * sin(TAU / 2 / count));
}

/* How far the middle of a curve over `steps` positions must lie inside its chord. The disc that is
 * next to an end comes nearest: it lies at the angle `next` from the middle of the chord, where the
 * chord is inside the circle already, and where a parabola has less than its whole depth. */
static double draw_circle_depth(const draw_circle_t *circle, uint32_t steps)
{
    double half = TAU / 2 * steps / circle->count, length = 2 * circle->radius * sin(half);
    double depth = SHALLOW * length;
    for (uint32_t i = 1; 2 * i <= steps; i++) {
        double off = half - TAU * i / circle->count; /* from the middle */
        double along = sin(off) / sin(half), inside = circle->radius * (cos(off) - cos(half));
        double needed = (circle->node + CLEAR - inside) / (1 - along * along);
        depth = needed > depth ? needed : depth;
    }
    return depth;
}

void draw_circle_link(const draw_circle_t *circle, uint32_t from, uint32_t to, uint32_t beside,
                      svg_point_t curve[3])
{
    uint32_t n = circle->count, ahead = (to + n - from) % n;
    uint32_t steps = ahead < n - ahead ? ahead : n - ahead;
    svg_point_t a = draw_circle_at(circle, from, circle->radius);
    svg_point_t b = draw_circle_at(circle, to, circle->radius);
    double dx = b.x - a.x, dy = b.y - a.y;
    svg_point_t middle = {(a.x + b.x) / 2, (a.y + b.y) / 2};
    curve[0] = a;
    curve[2] = b;
    if (steps < 2 || 2 * steps == n) {
        /* Nothing lies between neighbours; opposite discs are joined through the middle. */
        double bend = (n == 2 ? 0.25 : 0.13) + 0.1 * (beside % 4);
        curve[1] = (svg_point_t){middle.x + bend * dy, middle.y - bend * dx};
        return;
    }
    double back = ahead != steps ? fmax(5, 0.07 * svg_length(dx, dy)) : 0;
    double depth = draw_circle_depth(circle, steps) + BESIDE * (beside % 4) + back;
    curve[1] = draw_circle_towards(middle, circle->centre, 2 * depth);
}
