/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The steps in which links are used first, as colours. */
#ifndef WEFT_TOOLS_DRAW_STEPS_H
#define WEFT_TOOLS_DRAW_STEPS_H

#include "tools/draw_page.h"

#define DRAW_STEPS_MAX 512u
#define DRAW_STEPS_ROWS 14u /* of the legend */

typedef struct draw_steps {
    double step[DRAW_STEPS_MAX]; /* ascending */
    uint32_t count;
} draw_steps_t;

void draw_steps_make(const draw_link_t *links, uint32_t count, draw_steps_t *steps);
svg_colour_t draw_steps_colour(const draw_steps_t *steps, double first);
/* Returns the height of the legend; puts it with its first line at `at`. */
double draw_steps_legend_height(const draw_steps_t *steps);
void draw_steps_put_legend(draw_t *draw, const draw_steps_t *steps, svg_point_t at);

#endif
