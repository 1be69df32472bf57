/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Hosts as boxes on a circle, clockwise. Links inside a host are drawn in its box. All links from
 * one host to another are one arrow with their number, as wide as they are many. */
#include "tools/draw_hosts.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/coll.h"
#include "core/base/error.h"
#include "core/base/plural.h"
#include "tools/draw_circle.h"
#include "tools/draw_steps.h"
#include "tools/draw_title.h"
#include "tools/svg.h"

#define HOSTS_MAX 64u
#define RANKS_MAX 512u
#define PAD 12.0        /* inside a box */
#define NAME 18.0       /* height of a host's name */
#define NUMBERS_MAX 40u /* more arrows would lie below their numbers */
#define KEYS 210.0      /* width of the legend */
#define TINT "#dfeaf6"
#define BOX "#f3f5f7"

/* Where boxes and ranks go; a circle for the hosts and one in each box. */
typedef struct hosts_layout {
    draw_circle_t hosts;
    double node, inner, wide, high;   /* of a rank; of a circle of ranks; of a box */
    double left, right, above, below; /* of all boxes around the centre */
} hosts_layout_t;

typedef struct hosts {
    draw_t *draw;
    hosts_layout_t layout;
    draw_steps_t steps;
    uint32_t *first, *place; /* by host: its ranks; by rank: its place among them */
    draw_link_t *pairs;      /* of ranks, then of hosts */
    uint32_t npairs, nlinks, outside, most;
    uint8_t *speaks; /* by rank: it has links to other hosts */
} hosts_t;

static uint32_t draw_hosts_most_ranks(const draw_input_t *input)
{
    uint32_t count[HOSTS_MAX] = {0}, most = 0;
    for (uint32_t r = 0; r < input->nranks; r++) {
        uint32_t *here = &count[input->host[r] % HOSTS_MAX];
        most = ++*here > most ? *here : most;
    }
    return most;
}

/* Two hosts lie beside each other, four in the corners. */
static double draw_hosts_turn(uint32_t nhosts)
{
    double pi = -2 * DRAW_CIRCLE_TOP;
    return nhosts == 2 ? pi : nhosts == 4 ? -0.75 * pi : DRAW_CIRCLE_TOP;
}

/* True if no two boxes are nearer to each other than `gap`. */
static bool draw_hosts_are_apart(const hosts_layout_t *l, double gap)
{
    for (uint32_t a = 0; a < l->hosts.count; a++) {
        svg_point_t one = draw_circle_at(&l->hosts, a, l->hosts.radius);
        for (uint32_t b = 0; b < a; b++) {
            svg_point_t two = draw_circle_at(&l->hosts, b, l->hosts.radius);
            if (fabs(one.x - two.x) < l->wide + gap && fabs(one.y - two.y) < l->high + gap) {
                return false;
            }
        }
    }
    return true;
}

static hosts_layout_t draw_hosts_lay_out(const draw_input_t *input)
{
    hosts_layout_t l = {.node = input->nranks <= 32 ? 13 : 11};
    uint32_t most = draw_hosts_most_ranks(input), n = input->nhosts;
    double gap = n <= 4 ? 100 : n <= 8 ? 64 : 26; /* few hosts have room for longer arrows */
    l.inner = draw_circle_radius(most, 2 * l.node + 14);
    l.wide = fmax(2 * (l.inner + l.node + PAD), 72);
    l.high = l.wide + NAME;
    l.hosts = (draw_circle_t){.radius = draw_circle_radius(n, l.wide + gap),
                              .node = svg_length(l.wide, l.high) / 2,
                              .count = n,
                              .turn = draw_hosts_turn(n)};
    while (!draw_hosts_are_apart(&l, gap)) {
        l.hosts.radius = l.hosts.radius * 1.02 + 1;
    }
    for (uint32_t h = 0; h < n; h++) {
        svg_point_t at = draw_circle_at(&l.hosts, h, l.hosts.radius);
        l.left = fmax(l.left, l.wide / 2 - at.x);
        l.right = fmax(l.right, l.wide / 2 + at.x);
        l.above = fmax(l.above, l.high / 2 - at.y);
        l.below = fmax(l.below, l.high / 2 + at.y);
    }
    return l;
}

double draw_hosts_width(const draw_input_t *input)
{
    if (input->nhosts > HOSTS_MAX) {
        return INFINITY;
    }
    hosts_layout_t l = draw_hosts_lay_out(input);
    return 2 * DRAW_MARGIN + l.left + l.right + 26 + KEYS;
}

