/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The grid of senders and receivers. */
#include "tools/draw_grid.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/error.h"
#include "core/base/plural.h"
#include "tools/draw_steps.h"
#include "tools/draw_title.h"
#include "tools/svg.h"

#define RANKS_MAX 256u
#define PANEL 230.0
#define LEFT 44.0 /* numbers of senders */
#define HEAD 54.0 /* hosts and numbers of receivers */
#define TEXT 10.0
#define CELL_MOST 26.0
#define ROW_LEAST 12.0    /* between two numbers below each other, */
#define COLUMN_LEAST 22.0 /* … and beside each other */

typedef struct grid {
    draw_t *draw;
    draw_steps_t steps;
    draw_link_t *pairs;
    uint32_t npairs, most;
    svg_point_t origin;
    double cell;
} grid_t;

static svg_point_t draw_grid_at(const grid_t *grid, double column, double row)
{
    return (svg_point_t){grid->origin.x + column * grid->cell, grid->origin.y + row * grid->cell};
}

/* The first rank after the host of `rank`. */
static uint32_t draw_grid_host_end(const draw_input_t *input, uint32_t rank)
{
    uint32_t end = rank + 1;
    while (end < input->nranks && input->host[end] == input->host[rank]) {
        end++;
    }
    return end;
}

/* Shades what stays inside a host, and parts hosts by lines. */
static void draw_grid_put_hosts(const grid_t *grid)
{
    const draw_input_t *input = grid->draw->input;
    svg_t *svg = &grid->draw->svg;
    svg_paint_t shade = {.fill = SVG_FAINT}, line = {.stroke = SVG_PALE, .width = 1};
    svg_font_t font = {.size = TEXT, .anchor = 'm', .fill = SVG_GREY};
    double side = grid->cell * input->nranks;
    for (uint32_t first = 0, end; input->nhosts > 1 && first < input->nranks; first = end) {
        char name[24];
        end = draw_grid_host_end(input, first);
        svg_point_t at = draw_grid_at(grid, first, first);
        double wide = grid->cell * (end - first);
        svg_rect(svg, (svg_box_t){at.x, at.y, wide, wide, 0}, &shade);
        svg_line(svg, (svg_point_t){at.x, grid->origin.y - HEAD + 14},
                 (svg_point_t){at.x, grid->origin.y + side}, &line);
        svg_line(svg, (svg_point_t){grid->origin.x - LEFT + 8, at.y},
                 (svg_point_t){grid->origin.x + side, at.y}, &line);
        snprintf(name, sizeof name, "host %u", input->host[first]);
        if (svg_width(name, TEXT) > wide - 4) {
            snprintf(name, sizeof name, "%u", input->host[first]);
        }
        if (svg_width(name, TEXT) <= wide - 4) {
            svg_text(svg, (svg_point_t){at.x + wide / 2, grid->origin.y - HEAD + 24}, &font, "%s",
                     name);
        }
    }
}

static void draw_grid_put_frame(const grid_t *grid)
{
    double side = grid->cell * grid->draw->input->nranks;
    svg_paint_t frame = {.stroke = SVG_GREY, .width = 1};
    svg_font_t font = {.size = 11.5, .anchor = 's', .fill = SVG_GREY};
    svg_rect(&grid->draw->svg, (svg_box_t){grid->origin.x, grid->origin.y, side, side, 0}, &frame);
    svg_text(&grid->draw->svg, (svg_point_t){grid->origin.x, grid->origin.y + side + 18}, &font,
             "row: sender, column: receiver");
}

static void draw_grid_put_number(const grid_t *grid, svg_point_t at, char anchor, uint32_t rank)
{
    const char *mark = draw_mark_of_rank(grid->draw, rank);
    svg_font_t font = {.size = TEXT, .anchor = anchor, .bold = mark != NULL, .fill = mark};
    svg_text(&grid->draw->svg, at, &font, "%u", rank);
}

/* The least power of two of cells that take so much room. */
static uint32_t draw_grid_every(const grid_t *grid, double least)
{
    uint32_t every = 1;
    while (every * grid->cell < least) {
        every *= 2;
    }
    return every;
}

/* Numbers every so many ranks that they do not touch; those that are marked always, in place of
 * their neighbours. */
static void draw_grid_put_numbers(const grid_t *grid)
{
    uint32_t n = grid->draw->input->nranks;
    uint32_t row = draw_grid_every(grid, ROW_LEAST), column = draw_grid_every(grid, COLUMN_LEAST);
    uint32_t marked[2] = {UINT32_MAX / 2, UINT32_MAX / 2}, count = 0;
    for (uint32_t r = 0; r < n && count < 2; r++) {
        if (draw_mark_of_rank(grid->draw, r) != NULL) {
            marked[count++] = r;
        }
    }
    for (uint32_t r = 0; r < n; r++) {
        bool is = r == marked[0] || r == marked[1];
        svg_point_t left = draw_grid_at(grid, 0, r + 0.5), top = draw_grid_at(grid, r + 0.5, 0);
        for (int way = 0; way < 2; way++) {
            uint32_t every = way == 0 ? row : column;
            bool near = false;
            for (uint32_t i = 0; i < count; i++) {
                near |= r + every > marked[i] && r < marked[i] + every;
            }
            if (is || (r % every == 0 && !near)) {
                svg_point_t at = way == 0 ? (svg_point_t){left.x - 5, left.y + 0.36 * TEXT}
                                          : (svg_point_t){top.x, top.y - 6};
                draw_grid_put_number(grid, at, way == 0 ? 'e' : 'm', r);
            }
        }
    }
}

