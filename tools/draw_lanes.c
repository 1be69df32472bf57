/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lanes over time: a row per rank and lane, a bar per chunk that a MOVE moved, an arrow per
 * message. Members of a PAR share their row, one below the other, on a common ground. */
#include "tools/draw_lanes.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/error.h"
#include "tools/draw_page.h"
#include "tools/draw_title.h"
#include "tools/svg.h"
#include "tools/timeline.h"

#define RANKS_MAX 32u
#define EVENTS_MAX 20000u
#define LEFT 104.0 /* of the rows; with lane numbers: */
#define LEFT_LANES 138.0
#define BAR_SHARE 0.76 /* of a step; the rest shows the message */
#define RIGHT 40.0
#define LEVEL 12.0 /* by which a row grows for each further bar at the same moment */

typedef struct lanes {
    draw_t *draw;
    uint32_t *first;  /* lane of the drawing, by rank */
    double *top;      /* of each lane */
    uint32_t *levels; /* bars of a lane that share a moment */
    double unit, bar, left, bottom;
    uint32_t nlanes;
    int has_local, has_par, has_final;
} lanes_t;

static uint32_t draw_lanes_lane_of(const lanes_t *lanes, const timeline_event_t *e)
{
    return lanes->first[e->rank] + e->lane;
}

static double draw_lanes_height_of(const lanes_t *lanes, uint32_t lane)
{
    uint32_t levels = lanes->levels[lane];
    return lanes->bar + (levels > 1 ? LEVEL * (levels - 1) : 0);
}

static void draw_lanes_place(lanes_t *lanes)
{
    const draw_t *draw = lanes->draw;
    for (uint32_t i = 0; i < draw->timeline.nevents; i++) {
        const timeline_event_t *e = &draw->timeline.events[i];
        uint32_t *levels = &lanes->levels[draw_lanes_lane_of(lanes, e)];
        uint32_t most = e->members < 4 ? e->members : 4;
        *levels = most > *levels ? most : *levels;
        lanes->has_local |= e->sends + e->receives == 0;
        lanes->has_par |= e->members > 1;
        lanes->has_final |= e->final != 0;
    }
    double y = draw->top + 34;
    for (uint32_t r = 0; r < draw->input->nranks; r++) {
        for (uint32_t l = lanes->first[r]; l < lanes->first[r + 1]; l++) {
            lanes->top[l] = y;
            y += draw_lanes_height_of(lanes, l) + 5;
        }
        y += 12;
    }
    lanes->bottom = y;
}

static svg_box_t draw_lanes_box_of(const lanes_t *lanes, const timeline_event_t *e)
{
    uint32_t lane = draw_lanes_lane_of(lanes, e);
    uint32_t levels = lanes->levels[lane];
    double height = draw_lanes_height_of(lanes, lane);
    uint32_t shown = e->members < levels ? e->members : levels;
    double each = height / shown;
    double y = lanes->top[lane] + each * (e->member % shown);
    return (svg_box_t){.x = lanes->left + e->start * lanes->unit + 0.8,
                       .y = y + (shown > 1 ? 0.6 : 0),
                       .w = (e->end - e->start) * lanes->unit * BAR_SHARE,
                       .h = each - (shown > 1 ? 1.2 : 0),
                       .round = 2.5};
}

/* Bars of the instruction that the verdict names, and of the one that made the wrong value. */
static void draw_lanes_mark_bar(const lanes_t *lanes, const timeline_event_t *e, svg_box_t box)
{
    weft_plan_place_t at = {e->rank, e->lane, e->pc};
    svg_paint_t mark = {.stroke = draw_mark_of_code(lanes->draw, &at), .width = 3};
    if (mark.stroke != NULL) {
        svg_rect(&lanes->draw->svg, (svg_box_t){box.x - 3, box.y - 3, box.w + 6, box.h + 6, 4},
                 &mark);
    }
}

