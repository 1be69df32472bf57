/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shapes of a drawing. Each element is on a line of its own, with its attributes in the order in
 * which tools/svg.c writes them. */
#include "tests/support/svg_shapes.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"

/* The value of an attribute of the element that begins at `at`; "" if it has none. */
static void svg_shapes_attribute(const char *at, const char *name, char *value, size_t bytes)
{
    char key[32];
    const char *end = strchr(at, '>');
    snprintf(key, sizeof key, " %s=\"", name);
    const char *found = strstr(at, key);
    value[0] = '\0';
    if (found != NULL && end != NULL && found < end) {
        found += strlen(key);
        snprintf(value, bytes, "%.*s", (int)strcspn(found, "\""), found);
    }
}

static double svg_shapes_number(const char *at, const char *name)
{
    char value[32];
    svg_shapes_attribute(at, name, value, sizeof value);
    return strtod(value, NULL);
}

static bool svg_shapes_is_filled(const char *at, const char *colour)
{
    char fill[16];
    svg_shapes_attribute(at, "fill", fill, sizeof fill);
    return colour != NULL ? strcmp(fill, colour) == 0 : strcmp(fill, "none") != 0;
}

static void svg_shapes_add_words(svg_shapes_t *shapes, const char *at)
{
    svg_words_t *words = &shapes->words[shapes->nwords++];
    char anchor[16];
    const char *text = strchr(at, '>') + 1;
    svg_shapes_attribute(at, "text-anchor", anchor, sizeof anchor);
    snprintf(words->text, sizeof words->text, "%.*s", (int)strcspn(text, "<"), text);
    words->size = svg_shapes_number(at, "font-size");
    double width = svg_width(words->text, words->size), x = svg_shapes_number(at, "x");
    x -= strcmp(anchor, "middle") == 0 ? width / 2 : strcmp(anchor, "end") == 0 ? width : 0;
    /* Capitals and digits: what hangs below the line is left out. */
    words->box = (svg_box_t){.x = x,
                             .y = svg_shapes_number(at, "y") - 0.72 * words->size,
                             .w = width,
                             .h = 0.72 * words->size};
}

static void svg_shapes_add_box(svg_shapes_t *shapes, const char *at)
{
    shapes->boxes[shapes->nboxes++] = (svg_box_t){.x = svg_shapes_number(at, "x"),
                                                  .y = svg_shapes_number(at, "y"),
                                                  .w = svg_shapes_number(at, "width"),
                                                  .h = svg_shapes_number(at, "height")};
}

static void svg_shapes_add(svg_shapes_t *shapes, const char *at, const char *box)
{
    svg_point_t *curve = shapes->curves[shapes->ncurves];
    if (strncmp(at, "<circle ", 8) == 0 && svg_shapes_is_filled(at, NULL)) {
        shapes->discs[shapes->ndiscs++] = (svg_disc_t){
            {svg_shapes_number(at, "cx"), svg_shapes_number(at, "cy")}, svg_shapes_number(at, "r")};
    } else if (strncmp(at, "<rect ", 6) == 0 && svg_shapes_is_filled(at, box)) {
        svg_shapes_add_box(shapes, at);
    } else if (strncmp(at, "<text ", 6) == 0) {
        svg_shapes_add_words(shapes, at);
    } else if (sscanf(at, "<path d=\"M%lf %lf Q%lf %lf %lf %lf\"", &curve[0].x, &curve[0].y,
                      &curve[1].x, &curve[1].y, &curve[2].x, &curve[2].y) == 6) {
        shapes->ncurves++;
    }
}

void svg_shapes_read(svg_shapes_t *shapes, const char *text, const char *box)
{
    size_t lines = 1;
    for (const char *at = text; *at != '\0'; at++) {
        lines += *at == '\n';
    }
    assert_true(lines < SVG_SHAPES_MAX);
    *shapes = (svg_shapes_t){.width = svg_shapes_number(strstr(text, "<svg "), "width"),
                             .height = svg_shapes_number(strstr(text, "<svg "), "height"),
                             .discs = calloc(lines, sizeof *shapes->discs),
                             .boxes = calloc(lines, sizeof *shapes->boxes),
                             .curves = calloc(lines, sizeof *shapes->curves),
                             .words = calloc(lines, sizeof *shapes->words)};
    assert_true(shapes->discs != NULL && shapes->boxes != NULL && shapes->curves != NULL &&
                shapes->words != NULL);
    for (const char *at = strstr(text, "<svg "); at != NULL; at = strchr(at, '\n')) {
        at += *at == '\n';
        svg_shapes_add(shapes, at, box);
    }
}

void svg_shapes_free(svg_shapes_t *shapes)
{
    free(shapes->discs);
    free(shapes->boxes);
    free(shapes->curves);
    free(shapes->words);
}

svg_point_t svg_curve_at(const svg_point_t curve[3], double at)
{
    double a = (1 - at) * (1 - at), b = 2 * at * (1 - at), c = at * at;
    return (svg_point_t){a * curve[0].x + b * curve[1].x + c * curve[2].x,
                         a * curve[0].y + b * curve[1].y + c * curve[2].y};
}

bool svg_boxes_overlap(const svg_box_t *a, const svg_box_t *b)
{
    return a->x + a->w > b->x + 0.01 && b->x + b->w > a->x + 0.01 && a->y + a->h > b->y + 0.01 &&
           b->y + b->h > a->y + 0.01;
}

size_t svg_count(const char *text, const char *what)
{
    size_t n = 0;
    for (const char *at = strstr(text, what); at != NULL; at = strstr(at + 1, what)) {
        n++;
    }
    return n;
}
