/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks on a circle, clockwise from the top, with an arrow for every link. */
#include "tools/draw_ring.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/coll.h"
#include "core/base/error.h"
#include "core/base/plural.h"
#include "tools/draw_circle.h"
#include "tools/draw_page.h"
#include "tools/draw_steps.h"
#include "tools/draw_title.h"
#include "tools/svg.h"

#define RANKS_MAX 256u
#define PANEL 250.0

typedef struct ring {
    draw_t *draw;
    draw_circle_t circle;
    draw_steps_t steps;
    uint32_t nchannels, most, degree;
    int by_channel;
} ring_t;

/* Links are sorted by sender, so the links of one sender are together. */
static void draw_ring_study(ring_t *ring)
{
    const draw_t *draw = ring->draw;
    uint32_t most[2] = {0, 0}; /* links of one sender: all, and on one channel */
    for (uint32_t i = 0; i < draw->nlinks; i++) {
        const draw_link_t *link = &draw->links[i];
        uint32_t all = 0, same = 0;
        for (uint32_t j = i; j < draw->nlinks && draw->links[j].from == link->from; j++) {
            all++;
            same += draw->links[j].channel == link->channel;
        }
        most[0] = all > most[0] ? all : most[0];
        most[1] = same > most[1] ? same : most[1];
        ring->most = link->messages > ring->most ? link->messages : ring->most;
        ring->nchannels = link->channel + 1 > ring->nchannels ? link->channel + 1 : ring->nchannels;
    }
    draw_steps_make(draw->links, draw->nlinks, &ring->steps);
    ring->degree = most[0];
    ring->by_channel = most[1] <= 1 && ring->nchannels <= 16;
}

static svg_colour_t draw_ring_colour_of(const ring_t *ring, const draw_link_t *link)
{
    return ring->by_channel ? svg_hue(link->channel, ring->nchannels)
                            : draw_steps_colour(&ring->steps, link->first);
}

/* `beside` tells links of the same two ranks on different channels apart. */
static void draw_ring_put_link(const ring_t *ring, const draw_link_t *link, uint32_t beside)
{
    svg_point_t curve[3];
    svg_colour_t colour = draw_ring_colour_of(ring, link);
    uint32_t many = ring->draw->nlinks;
    svg_paint_t paint = {.stroke = colour.text,
                         .width = (many > 600   ? 0.7
                                   : many > 150 ? 1.1
                                                : 1.8) *
                                  (1 + 0.45 * sqrt((double)link->messages / ring->most)),
                         .opacity = many > 600   ? 0.45
                                    : many > 150 ? 0.7
                                                 : 0.95};
    draw_circle_link(&ring->circle, link->from, link->to, beside, curve);
    curve[0] = draw_circle_towards(curve[0], curve[1], ring->circle.node + 1.5);
    curve[2] = draw_circle_towards(curve[2], curve[1], ring->circle.node + 2.5);
    svg_begin(&ring->draw->svg,
              "rank %u to rank %u, channel %u: %u message%s, the first in step %.4g", link->from,
              link->to, link->channel, link->messages, weft_plural(link->messages),
              link->first + 1);
    svg_arrow(&ring->draw->svg, curve, many > 600 ? 5 : many > 150 ? 7 : 11, &paint);
    svg_end(&ring->draw->svg);
}

static void draw_ring_put_host(const ring_t *ring, uint32_t first, uint32_t last)
{
    svg_t *svg = &ring->draw->svg;
    double radius = ring->circle.radius + ring->circle.node + 13;
    double angles[2] = {draw_circle_angle(&ring->circle, first - 0.32),
                        draw_circle_angle(&ring->circle, last + 0.32)};
    svg_paint_t band = {.stroke = SVG_PALE, .width = 7};
    svg_arc(svg, ring->circle.centre, radius, angles, &band);
    svg_point_t at = draw_circle_at(&ring->circle, ((double)first + last) / 2, radius + 16);
    double side = at.x - ring->circle.centre.x;
    svg_font_t font = {.size = 12,
                       .anchor = side > 12    ? 's'
                                 : side < -12 ? 'e'
                                              : 'm',
                       .fill = SVG_GREY};
    at.y += at.y < ring->circle.centre.y ? 2 : 8;
    svg_text(svg, at, &font, "host %u", ring->draw->input->host[first]);
}

static void draw_ring_put_hosts(const ring_t *ring)
{
    const draw_input_t *input = ring->draw->input;
    uint32_t first = 0;
    for (uint32_t r = 1; input->nhosts > 1 && r <= input->nranks; r++) {
        if (r == input->nranks || input->host[r] != input->host[first]) {
            draw_ring_put_host(ring, first, r - 1);
            first = r;
        }
    }
}

