/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Colours of steps, from light teal over blue to dark red. */
#include "tools/draw_steps.h"

#include <math.h>
#include <stdio.h>

static void draw_steps_add(draw_steps_t *steps, double first)
{
    uint32_t at = steps->count;
    for (uint32_t i = 0; i < steps->count; i++) {
        if (fabs(steps->step[i] - first) < 0.01) {
            return;
        }
    }
    if (at == DRAW_STEPS_MAX) {
        return;
    }
    for (; at > 0 && steps->step[at - 1] > first; at--) {
        steps->step[at] = steps->step[at - 1];
    }
    steps->step[at] = first;
    steps->count++;
}

void draw_steps_make(const draw_link_t *links, uint32_t count, draw_steps_t *steps)
{
    steps->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        draw_steps_add(steps, links[i].first);
    }
}

static svg_colour_t draw_steps_ramp(const draw_steps_t *steps, uint32_t step)
{
    return svg_ramp(steps->count < 2 ? 0.3 : (double)step / (steps->count - 1));
}

svg_colour_t draw_steps_colour(const draw_steps_t *steps, double first)
{
    uint32_t at = 0;
    while (at + 1 < steps->count && steps->step[at] < first - 0.01) {
        at++;
    }
    return draw_steps_ramp(steps, at);
}

static uint32_t draw_steps_rows(const draw_steps_t *steps)
{
    return steps->count < DRAW_STEPS_ROWS ? steps->count : DRAW_STEPS_ROWS;
}

double draw_steps_legend_height(const draw_steps_t *steps)
{
    return 24 + 22.0 * draw_steps_rows(steps);
}

void draw_steps_put_legend(draw_t *draw, const draw_steps_t *steps, svg_point_t at)
{
    svg_font_t font = {.size = 13, .anchor = 's', .fill = SVG_GREY};
    svg_text(&draw->svg, at, &font, "first message of a link in");
    uint32_t rows = draw_steps_rows(steps);
    for (uint32_t i = 0; i < rows; i++) {
        uint32_t step = rows < 2 ? 0 : i * (steps->count - 1) / (rows - 1);
        char text[40];
        snprintf(text, sizeof text, "step %.4g", steps->step[step] + 1);
        svg_colour_t colour = draw_steps_ramp(steps, step);
        draw_key(draw, (svg_point_t){at.x, at.y + 24 + 22 * i}, colour.text, text);
    }
}