static svg_box_t draw_hosts_box_of(const hosts_t *hosts, uint32_t host)
{
    const hosts_layout_t *l = &hosts->layout;
    svg_point_t at = draw_circle_at(&l->hosts, host, l->hosts.radius);
    return (svg_box_t){at.x - l->wide / 2, at.y - l->high / 2, l->wide, l->high, 10};
}

static draw_circle_t draw_hosts_circle_of(const hosts_t *hosts, uint32_t host)
{
    const hosts_layout_t *l = &hosts->layout;
    uint32_t count = hosts->first[host + 1] - hosts->first[host];
    svg_box_t box = draw_hosts_box_of(hosts, host);
    double turn = count == 4 ? 1.5 * DRAW_CIRCLE_TOP : DRAW_CIRCLE_TOP;
    return (draw_circle_t){.centre = {box.x + box.w / 2, box.y + NAME + (box.h - NAME) / 2},
                           .radius = count > 1 ? l->inner : 0,
                           .node = l->node,
                           .count = count,
                           .turn = count == 2 ? 2 * DRAW_CIRCLE_TOP : turn};
}

static void draw_hosts_put_boxes(const hosts_t *hosts)
{
    svg_t *svg = &hosts->draw->svg;
    svg_paint_t paint = {.fill = BOX, .stroke = SVG_PALE, .width = 1.2};
    svg_font_t font = {.size = 11.5, .anchor = 'm', .fill = SVG_GREY};
    for (uint32_t h = 0; h < hosts->draw->input->nhosts; h++) {
        svg_box_t box = draw_hosts_box_of(hosts, h);
        svg_rect(svg, box, &paint);
        svg_text(svg, (svg_point_t){box.x + box.w / 2, box.y + 16}, &font, "host %u", h);
    }
}

static void draw_hosts_put_ranks(const hosts_t *hosts)
{
    const draw_input_t *input = hosts->draw->input;
    svg_t *svg = &hosts->draw->svg;
    const weft_plan_t *plan = input->plans[0];
    bool rooted = weft_coll_is_rooted(plan->coll);
    double node = hosts->layout.node;
    for (uint32_t r = 0; r < input->nranks; r++) {
        draw_circle_t circle = draw_hosts_circle_of(hosts, input->host[r]);
        svg_point_t at = draw_circle_at(&circle, hosts->place[r], circle.radius);
        bool root = rooted && r == plan->root;
        svg_paint_t disc = {.fill = root               ? SVG_INK
                                    : hosts->speaks[r] ? TINT
                                                       : SVG_PAPER,
                            .stroke = SVG_INK,
                            .width = 1.4};
        svg_font_t font = {
            .size = 10, .anchor = 'm', .bold = true, .fill = root ? SVG_PAPER : SVG_INK};
        svg_circle(svg, at, node, &disc);
        draw_mark_rank(hosts->draw, r, at, node);
        svg_text(svg, (svg_point_t){at.x, at.y + 3.6}, &font, "%u", r);
    }
}

static void draw_hosts_put_inside(const hosts_t *hosts, const draw_link_t *pair)
{
    svg_point_t curve[3];
    svg_t *svg = &hosts->draw->svg;
    draw_circle_t circle = draw_hosts_circle_of(hosts, hosts->draw->input->host[pair->from]);
    svg_colour_t colour = draw_steps_colour(&hosts->steps, pair->first);
    svg_paint_t paint = {.stroke = colour.text, .width = 1.5, .opacity = 0.9};
    draw_circle_link(&circle, hosts->place[pair->from], hosts->place[pair->to], 0, curve);
    curve[0] = draw_circle_towards(curve[0], curve[1], circle.node + 1);
    curve[2] = draw_circle_towards(curve[2], curve[1], circle.node + 1.5);
    svg_begin(svg, "rank %u to rank %u: %u message%s over %u link%s, the first in step %.4g",
              pair->from, pair->to, pair->messages, weft_plural(pair->messages), pair->channel,
              weft_plural(pair->channel), pair->first + 1);
    svg_arrow(svg, curve, 7, &paint);
    svg_end(svg);
}

/* Where the way from the middle of a box to `to` leaves the box. */
static svg_point_t draw_hosts_leave(const hosts_layout_t *l, svg_point_t from, svg_point_t to,
                                    double gap)
{
    double dx = fabs(to.x - from.x), dy = fabs(to.y - from.y);
    double across = dx > 1e-9 ? l->wide / 2 / dx : INFINITY;
    double down = dy > 1e-9 ? l->high / 2 / dy : INFINITY;
    return draw_circle_towards(from, to, fmin(across, down) * svg_length(dx, dy) + gap);
}

