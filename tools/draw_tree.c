/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Trees, side by side or one below the other. Every host (or rank) has the column of its number, in
 * all trees alike, so that one sees who is inner in which tree. */
#include "tools/draw_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/plural.h"
#include "tools/draw_forest.h"
#include "tools/draw_page.h"
#include "tools/draw_title.h"
#include "tools/svg.h"

#define RANKS_MAX 256u
#define GAP 44.0
#define TITLE 230.0 /* width of a tree's title */
#define ROOM (DRAW_SCREEN - 2 * DRAW_MARGIN)

typedef struct trees {
    draw_t *draw;
    const draw_forest_t *forest;
    double *x;               /* of each rank, from the left of its tree */
    uint32_t *depth, *inner; /* of each rank; tree in which it has children */
    double node, column, level, width;
    double label; /* room for a host's name, behind its ranks */
    int boxes;    /* ranks of one host lie in one box */
    bool lying;   /* the root is at the left, ranks go down: such trees may be wide */
} trees_t;

static svg_colour_t draw_tree_hue_of(const trees_t *trees, uint32_t tree, double lightness,
                                     double chroma)
{
    uint32_t n = trees->forest->count;
    return svg_oklch(lightness, chroma, n <= 2 ? 250 + 170.0 * tree : 250 + 360.0 * tree / n);
}

/* In every tree the ranks of a host are joined inside the host. */
static bool draw_tree_has_boxes(const trees_t *trees)
{
    const draw_input_t *input = trees->draw->input;
    if (input->nhosts < 2 || input->nhosts == input->nranks) {
        return false;
    }
    for (uint32_t t = 0; t < trees->forest->count; t++) {
        const draw_tree_t *tree = &trees->forest->trees[t];
        uint32_t heads = 0;
        for (uint32_t r = 0; r < input->nranks; r++) {
            heads +=
                tree->parent[r] == DRAW_NO_PARENT || input->host[tree->parent[r]] != input->host[r];
        }
        if (heads != input->nhosts || tree->members != input->nranks) {
            return false;
        }
    }
    return true;
}

/* Levels below the root; inside a box all ranks have the level of the box. */
static void draw_tree_set_depth(const trees_t *trees, const draw_tree_t *tree)
{
    const draw_input_t *input = trees->draw->input;
    for (uint32_t r = 0; r < input->nranks; r++) {
        uint32_t depth = 0;
        for (uint32_t at = r; tree->parent[at] != DRAW_NO_PARENT; at = tree->parent[at]) {
            depth += !trees->boxes || input->host[tree->parent[at]] != input->host[at];
        }
        trees->depth[r] = depth;
    }
}

static uint32_t draw_tree_height_of(const trees_t *trees, const draw_tree_t *tree)
{
    uint32_t most = 0;
    draw_tree_set_depth(trees, tree);
    for (uint32_t r = 0; r < trees->draw->input->nranks; r++) {
        most = tree->member[r] && trees->depth[r] > most ? trees->depth[r] : most;
    }
    return most;
}

static void draw_tree_set_columns(trees_t *trees)
{
    const draw_input_t *input = trees->draw->input;
    double x = trees->node + 6;
    for (uint32_t r = 0; r < input->nranks; r++) {
        if (r > 0) {
            x += trees->column;
            x += trees->boxes && input->host[r] != input->host[r - 1] ? trees->label + 14 : 0;
        }
        trees->x[r] = x;
    }
    trees->width = x + trees->node + 6 + (trees->boxes ? trees->label : 0);
}

static void draw_tree_set_inner(trees_t *trees)
{
    for (uint32_t r = 0; r < trees->draw->input->nranks; r++) {
        trees->inner[r] = UINT32_MAX;
    }
    for (uint32_t t = 0; t < trees->forest->count; t++) {
        const draw_tree_t *tree = &trees->forest->trees[t];
        for (uint32_t r = 0; r < trees->draw->input->nranks; r++) {
            uint32_t parent = tree->parent[r];
            if (parent != DRAW_NO_PARENT && trees->inner[parent] == UINT32_MAX) {
                trees->inner[parent] = t;
            }
        }
    }
}

/* Half of what a level takes from the root to the leaves. */
static double draw_tree_half(const trees_t *trees)
{
    return trees->boxes && trees->lying ? 29 : trees->node + 6;
}