/* An instruction that never began, or never ended, is marked where its lane stops. */
static void draw_lanes_put_stop(const lanes_t *lanes)
{
    const draw_t *draw = lanes->draw;
    const weft_verify_report_t *r = draw->input->reports;
    double at = 0;
    if (!draw_is_refused(draw) || r->lane >= draw->input->plans[r->rank]->nlanes) {
        return;
    }
    for (uint32_t i = 0; i < draw->timeline.nevents; i++) {
        const timeline_event_t *e = &draw->timeline.events[i];
        if (e->rank == r->rank && e->lane == r->lane) {
            if (e->pc == r->pc && !draw->timeline.stuck) {
                return;
            }
            at = fmax(at, e->end);
        }
    }
    uint32_t lane = lanes->first[r->rank] + r->lane;
    svg_paint_t mark = {.stroke = DRAW_FAULT, .width = 2.4, .dash = "4 3"};
    svg_font_t font = {.size = 10, .anchor = 's', .bold = true, .fill = DRAW_FAULT};
    svg_box_t box = {lanes->left + at * lanes->unit + 2, lanes->top[lane] + 1,
                     lanes->unit * BAR_SHARE, lanes->bar - 2, 3};
    svg_rect(&lanes->draw->svg, box, &mark);
    svg_text(&lanes->draw->svg, (svg_point_t){box.x + box.w + 5, box.y + box.h / 2 + 3.5}, &font,
             "pc %u", r->pc);
}

static void draw_lanes_put_bar(const lanes_t *lanes, const timeline_event_t *e)
{
    svg_t *svg = &lanes->draw->svg;
    svg_colour_t colour = draw_chunk_colour(lanes->draw, e->chunk);
    svg_box_t box = draw_lanes_box_of(lanes, e);
    int local = e->sends + e->receives == 0;
    svg_paint_t paint = {.fill = colour.text,
                         .stroke = e->final ? SVG_INK : NULL,
                         .width = 1.8,
                         .opacity = local ? 0.45 : 0};
    char packed[24] = "";
    if (e->chunks > 1) {
        snprintf(packed, sizeof packed, " and %u more", e->chunks - 1);
    }
    svg_begin(svg, "rank %u lane %u instruction %u%s: chunk %u%s, %s%s%s", e->rank, e->lane, e->pc,
              e->members > 1 ? " (par)" : "", e->chunk, packed, e->receives != 0 ? "receives " : "",
              e->combines != 0 ? "and combines " : "", e->sends != 0 ? "and sends" : "");
    svg_rect(svg, box, &paint);
    draw_lanes_mark_bar(lanes, e, box);
    char text[24];
    snprintf(text, sizeof text, "%u%s%s", e->chunk, e->chunks > 1 ? "…" : "",
             e->combines != 0 ? "+" : "");
    double size = fmin(11, 0.72 * box.h);
    if (svg_width(text, size) > box.w - 2) {
        snprintf(text, sizeof text, "%u", e->chunk);
    }
    if (size >= DRAW_TEXT_LEAST && svg_width(text, size) <= box.w - 1) {
        svg_font_t font = {.size = size, .anchor = 'm', .fill = SVG_INK};
        svg_text(svg, (svg_point_t){box.x + box.w / 2, box.y + box.h / 2 + 0.36 * size}, &font,
                 "%s", text);
    }
    svg_end(svg);
}

/* From the end of the bar that sends to the start of the bar that receives. */
static void draw_lanes_put_message(const lanes_t *lanes, const timeline_message_t *message)
{
    const timeline_event_t *from = &lanes->draw->timeline.events[message->from];
    const timeline_event_t *to = &lanes->draw->timeline.events[message->to];
    svg_box_t a = draw_lanes_box_of(lanes, from), b = draw_lanes_box_of(lanes, to);
    svg_point_t start = {a.x + a.w, a.y + a.h / 2}, end = {b.x - 0.5, b.y + b.h / 2};
    uint32_t n = timeline_chunks(lanes->draw->input->plans[0]);
    svg_colour_t colour = svg_oklch(0.55, 0.12, 255 + 360.0 * from->chunk / (n == 0 ? 1 : n));
    svg_paint_t paint = {.stroke = colour.text, .width = 1.1, .opacity = 0.85};
    double bend = end.x - start.x;
    svg_point_t curve[3] = {start, {start.x + 0.45 * bend, start.y + 0.6 * (end.y - start.y)}, end};
    svg_arrow(&lanes->draw->svg, curve, 6, &paint);
}

static void draw_lanes_put_grid(const lanes_t *lanes)
{
    svg_t *svg = &lanes->draw->svg;
    double end = lanes->draw->timeline.end;
    double every = lanes->unit >= 26 ? 1 : lanes->unit >= 12 ? 2 : lanes->unit >= 5 ? 5 : 10;
    svg_paint_t line = {.stroke = SVG_FAINT, .width = 1};
    svg_font_t font = {.size = 10.5, .anchor = 'm', .fill = SVG_GREY};
    for (double t = 0; t <= end + 0.01; t += every) {
        double x = lanes->left + t * lanes->unit;
        svg_line(svg, (svg_point_t){x, lanes->draw->top + 22}, (svg_point_t){x, lanes->bottom - 8},
                 &line);
        svg_text(svg, (svg_point_t){x, lanes->draw->top + 14}, &font, "%.0f", t);
    }
    font.anchor = 's';
    svg_text(svg, (svg_point_t){DRAW_MARGIN, lanes->draw->top + 14}, &font, "step");
}