static void draw_hosts_put_between(const hosts_t *hosts, const draw_link_t *pair)
{
    svg_point_t curve[3];
    svg_t *svg = &hosts->draw->svg;
    const hosts_layout_t *l = &hosts->layout;
    svg_colour_t colour = draw_steps_colour(&hosts->steps, pair->first);
    svg_paint_t paint = {
        .stroke = colour.text, .width = fmin(1.3 + 0.6 * pair->channel, 6), .opacity = 0.9};
    draw_circle_link(&l->hosts, pair->from, pair->to, 0, curve);
    curve[0] = draw_hosts_leave(l, curve[0], curve[1], 1);
    curve[2] = draw_hosts_leave(l, curve[2], curve[1], 2);
    svg_begin(svg, "host %u to host %u: %u message%s over %u link%s, the first in step %.4g",
              pair->from, pair->to, pair->messages, weft_plural(pair->messages), pair->channel,
              weft_plural(pair->channel), pair->first + 1);
    svg_arrow(svg, curve, 9 + paint.width, &paint);
    svg_end(svg);
}

/* The number of links, in the middle of their arrow; over all arrows, on a ground of its own. */
static void draw_hosts_put_number(const hosts_t *hosts, const draw_link_t *pair)
{
    svg_point_t curve[3];
    svg_t *svg = &hosts->draw->svg;
    const hosts_layout_t *l = &hosts->layout;
    draw_circle_link(&l->hosts, pair->from, pair->to, 0, curve);
    curve[0] = draw_hosts_leave(l, curve[0], curve[1], 1);
    curve[2] = draw_hosts_leave(l, curve[2], curve[1], 2);
    svg_point_t at = {(curve[0].x + 2 * curve[1].x + curve[2].x) / 4,
                      (curve[0].y + 2 * curve[1].y + curve[2].y) / 4};
    char text[16];
    snprintf(text, sizeof text, "×%u", pair->channel);
    double wide = svg_width(text, 11) + 2;
    svg_colour_t colour = draw_steps_colour(&hosts->steps, pair->first);
    svg_paint_t ground = {.fill = SVG_PAPER};
    svg_font_t font = {.size = 11, .anchor = 'm', .bold = true, .fill = colour.text};
    svg_rect(svg, (svg_box_t){at.x - wide / 2, at.y - 7, wide, 14, 3}, &ground);
    svg_text(svg, (svg_point_t){at.x, at.y + 4}, &font, "%s", text);
}

static int draw_hosts_compare(const void *a, const void *b)
{
    const draw_link_t *x = a, *y = b;
    return x->from != y->from ? (x->from < y->from ? -1 : 1)
           : x->to != y->to   ? (x->to < y->to ? -1 : 1)
                              : 0;
}

/* What the pairs of ranks on different hosts are for their hosts; behind the pairs of ranks. */
static void draw_hosts_join(hosts_t *hosts)
{
    const uint32_t *host = hosts->draw->input->host;
    draw_link_t *outside = hosts->pairs + hosts->npairs;
    uint32_t count = 0;
    for (uint32_t i = 0; i < hosts->npairs; i++) {
        const draw_link_t *pair = &hosts->pairs[i];
        hosts->most = pair->messages > hosts->most ? pair->messages : hosts->most;
        if (host[pair->from] != host[pair->to]) {
            outside[count] = *pair;
            outside[count].from = host[pair->from];
            outside[count++].to = host[pair->to];
            hosts->speaks[pair->from] = hosts->speaks[pair->to] = 1;
            hosts->nlinks += pair->channel;
        }
    }
    qsort(outside, count, sizeof *outside, draw_hosts_compare);
    for (uint32_t i = 0; i < count; i++) {
        draw_link_t *last = hosts->outside > 0 ? &outside[hosts->outside - 1] : NULL;
        if (last == NULL || draw_hosts_compare(last, &outside[i]) != 0) {
            outside[hosts->outside++] = outside[i];
            continue;
        }
        last->channel += outside[i].channel;
        last->messages += outside[i].messages;
        last->first = fmin(last->first, outside[i].first);
    }
}