static svg_point_t draw_tree_place(const trees_t *trees, svg_point_t origin, uint32_t rank)
{
    double across = trees->x[rank];
    double down = draw_tree_half(trees) + 2 + trees->level * trees->depth[rank];
    return trees->lying ? (svg_point_t){origin.x + down, origin.y + across}
                        : (svg_point_t){origin.x + across, origin.y + down};
}

/* The two directions bend to different sides. */
static void draw_tree_put_edge(const trees_t *trees, uint32_t t, svg_point_t origin, uint32_t child)
{
    const draw_tree_t *tree = &trees->forest->trees[t];
    svg_t *svg = &trees->draw->svg;
    svg_point_t c = draw_tree_place(trees, origin, child),
                p = draw_tree_place(trees, origin, tree->parent[child]);
    double dx = p.x - c.x, dy = p.y - c.y, length = svg_length(dx, dy);
    int flat = fabs(trees->lying ? dx : dy) < 1;
    double bend = tree->up && tree->down ? (flat ? 0.16 : 9 / length) : 0;
    bend = flat && length > 1.5 * trees->column ? 0.3 : bend;
    double ux = dx / length, uy = dy / length, r = trees->node + 2;
    if (trees->boxes && !flat) {
        /* From behind the parent to before the child, not through its neighbours. */
        ux = trees->lying ? -1 : 0;
        uy = trees->lying ? 0 : -1;
    }
    svg_point_t low = {c.x + ux * r, c.y + uy * r}, high = {p.x - ux * r, p.y - uy * r};
    svg_colour_t up = draw_tree_hue_of(trees, t, 0.52, 0.15),
                 down = draw_tree_hue_of(trees, t, 0.74, 0.12);
    double head = trees->boxes ? 6.5 : trees->node > 13 ? 9 : 7;
    if (tree->up) {
        svg_paint_t paint = {.stroke = up.text, .width = 1.7};
        svg_point_t curve[3] = {
            low, {(c.x + p.x) / 2 + bend * dy, (c.y + p.y) / 2 - bend * dx}, high};
        svg_arrow(svg, curve, head, &paint);
    }
    if (tree->down) {
        svg_paint_t paint = {.stroke = down.text, .width = 1.7};
        svg_point_t curve[3] = {
            high, {(c.x + p.x) / 2 - bend * dy, (c.y + p.y) / 2 + bend * dx}, low};
        svg_arrow(svg, curve, head, &paint);
    }
}

static void draw_tree_put_boxes(const trees_t *trees, svg_point_t origin)
{
    const draw_input_t *input = trees->draw->input;
    svg_paint_t box = {.fill = "#f3f5f7", .stroke = SVG_PALE, .width = 1.2};
    svg_font_t font = {.size = 10.5, .anchor = trees->lying ? 'm' : 'e', .fill = SVG_GREY};
    for (uint32_t first = 0; trees->boxes && first < input->nranks;) {
        uint32_t last = first;
        while (last + 1 < input->nranks && input->host[last + 1] == input->host[first]) {
            last++;
        }
        svg_point_t a = draw_tree_place(trees, origin, first),
                    b = draw_tree_place(trees, origin, last);
        double pad = trees->node + 6, half = draw_tree_half(trees);
        svg_box_t area = {a.x - pad, a.y - half, b.x - a.x + 2 * pad + trees->label, 2 * half, 9};
        svg_point_t name = {area.x + area.w - 8, a.y + 4};
        if (trees->lying) {
            area =
                (svg_box_t){a.x - half, a.y - pad, 2 * half, b.y - a.y + 2 * pad + trees->label, 9};
            name = (svg_point_t){a.x, area.y + area.h - 7};
        }
        svg_rect(&trees->draw->svg, area, &box);
        svg_text(&trees->draw->svg, name, &font, "host %u", input->host[first]);
        first = last + 1;
    }
}

static bool draw_tree_has_children(const draw_tree_t *tree, uint32_t nranks, uint32_t rank)
{
    for (uint32_t r = 0; r < nranks; r++) {
        if (tree->parent[r] == rank) {
            return true;
        }
    }
    return false;
}