static void draw_lanes_put_names(const lanes_t *lanes)
{
    svg_t *svg = &lanes->draw->svg;
    const draw_input_t *input = lanes->draw->input;
    double width = lanes->draw->timeline.end * lanes->unit;
    svg_font_t bold = {.size = 12.5, .anchor = 's', .bold = true};
    svg_font_t small = {.size = 10, .anchor = 'e', .fill = SVG_GREY};
    for (uint32_t r = 0; r < input->nranks; r++) {
        for (uint32_t l = lanes->first[r]; l < lanes->first[r + 1]; l++) {
            double y = lanes->top[l] + lanes->bar - 5;
            double high = draw_lanes_height_of(lanes, l);
            svg_paint_t ground = {.fill = r % 2 == 0 ? "#f5f7f9" : "#fafbfc"};
            svg_rect(svg, (svg_box_t){lanes->left, lanes->top[l] - 1.5, width, high + 3, 3},
                     &ground);
            if (l == lanes->first[r]) {
                svg_text(svg, (svg_point_t){DRAW_MARGIN, y}, &bold, "rank %u", r);
            }
            if (lanes->first[r + 1] - lanes->first[r] > 1) {
                svg_text(svg, (svg_point_t){lanes->left - 8, y}, &small, "lane %u",
                         l - lanes->first[r]);
            }
        }
        if (r + 1 < input->nranks && input->host[r] != input->host[r + 1]) {
            double y = lanes->top[lanes->first[r + 1]] - 9;
            svg_paint_t line = {.stroke = SVG_GREY, .dash = "6 4", .opacity = 0.6};
            svg_line(svg, (svg_point_t){DRAW_MARGIN, y}, (svg_point_t){lanes->left + width, y},
                     &line);
        }
    }
}

/* The common ground of a PAR reaches from its first start to its last end. */
static void draw_lanes_put_groups(const lanes_t *lanes)
{
    const timeline_t *t = &lanes->draw->timeline;
    svg_paint_t ground = {.fill = "#e3e8ee", .stroke = "#b8c2cc", .width = 0.8};
    uint8_t *seen = calloc(t->nevents + 1, 1);
    for (uint32_t i = 0; seen != NULL && i < t->nevents; i++) {
        const timeline_event_t *e = &t->events[i];
        if (e->members < 2 || seen[i]) {
            continue;
        }
        double start = e->start, end = e->end;
        for (uint32_t j = i; j < t->nevents; j++) {
            const timeline_event_t *o = &t->events[j];
            if (o->rank == e->rank && o->lane == e->lane && o->iteration == e->iteration &&
                o->members == e->members && o->pc - o->member == e->pc - e->member) {
                seen[j] = 1;
                start = o->start < start ? o->start : start;
                end = o->end > end ? o->end : end;
            }
        }
        uint32_t lane = draw_lanes_lane_of(lanes, e);
        double high = draw_lanes_height_of(lanes, lane);
        double wide = (end - start - (1 - BAR_SHARE)) * lanes->unit;
        svg_box_t box = {lanes->left + start * lanes->unit - 1.5, lanes->top[lane] - 1, wide + 4.5,
                         high + 2, 3};
        svg_rect(&lanes->draw->svg, box, &ground);
    }
    free(seen);
}

static double draw_lanes_sample(const lanes_t *lanes, double x, double y, const svg_paint_t *paint,
                                const char *text)
{
    svg_font_t font = {.size = 11.5, .anchor = 's'};
    svg_rect(&lanes->draw->svg, (svg_box_t){x, y - 11, 22, 14, 2.5}, paint);
    svg_text(&lanes->draw->svg, (svg_point_t){x + 28, y}, &font, "%s", text);
    return x + 44 + svg_width(text, 11.5);
}

