/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The title, the words of the verdict below it, and what is to be marked. */
#include "tools/draw_title.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/weft.h>

#include "core/base/plural.h"
#include "core/plan/plan_print.h"
#include "core/plan/verify.h"

#define TITLE 84.0 /* height of title and subtitle */
#define LINE 17.0
#define COLUMNS 92u /* of the narrowest drawing */
#define LINES_MAX 12u
#define GOOD "#1a7f4b"

/* The verdict as lines, each with its colour. */
typedef struct title_lines {
    char text[LINES_MAX][COLUMNS + 8];
    const char *colour[LINES_MAX];
    uint32_t count;
} title_lines_t;

bool draw_is_refused(const draw_t *draw)
{
    const weft_verify_report_t *r = draw->input->reports;
    return r != NULL && r->verdict != WEFT_VERDICT_OK && r->verdict != WEFT_VERDICT_TOO_BIG;
}

/* Breaks at blanks. A byte is taken for a column: texts of verdicts are ASCII. */
static void draw_title_add(title_lines_t *lines, const char *colour, const char *text)
{
    while (*text != '\0' && lines->count < LINES_MAX) {
        size_t length = strlen(text);
        if (length > COLUMNS) {
            length = COLUMNS;
            while (length > 0 && text[length] != ' ') {
                length--;
            }
            length = length == 0 ? COLUMNS : length;
        }
        lines->colour[lines->count] = colour;
        snprintf(lines->text[lines->count++], sizeof lines->text[0], "%.*s", (int)length, text);
        text += length;
        text += strspn(text, " ");
    }
}

/* The instruction as `weft plan --text` prints it. */
static void draw_title_add_code(const draw_t *draw, title_lines_t *lines, const char *colour,
                                const char *what, const weft_plan_place_t *at)
{
    char text[400], *code = NULL;
    size_t bytes = 0;
    const weft_plan_t *plan = at->rank < draw->input->nranks ? draw->input->plans[at->rank] : NULL;
    FILE *memory = open_memstream(&code, &bytes);
    if (memory == NULL) {
        return;
    }
    if (plan != NULL && at->lane < plan->nlanes && at->pc < plan->lanes[at->lane].ncode) {
        weft_plan_print_code(plan, &plan->lanes[at->lane].code[at->pc], memory);
    }
    fclose(memory);
    snprintf(text, sizeof text, "%s rank %u lane %u pc %u: %.300s", what, at->rank, at->lane,
             at->pc, code != NULL ? code : "");
    free(code);
    draw_title_add(lines, colour, text);
}

static void draw_title_add_refusal(const draw_t *draw, title_lines_t *lines)
{
    const weft_verify_report_t *r = &draw->input->reports[0];
    weft_plan_place_t at = {r->rank, r->lane, r->pc};
    char text[400];
    snprintf(text, sizeof text, "refused, %s: %s", weft_verdict_name(r->verdict), r->text);
    draw_title_add(lines, DRAW_FAULT, text);
    draw_title_add_code(draw, lines, DRAW_FAULT, "marked red:", &at);
    if (r->from != WEFT_ORIGIN_NONE) {
        snprintf(text, sizeof text, "marked orange: %s at", weft_origin_name(r->from));
        draw_title_add_code(draw, lines, DRAW_ORIGIN, text, &r->origin);
    }
}

static void draw_title_lines(const draw_t *draw, title_lines_t *lines)
{
    const draw_input_t *input = draw->input;
    const weft_verify_report_t *r = input->reports;
    char text[400];
    lines->count = 0;
    if (r == NULL) {
        return;
    }
    if (draw_is_refused(draw)) {
        draw_title_add_refusal(draw, lines);
        return;
    }
    if (r[0].verdict == WEFT_VERDICT_TOO_BIG) {
        snprintf(text, sizeof text, "not proved: %s", r[0].text);
        draw_title_add(lines, SVG_GREY, text);
        return;
    }
    bool both = r[1].verdict == WEFT_VERDICT_OK;
    snprintf(text, sizeof text, "proved with %u slots and %u slice%s%s", input->slots,
             input->slices, weft_plural(input->slices), both ? ", in place too" : "");
    draw_title_add(lines, GOOD, text);
    if (!both) {
        snprintf(text, sizeof text, "not in place: %s", r[1].text);
        draw_title_add(lines, SVG_GREY, text);
    }
}

double draw_title_height(const draw_t *draw)
{
    title_lines_t lines;
    draw_title_lines(draw, &lines);
    return TITLE + LINE * lines.count;
}

static void draw_title_put_verdict(draw_t *draw)
{
    title_lines_t lines;
    draw_title_lines(draw, &lines);
    for (uint32_t i = 0; i < lines.count; i++) {
        svg_font_t font = {.size = 12, .anchor = 's', .fill = lines.colour[i]};
        svg_text(&draw->svg, (svg_point_t){DRAW_MARGIN, TITLE - 1 + LINE * i}, &font, "%s",
                 lines.text[i]);
    }
}

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
             input->nhosts, weft_plural(input->nhosts), plan->k, weft_plural(plan->k),
             draw->timeline.end, what);
    draw_title_put_verdict(draw);
}

const char *draw_mark_of_rank(const draw_t *draw, uint32_t rank)
{
    const weft_verify_report_t *r = draw->input->reports;
    if (!draw_is_refused(draw)) {
        return NULL;
    }
    bool comes = r->from != WEFT_ORIGIN_NONE && r->origin.rank == rank;
    return r->rank == rank ? DRAW_FAULT : comes ? DRAW_ORIGIN : NULL;
}

const char *draw_mark_of_code(const draw_t *draw, const weft_plan_place_t *at)
{
    const weft_verify_report_t *r = draw->input->reports;
    if (!draw_is_refused(draw)) {
        return NULL;
    }
    if (r->rank == at->rank && r->lane == at->lane && r->pc == at->pc) {
        return DRAW_FAULT;
    }
    bool comes = r->from != WEFT_ORIGIN_NONE && r->origin.rank == at->rank &&
                 r->origin.lane == at->lane && r->origin.pc == at->pc;
    return comes ? DRAW_ORIGIN : NULL;
}

void draw_mark_rank(draw_t *draw, uint32_t rank, svg_point_t centre, double radius)
{
    svg_paint_t ring = {.stroke = draw_mark_of_rank(draw, rank), .width = 3};
    if (ring.stroke != NULL) {
        svg_circle(&draw->svg, centre, radius + 3.5, &ring);
    }
}