static void draw_hosts_put_legend(const hosts_t *hosts, double x)
{
    draw_t *draw = hosts->draw;
    svg_point_t at = {x, draw->top + 32};
    svg_font_t font = {.size = 13, .anchor = 's'}, grey = {.size = 12, .fill = SVG_GREY};
    draw_steps_put_legend(draw, &hosts->steps, at);
    at.y += draw_steps_legend_height(&hosts->steps) + 14;
    svg_text(&draw->svg, at, &font, "%u links, %u between hosts", draw->nlinks, hosts->nlinks);
    svg_text(&draw->svg, (svg_point_t){at.x, at.y + 20}, &font, "%u message%s",
             draw->timeline.nmessages, weft_plural(draw->timeline.nmessages));
    svg_text(&draw->svg, (svg_point_t){at.x, at.y + 40}, &font, "busiest pair of ranks: %u",
             hosts->most);
    svg_text(&draw->svg, (svg_point_t){at.x, at.y + 66}, &grey, "×4: four links in one arrow");
    svg_text(&draw->svg, (svg_point_t){at.x, at.y + 84}, &grey, "tinted: talks to other hosts");
}

static void draw_hosts_put_all(hosts_t *hosts, FILE *out)
{
    draw_t *draw = hosts->draw;
    hosts_layout_t *l = &hosts->layout;
    double legend = draw->top + 160 + draw_steps_legend_height(&hosts->steps);
    double tall = draw->top + 20 + l->above + l->below + DRAW_MARGIN;
    double wide = fmax(draw_hosts_width(draw->input), 720);
    l->hosts.centre = (svg_point_t){DRAW_MARGIN + l->left, draw->top + 20 + l->above};
    draw_begin(draw, out, wide, fmax(tall, legend), "links inside and between hosts");
    for (uint32_t i = 0; i < hosts->outside; i++) {
        draw_hosts_put_between(hosts, &hosts->pairs[hosts->npairs + i]);
    }
    for (uint32_t i = 0; i < hosts->outside && hosts->outside <= NUMBERS_MAX; i++) {
        if (hosts->pairs[hosts->npairs + i].channel > 1) {
            draw_hosts_put_number(hosts, &hosts->pairs[hosts->npairs + i]);
        }
    }
    draw_hosts_put_boxes(hosts);
    for (uint32_t i = 0; i < hosts->npairs; i++) {
        const draw_link_t *pair = &hosts->pairs[i];
        if (draw->input->host[pair->from] == draw->input->host[pair->to]) {
            draw_hosts_put_inside(hosts, pair);
        }
    }
    draw_hosts_put_ranks(hosts);
    draw_hosts_put_legend(hosts, wide - DRAW_MARGIN - KEYS);
    svg_close(&draw->svg);
}

/* Ranks of a host need not follow each other. */
static void draw_hosts_place(hosts_t *hosts)
{
    const draw_input_t *input = hosts->draw->input;
    for (uint32_t h = 0, at = 0; h < input->nhosts; h++) {
        hosts->first[h] = at;
        for (uint32_t r = 0; r < input->nranks; r++) {
            if (input->host[r] == h) {
                hosts->place[r] = at++ - hosts->first[h];
            }
        }
        hosts->first[h + 1] = at;
    }
}

weft_status_t draw_hosts(draw_t *draw, FILE *out)
{
    const draw_input_t *input = draw->input;
    if (input->nhosts > HOSTS_MAX || input->nranks > RANKS_MAX) {
        return weft_fail(WEFT_ERR_ARG, 0,
                         "boxes are drawn for up to %u hosts and %u ranks, not %u and %u",
                         HOSTS_MAX, RANKS_MAX, input->nhosts, input->nranks);
    }
    hosts_t *hosts = calloc(1, sizeof *hosts);
    draw_link_t *pairs = calloc(2 * (size_t)draw->nlinks + 1, sizeof *pairs);
    uint32_t *places = calloc(input->nranks + input->nhosts + 1, sizeof *places);
    uint8_t *speaks = calloc(input->nranks, 1);
    weft_status_t status = WEFT_OK;
    if (hosts == NULL || pairs == NULL || places == NULL || speaks == NULL) {
        status = weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for a drawing");
    } else {
        *hosts = (hosts_t){.draw = draw,
                           .layout = draw_hosts_lay_out(input),
                           .first = places,
                           .place = places + input->nhosts + 1,
                           .pairs = pairs,
                           .speaks = speaks};
        hosts->npairs = draw_merge_links(draw, pairs);
        draw_hosts_place(hosts);
        draw_hosts_join(hosts);
        draw_steps_make(pairs, hosts->npairs, &hosts->steps);
        draw_hosts_put_all(hosts, out);
    }
    free(speaks);
    free(places);
    free(pairs);
    free(hosts);
    return status;
}