static void draw_lanes_put_legend(const lanes_t *lanes, double y)
{
    svg_t *svg = &lanes->draw->svg;
    svg_colour_t one = svg_hue(0, 8);
    svg_paint_t move = {.fill = one.text};
    svg_paint_t done = {.fill = one.text, .stroke = SVG_INK, .width = 1.8};
    svg_paint_t local = {.fill = one.text, .opacity = 0.45};
    svg_paint_t par = {.fill = "#e3e8ee", .stroke = "#b8c2cc", .width = 0.8};
    double x = DRAW_MARGIN;
    x = draw_lanes_sample(lanes, x, y, &move, "move of a chunk; + combines");
    if (lanes->has_final) {
        x = draw_lanes_sample(lanes, x, y, &done, "completes a reduction");
    }
    if (lanes->has_local) {
        x = draw_lanes_sample(lanes, x, y, &local, "inside the rank only");
    }
    if (lanes->has_par) {
        draw_lanes_sample(lanes, x, y, &par, "par: together");
    }
    uint32_t chunks = timeline_chunks(lanes->draw->input->plans[0]);
    uint32_t shown = chunks < 32 ? chunks : 32;
    svg_font_t font = {.size = 11.5, .anchor = 's'};
    svg_text(svg, (svg_point_t){DRAW_MARGIN, y + 26}, &font, "chunk");
    for (uint32_t c = 0; c < shown; c++) {
        svg_colour_t colour = draw_chunk_colour(lanes->draw, c);
        svg_paint_t paint = {.fill = colour.text};
        svg_font_t middle = {.size = 10.5, .anchor = 'm'};
        double at = DRAW_MARGIN + 48 + 25.0 * c;
        svg_rect(svg, (svg_box_t){at, y + 14, 23, 16, 2.5}, &paint);
        svg_text(svg, (svg_point_t){at + 11.5, y + 26}, &middle, "%u", c);
    }
    if (shown < chunks) {
        svg_text(svg, (svg_point_t){DRAW_MARGIN + 54 + 25.0 * shown, y + 26}, &font, "… %u",
                 chunks - 1);
    }
}

static void draw_lanes_put_all(lanes_t *lanes, FILE *out)
{
    const timeline_t *t = &lanes->draw->timeline;
    draw_lanes_place(lanes);
    uint32_t chunks = timeline_chunks(lanes->draw->input->plans[0]);
    double wide = lanes->left + t->end * lanes->unit + RIGHT;
    double least = 2 * DRAW_MARGIN + 100 + 25.0 * (chunks < 32 ? chunks : 33);
    least = least > 760 ? least : 760;
    draw_begin(lanes->draw, out, wide > least ? wide : least, lanes->bottom + 66,
               "lanes over time, every move of a chunk takes one step");
    draw_lanes_put_names(lanes);
    draw_lanes_put_grid(lanes);
    draw_lanes_put_groups(lanes);
    /* Bars over arrows: what passes behind a row does not belong to it. */
    for (uint32_t i = 0; i < t->nmessages; i++) {
        draw_lanes_put_message(lanes, &t->messages[i]);
    }
    for (uint32_t i = 0; i < t->nevents; i++) {
        draw_lanes_put_bar(lanes, &t->events[i]);
    }
    draw_lanes_put_stop(lanes);
    draw_lanes_put_legend(lanes, lanes->bottom + 20);
    svg_close(&lanes->draw->svg);
}

weft_status_t draw_lanes(draw_t *draw, FILE *out)
{
    const draw_input_t *input = draw->input;
    const timeline_t *t = &draw->timeline;
    if (input->nranks > RANKS_MAX || t->nevents > EVENTS_MAX) {
        return weft_fail(WEFT_ERR_ARG, 0,
                         "lanes are drawn for up to %u ranks and %u moves, not %u and %u",
                         RANKS_MAX, EVENTS_MAX, input->nranks, t->nevents);
    }
    lanes_t lanes = {.draw = draw, .bar = input->nranks <= 8 ? 22 : 18};
    lanes.first = calloc(input->nranks + 1, sizeof *lanes.first);
    for (uint32_t r = 0; lanes.first != NULL && r < input->nranks; r++) {
        lanes.nlanes += input->plans[r]->nlanes;
        lanes.first[r + 1] = lanes.nlanes;
    }
    lanes.left = lanes.nlanes > input->nranks ? LEFT_LANES : LEFT;
    lanes.top = calloc(lanes.nlanes + 1, sizeof *lanes.top);
    lanes.levels = calloc(lanes.nlanes + 1, sizeof *lanes.levels);
    lanes.unit = fmin(64, fmax(24, (DRAW_SCREEN - lanes.left - RIGHT) / fmax(t->end, 1)));
    weft_status_t status = WEFT_OK;
    if (lanes.first == NULL || lanes.top == NULL || lanes.levels == NULL) {
        status = weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for a drawing");
    } else {
        draw_lanes_put_all(&lanes, out);
    }
    free(lanes.first);
    free(lanes.top);
    free(lanes.levels);
    return status;
}
