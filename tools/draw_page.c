/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parts that all views draw: title, key, colours. */
#include <stdio.h>

#include <weft/weft.h>

#include "tools/draw_page.h"

#include "tools/svg.h"
#include "tools/timeline.h"

void draw_begin(draw_t *draw, FILE *out, double width, double height, const char *what)
{
    const draw_input_t *input = draw->input;
    const weft_plan_t *plan = input->plans[0];
    char title[256];
    snprintf(title, sizeof title, "%s by %s", weft_coll_name(plan->coll), input->algo);
    svg_open(&draw->svg, out, width, height, title);
    svg_font_t large = {.size = 22, .anchor = 's', .bold = true};
    svg_font_t small = {.size = 13, .anchor = 's', .fill = SVG_GREY};
    svg_text(&draw->svg, (svg_point_t){DRAW_MARGIN, 40}, &large, "%s", title);
    svg_text(&draw->svg, (svg_point_t){DRAW_MARGIN, 62}, &small,
             "%u ranks on %u host%s · %u chunk%s a block · %.4g steps · %s", input->nranks,
             input->nhosts, input->nhosts == 1 ? "" : "s", plan->k, plan->k == 1 ? "" : "s",
             draw->timeline.end, what);
}

void draw_key(draw_t *draw, svg_point_t at, const char *colour, const char *text)
{
    svg_paint_t stroke = {.stroke = colour, .width = 4};
    svg_font_t font = {.size = 13, .anchor = 's'};
    svg_line(&draw->svg, (svg_point_t){at.x, at.y - 4}, (svg_point_t){at.x + 24, at.y - 4},
             &stroke);
    svg_text(&draw->svg, (svg_point_t){at.x + 34, at.y}, &font, "%s", text);
}

svg_colour_t draw_chunk_colour(const draw_t *draw, uint32_t chunk)
{
    return svg_hue(chunk, timeline_chunks(draw->input->plans[0]));
}