static void draw_ring_put_ranks(const ring_t *ring)
{
    svg_t *svg = &ring->draw->svg;
    uint32_t root = ring->draw->input->plans[0]->root;
    weft_coll_t coll = ring->draw->input->plans[0]->coll;
    bool rooted = weft_coll_is_rooted(coll);
    svg_font_t font = {.size = ring->circle.node * 0.82, .anchor = 'm', .bold = true};
    for (uint32_t r = 0; r < ring->draw->input->nranks; r++) {
        svg_point_t at = draw_circle_at(&ring->circle, r, ring->circle.radius);
        int is_root = rooted && r == root;
        svg_paint_t disc = {.fill = is_root ? SVG_INK : SVG_PAPER, .stroke = SVG_INK, .width = 1.6};
        svg_circle(svg, at, ring->circle.node, &disc);
        draw_mark_rank(ring->draw, r, at, ring->circle.node);
        font.fill = is_root ? SVG_PAPER : SVG_INK;
        svg_text(svg, (svg_point_t){at.x, at.y + 0.3 * ring->circle.node}, &font, "%u", r);
    }
}

static void draw_ring_put_middle(const ring_t *ring)
{
    const draw_t *draw = ring->draw;
    svg_font_t large = {.size = 34, .anchor = 'm', .bold = true, .fill = SVG_INK};
    svg_font_t small = {.size = 13, .anchor = 'm', .fill = SVG_GREY};
    svg_point_t at = ring->circle.centre;
    svg_text(&ring->draw->svg, (svg_point_t){at.x, at.y + 2}, &large, "%u", ring->most);
    svg_text(&ring->draw->svg, (svg_point_t){at.x, at.y + 24}, &small, "message%s of 1/%u block",
             weft_plural(ring->most), draw->input->plans[0]->k);
    svg_text(&ring->draw->svg, (svg_point_t){at.x, at.y + 41}, &small, "over each link");
}

static void draw_ring_put_legend(const ring_t *ring, double x)
{
    draw_t *draw = ring->draw;
    svg_point_t at = {x, draw->top + 32};
    char text[64];
    if (!ring->by_channel) {
        draw_steps_put_legend(draw, &ring->steps, at);
        at.y += draw_steps_legend_height(&ring->steps) + 14;
    } else {
        for (uint32_t c = 0; c < ring->nchannels; c++) {
            snprintf(text, sizeof text, "links of channel %u", c);
            svg_colour_t colour = svg_hue(c, ring->nchannels);
            draw_key(draw, at, colour.text, text);
            at.y += 22;
        }
        at.y += 14;
    }
    svg_font_t font = {.size = 13, .anchor = 's'};
    svg_text(&draw->svg, at, &font, "%u link%s", draw->nlinks, weft_plural(draw->nlinks));
    svg_text(&draw->svg, (svg_point_t){at.x, at.y + 20}, &font, "%u message%s",
             draw->timeline.nmessages, weft_plural(draw->timeline.nmessages));
    svg_text(&draw->svg, (svg_point_t){at.x, at.y + 40}, &font, "busiest link: %u", ring->most);
    svg_text(&draw->svg, (svg_point_t){at.x, at.y + 60}, &font, "most peers sent to: %u",
             ring->degree);
}

weft_status_t draw_ring(draw_t *draw, FILE *out)
{
    uint32_t n = draw->input->nranks;
    if (n > RANKS_MAX) {
        return weft_fail(WEFT_ERR_ARG, 0, "a circle shows up to %u ranks, not %u", RANKS_MAX, n);
    }
    ring_t *ring = calloc(1, sizeof *ring);
    if (ring == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for a drawing");
    }
    ring->draw = draw;
    double node = n <= 12 ? 21 : n <= 24 ? 17 : n <= 40 ? 14 : 12;
    double radius = draw_circle_radius(n, 2 * node + 17); /* room for arrows between neighbours */
    ring->circle = (draw_circle_t){
        .radius = radius > 190 ? radius : 190, .node = node, .count = n, .turn = DRAW_CIRCLE_TOP};
    draw_ring_study(ring);
    double side = 2 * (ring->circle.radius + node + 64);
    double rows =
        ring->by_channel ? 22.0 * ring->nchannels : draw_steps_legend_height(&ring->steps);
    double legend = draw->top + 170 + rows;
    double height = draw->top + side > legend ? draw->top + side : legend;
    ring->circle.centre = (svg_point_t){side / 2 + 16, draw->top + side / 2 - 14};
    draw_begin(draw, out, side + PANEL, height, "links between ranks");
    draw_ring_put_hosts(ring);
    for (uint32_t i = 0, beside = 0; i < draw->nlinks; i++) {
        const draw_link_t *link = &draw->links[i];
        beside = i > 0 && link[-1].from == link->from && link[-1].to == link->to ? beside + 1 : 0;
        draw_ring_put_link(ring, link, beside);
    }
    draw_ring_put_ranks(ring);
    if (ring->degree <= 1 && n > 2) {
        draw_ring_put_middle(ring);
    }
    draw_ring_put_legend(ring, side + 22);
    svg_close(&draw->svg);
    free(ring);
    return WEFT_OK;
}
