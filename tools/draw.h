/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Drawings of a plan as SVG: ranks on a circle, hosts as boxes, who sends to whom as a grid, trees,
 * lanes over time. */
#ifndef WEFT_TOOLS_DRAW_H
#define WEFT_TOOLS_DRAW_H

#include "tools/draw_page.h"

typedef enum draw_view {
    DRAW_AUTO,
    DRAW_RING,
    DRAW_HOSTS,
    DRAW_GRID,
    DRAW_TREE,
    DRAW_LANES
} draw_view_t;

/* Draws the plan; *view_p is replaced by the view chosen if it is AUTO. ERR_ARG: too much for this
 * view, or not a tree; ERR_RESOURCE; ERR_PLAN: the plan does not come to its end, and there is no
 * verdict to be drawn that says so. */
weft_status_t draw_plan(const draw_input_t *input, draw_view_t *view_p, FILE *out);
const char *draw_view_name(draw_view_t view);
/* Names of all views in the order of draw_view_t, NULL at the end. */
const char *const *draw_view_names(void);

#endif
