/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A row for each channel, a box for each end, between them the hop in the colour of its path: green
 * past PCIe, the redder the farther. */
#include "tools/topo/graph_draw.h"

#include <math.h>

#include "core/topo/paths.h"
#include "tools/svg.h"

#define MARGIN 28.0
#define TOP 84.0
#define LABEL_W 84.0
#define BOX_W 58.0
#define BOX_H 24.0
#define HOP_W 24.0
#define ROW_H 40.0
#define KEY_H 20.0
#define PAGE_LEAST 640.0

static svg_colour_t graph_draw_colour(weft_algo_path_class_t path)
{
    double far = (double)(path - WEFT_ALGO_PATH_NV) / (WEFT_ALGO_PATH_UNKNOWN - WEFT_ALGO_PATH_NV);
    return svg_oklch(0.62, 0.15, 150 - 125 * far);
}

static double graph_draw_x(uint32_t place)
{
    return MARGIN + LABEL_W + (BOX_W + HOP_W) * place;
}

static void graph_draw_hop(svg_t *svg, const graph_view_t *view, const uint32_t hop[2],
                           svg_point_t at)
{
    weft_algo_path_class_t path = weft_capacities_route(view->capacities, hop[0], hop[1])->path;
    svg_colour_t colour = graph_draw_colour(path);
    svg_paint_t paint = {.stroke = colour.text, .width = 2.5};
    svg_point_t to = {at.x + HOP_W, at.y}, middle = {at.x + HOP_W / 2, at.y};
    graph_name_t from_name, to_name;
    svg_begin(svg, "%s to %s: %s", graph_view_end_name(view, hop[0], from_name),
              graph_view_end_name(view, hop[1], to_name), weft_path_help(path));
    if (view->graph->pattern == WEFT_GRAPH_TREE) {
        svg_line(svg, at, to, &paint);
    } else {
        svg_arrow(svg, (svg_point_t[]){at, middle, to}, 7, &paint);
    }
    svg_end(svg);
}

static void graph_draw_end(svg_t *svg, const graph_view_t *view, uint32_t end, svg_point_t at)
{
    bool nic = end >= view->capacities->nparticipants;
    svg_colour_t fill = nic ? svg_oklch(0.91, 0.06, 75) : svg_oklch(0.90, 0.08, 145);
    svg_paint_t paint = {.fill = fill.text, .stroke = SVG_PALE};
    svg_font_t font = {.size = 11, .anchor = 'm'};
    graph_name_t name;
    svg_rect(svg, (svg_box_t){at.x, at.y - BOX_H / 2, BOX_W, BOX_H, 4}, &paint);
    svg_text(svg, (svg_point_t){at.x + BOX_W / 2, at.y + 4}, &font, "%s",
             graph_view_end_name(view, end, name));
}

static void graph_draw_channel(svg_t *svg, const graph_view_t *view, uint32_t channel)
{
    uint32_t ends[WEFT_MACHINE_DEVICES_MAX + 2];
    uint32_t count = graph_view_path(view, channel, ends);
    double y = TOP + ROW_H * (channel + 0.5);
    svg_font_t font = {.size = 12, .anchor = 's', .bold = true};
    svg_text(svg, (svg_point_t){MARGIN, y + 4}, &font, "channel %u", channel);
    for (uint32_t i = 0; i < count; i++) {
        graph_draw_end(svg, view, ends[i], (svg_point_t){graph_draw_x(i), y});
        if (i + 1 < count) {
            graph_draw_hop(svg, view, &ends[i], (svg_point_t){graph_draw_x(i) + BOX_W, y});
        }
    }
}

static void graph_draw_key(svg_t *svg, double y)
{
    svg_font_t font = {.size = 11, .anchor = 's', .fill = SVG_GREY};
    for (weft_algo_path_class_t path = WEFT_ALGO_PATH_NV; path <= WEFT_ALGO_PATH_UNKNOWN; path++) {
        svg_colour_t colour = graph_draw_colour(path);
        svg_paint_t paint = {.stroke = colour.text, .width = 2.5};
        svg_line(svg, (svg_point_t){MARGIN, y - 4}, (svg_point_t){MARGIN + HOP_W, y - 4}, &paint);
        svg_text(svg, (svg_point_t){MARGIN + HOP_W + 10, y}, &font, "%s  %s", weft_path_name(path),
                 weft_path_help(path));
        y += KEY_H;
    }
}

void graph_draw(const graph_view_t *view, FILE *out)
{
    const weft_graph_t *graph = view->graph;
    svg_t svg;
    svg_font_t large = {.size = 22, .anchor = 's', .bold = true};
    svg_font_t small = {.size = 13, .anchor = 's', .fill = SVG_GREY};
    graph_name_t name;
    double width = fmax(graph_draw_x(graph->nparticipants + 2) + MARGIN, PAGE_LEAST);
    double below = TOP + ROW_H * graph->nchannels + 34;
    uint32_t kinds = WEFT_ALGO_PATH_UNKNOWN - WEFT_ALGO_PATH_NV + 1;
    svg_open(&svg, out, width, below + KEY_H * kinds + MARGIN, view->machine->name);
    svg_text(&svg, (svg_point_t){MARGIN, 40}, &large, "%s: %s", view->machine->name,
             graph_view_pattern(view, name));
    svg_text(&svg, (svg_point_t){MARGIN, 62}, &small, "channels %u x %.3f GB/s = %.3f GB/s, %s",
             graph->nchannels, graph->speed / 1e3,
             weft_graph_bandwidth(graph, view->capacities) / 1e3, graph_view_proof(view));
    for (uint32_t c = 0; c < graph->nchannels; c++) {
        graph_draw_channel(&svg, view, c);
    }
    graph_draw_key(&svg, below);
    svg_close(&svg);
}