static void draw_tree_put_rank(const trees_t *trees, uint32_t t, svg_point_t origin, uint32_t rank)
{
    const draw_tree_t *tree = &trees->forest->trees[t];
    svg_t *svg = &trees->draw->svg;
    svg_point_t at = draw_tree_place(trees, origin, rank);
    int here = draw_tree_has_children(tree, trees->draw->input->nranks, rank);
    int other = !here && trees->inner[rank] != UINT32_MAX && trees->inner[rank] != t;
    svg_colour_t strong = draw_tree_hue_of(trees, t, 0.68, 0.13);
    svg_colour_t pale = draw_tree_hue_of(trees, other ? trees->inner[rank] : t, 0.94, 0.035);
    svg_colour_t edge = draw_tree_hue_of(trees, other ? trees->inner[rank] : t, 0.6, 0.1);
    svg_paint_t disc = {.fill = here    ? strong.text
                                : other ? pale.text
                                        : SVG_PAPER,
                        .stroke = rank == tree->root ? SVG_INK
                                  : here || other    ? edge.text
                                                     : SVG_GREY,
                        .width = rank == tree->root ? 2.6 : 1.4};
    svg_circle(svg, at, trees->node, &disc);
    draw_mark_rank(trees->draw, rank, at, trees->node);
    svg_font_t font = {
        .size = fmax(trees->node * 0.85, DRAW_TEXT_LEAST), .anchor = 'm', .bold = here};
    svg_text(svg, (svg_point_t){at.x, at.y + 0.36 * font.size}, &font, "%u", rank);
}

static void put_tree(const trees_t *trees, uint32_t t, svg_point_t origin)
{
    const draw_tree_t *tree = &trees->forest->trees[t];
    svg_font_t font = {.size = 14, .anchor = 's', .bold = true};
    svg_font_t small = {.size = 12, .anchor = 's', .fill = SVG_GREY};
    uint32_t height = draw_tree_height_of(trees, tree);
    char title[40];
    snprintf(title, sizeof title, trees->forest->count > 1 ? "tree %u" : "tree", t);
    svg_text(&trees->draw->svg, origin, &font, "%s", title);
    svg_text(&trees->draw->svg, (svg_point_t){origin.x + 16 + svg_width(title, 14), origin.y},
             &small, "root %u, %u level%s below it", tree->root, height, weft_plural(height));
    origin.y += 12;
    draw_tree_put_boxes(trees, origin);
    for (uint32_t r = 0; r < trees->draw->input->nranks; r++) {
        if (tree->parent[r] != DRAW_NO_PARENT) {
            draw_tree_put_edge(trees, t, origin, r);
        }
    }
    for (uint32_t r = 0; r < trees->draw->input->nranks; r++) {
        if (tree->member[r]) {
            draw_tree_put_rank(trees, t, origin, r);
        }
    }
}

static void draw_tree_put_legend(const trees_t *trees, svg_point_t at)
{
    draw_t *draw = trees->draw;
    svg_font_t font = {.size = 12.5, .anchor = 's'};
    static const char *const words[] = {"towards the root (combine)", "from the root (copy)"};
    double x = at.x;
    uint32_t up = 0, down = 0;
    for (uint32_t t = 0; t < trees->forest->count; t++) {
        up |= trees->forest->trees[t].up;
        down |= trees->forest->trees[t].down;
    }
    for (int way = 0; way < 2; way++) {
        if (!(way == 0 ? up : down)) {
            continue;
        }
        for (uint32_t t = 0; t < trees->forest->count && t < 4; t++) {
            svg_colour_t colour = way == 0 ? draw_tree_hue_of(trees, t, 0.52, 0.15)
                                           : draw_tree_hue_of(trees, t, 0.74, 0.12);
            svg_paint_t stroke = {.stroke = colour.text, .width = 3};
            svg_line(&draw->svg, (svg_point_t){x, at.y - 4}, (svg_point_t){x + 20, at.y - 4},
                     &stroke);
            x += 24;
        }
        svg_text(&draw->svg, (svg_point_t){x + 4, at.y}, &font, "%s", words[way]);
        x += 34 + svg_width(words[way], 12.5);
    }
    svg_font_t grey = {.size = 12.5, .anchor = 's', .fill = SVG_GREY};
    svg_text(&draw->svg, (svg_point_t){at.x, at.y + 21}, &grey,
             "filled: a rank with children in this tree%s; bold outline: the root",
             trees->forest->count > 1 ? ", tinted: with children in another one" : "");
}

