/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parts that all views share: keys, colours, links. */
#include "tools/draw_page.h"

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

uint32_t draw_merge_links(const draw_t *draw, draw_link_t *merged)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < draw->nlinks; i++) {
        const draw_link_t *link = &draw->links[i];
        draw_link_t *last = count > 0 ? &merged[count - 1] : NULL;
        if (last == NULL || last->from != link->from || last->to != link->to) {
            merged[count] = *link;
            merged[count++].channel = 1; /* now their number */
        } else {
            last->channel++;
            last->messages += link->messages;
            last->first = link->first < last->first ? link->first : last->first;
        }
    }
    return count;
}