static void draw_grid_put_pair(const grid_t *grid, const draw_link_t *pair)
{
    svg_t *svg = &grid->draw->svg;
    svg_point_t at = draw_grid_at(grid, pair->to, pair->from);
    svg_colour_t colour = draw_steps_colour(&grid->steps, pair->first);
    double gap = grid->cell >= 8 ? 1 : 0.25;
    svg_paint_t fill = {.fill = colour.text};
    svg_begin(svg, "rank %u to rank %u: %u message%s over %u link%s, the first in step %.4g",
              pair->from, pair->to, pair->messages, weft_plural(pair->messages), pair->channel,
              weft_plural(pair->channel), pair->first + 1);
    svg_rect(svg,
             (svg_box_t){at.x + gap, at.y + gap, grid->cell - 2 * gap, grid->cell - 2 * gap,
                         grid->cell >= 8 ? 2 : 0},
             &fill);
    char text[16];
    snprintf(text, sizeof text, "%u", pair->messages);
    double size = grid->cell * 0.55 > 11 ? 11 : grid->cell * 0.55;
    if (size >= DRAW_TEXT_LEAST && svg_width(text, size) <= grid->cell - 3) {
        svg_font_t font = {.size = size, .anchor = 'm', .fill = SVG_PAPER};
        svg_text(svg, (svg_point_t){at.x + grid->cell / 2, at.y + grid->cell / 2 + 0.36 * size},
                 &font, "%s", text);
    }
    svg_end(svg);
}

static void draw_grid_put_legend(const grid_t *grid, double x)
{
    draw_t *draw = grid->draw;
    svg_point_t at = {x, draw->top + 32};
    svg_font_t font = {.size = 13, .anchor = 's'};
    draw_steps_put_legend(draw, &grid->steps, at);
    at.y += draw_steps_legend_height(&grid->steps) + 14;
    svg_text(&draw->svg, at, &font, "%u pair%s of ranks", grid->npairs, weft_plural(grid->npairs));
    svg_text(&draw->svg, (svg_point_t){at.x, at.y + 20}, &font, "%u link%s", draw->nlinks,
             weft_plural(draw->nlinks));
    svg_text(&draw->svg, (svg_point_t){at.x, at.y + 40}, &font, "%u message%s",
             draw->timeline.nmessages, weft_plural(draw->timeline.nmessages));
    svg_text(&draw->svg, (svg_point_t){at.x, at.y + 60}, &font, "busiest pair: %u", grid->most);
}

static void draw_grid_put_all(grid_t *grid, FILE *out)
{
    draw_t *draw = grid->draw;
    uint32_t n = draw->input->nranks;
    double room = DRAW_SCREEN - 2 * DRAW_MARGIN - LEFT - PANEL;
    grid->cell = fmin(CELL_MOST, n > 0 ? floor(4 * room / n) / 4 : CELL_MOST);
    grid->origin = (svg_point_t){DRAW_MARGIN + LEFT, draw->top + HEAD};
    double side = fmax(grid->cell * n, 430); /* room for the title */
    double legend = draw->top + 130 + draw_steps_legend_height(&grid->steps);
    double height = fmax(grid->origin.y + grid->cell * n + 40, legend);
    draw_begin(draw, out, grid->origin.x + side + PANEL + DRAW_MARGIN, height, "who sends to whom");
    draw_grid_put_hosts(grid);
    for (uint32_t i = 0; i < grid->npairs; i++) {
        draw_grid_put_pair(grid, &grid->pairs[i]);
    }
    draw_grid_put_frame(grid);
    draw_grid_put_numbers(grid);
    draw_grid_put_legend(grid, grid->origin.x + side + 30);
    svg_close(&draw->svg);
}

weft_status_t draw_grid(draw_t *draw, FILE *out)
{
    if (draw->input->nranks > RANKS_MAX) {
        return weft_fail(WEFT_ERR_ARG, 0, "a grid shows up to %u ranks, not %u", RANKS_MAX,
                         draw->input->nranks);
    }
    grid_t *grid = calloc(1, sizeof *grid);
    draw_link_t *pairs = calloc(draw->nlinks + 1, sizeof *pairs);
    weft_status_t status = WEFT_OK;
    if (grid == NULL || pairs == NULL) {
        status = weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for a drawing");
    } else {
        grid->draw = draw;
        grid->pairs = pairs;
        grid->npairs = draw_merge_links(draw, pairs);
        for (uint32_t i = 0; i < grid->npairs; i++) {
            grid->most = pairs[i].messages > grid->most ? pairs[i].messages : grid->most;
        }
        draw_steps_make(pairs, grid->npairs, &grid->steps);
        draw_grid_put_all(grid, out);
    }
    free(pairs);
    free(grid);
    return status;
}