/* The levels of the deepest tree. */
static uint32_t draw_tree_levels(const trees_t *trees)
{
    uint32_t deepest = 0;
    for (uint32_t t = 0; t < trees->forest->count; t++) {
        uint32_t height = draw_tree_height_of(trees, &trees->forest->trees[t]);
        deepest = height > deepest ? height : deepest;
    }
    return deepest;
}

/* Trees beside each other, as many as there is room for. */
static uint32_t draw_tree_columns(const trees_t *trees, double wide)
{
    uint32_t columns = 1;
    while (columns < trees->forest->count && (columns + 1) * wide + columns * GAP <= ROOM) {
        columns++;
    }
    return columns;
}

static void draw_tree_put_all(trees_t *trees, FILE *out)
{
    draw_t *draw = trees->draw;
    uint32_t count = trees->forest->count;
    double along = 2 * draw_tree_half(trees) + 12 + draw_tree_levels(trees) * trees->level +
                   (trees->boxes && !trees->lying ? 20 : 0);
    double wide = fmax(trees->lying ? along : trees->width, TITLE);
    double high = 20 + (trees->lying ? trees->width : along);
    uint32_t columns = draw_tree_columns(trees, wide);
    uint32_t rows = (count + columns - 1) / columns;
    double width = 2 * DRAW_MARGIN + columns * wide + (columns - 1) * GAP;
    double height = draw->top + 24 + rows * (high + 36) + 30;
    draw_begin(draw, out, fmax(width, 720), height,
               count > 1 ? "the trees that the messages form" : "the tree that the messages form");
    for (uint32_t t = 0; t < count; t++) {
        uint32_t column = t % columns, row = t / columns;
        svg_point_t origin = {DRAW_MARGIN + column * (wide + GAP),
                              draw->top + 24 + row * (high + 36)};
        put_tree(trees, t, origin);
    }
    draw_tree_put_legend(trees, (svg_point_t){DRAW_MARGIN, height - 38});
    svg_close(&draw->svg);
}

/* Trees stand if they fit the screen, else they lie. */
static void draw_tree_set_sizes(trees_t *trees)
{
    uint32_t n = trees->draw->input->nranks;
    trees->boxes = draw_tree_has_boxes(trees);
    trees->node = n <= 16 ? 16 : n <= 32 ? 13 : trees->boxes ? 11 : 9;
    trees->column = 2 * trees->node + (trees->boxes ? 24 : n <= 16 ? 12 : n <= 32 ? 5 : 0.9);
    trees->level = trees->boxes ? 112 : n <= 16 ? 66 : 74;
    trees->label = 46;
    draw_tree_set_columns(trees);
    trees->lying = trees->width > ROOM;
    if (trees->lying) {
        trees->node = 11;
        trees->column = 2 * trees->node + (trees->boxes ? 19 : 3);
        trees->level = trees->boxes ? 112 : 66;
        trees->label = 18;
        draw_tree_set_columns(trees);
    }
}

static weft_status_t draw_tree_lay_out(draw_t *draw, const draw_forest_t *forest, FILE *out)
{
    uint32_t n = draw->input->nranks;
    trees_t trees = {.draw = draw, .forest = forest};
    trees.x = calloc(n, sizeof *trees.x);
    trees.depth = calloc(n, sizeof *trees.depth);
    trees.inner = calloc(n, sizeof *trees.inner);
    weft_status_t status = WEFT_OK;
    if (trees.x == NULL || trees.depth == NULL || trees.inner == NULL) {
        status = weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for a drawing");
    } else {
        draw_tree_set_sizes(&trees);
        draw_tree_set_inner(&trees);
        draw_tree_put_all(&trees, out);
    }
    free(trees.x);
    free(trees.depth);
    free(trees.inner);
    return status;
}

weft_status_t draw_tree(draw_t *draw, FILE *out)
{
    draw_forest_t forest;
    if (draw->input->nranks > RANKS_MAX) {
        return weft_fail(WEFT_ERR_ARG, 0, "trees are drawn for up to %u ranks, not %u", RANKS_MAX,
                         draw->input->nranks);
    }
    weft_status_t status = draw_forest_make(draw, &forest);
    if (status != WEFT_OK) {
        return status;
    }
    if (forest.count == 0) {
        status = weft_fail(WEFT_ERR_ARG, 0,
                           "the messages of this plan form no tree; try the view ring or lanes");
    } else {
        status = draw_tree_lay_out(draw, &forest, out);
    }
    draw_forest_free(&forest);
    return status;
}
