/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The machine as a drawing: a column for each NUMA node with its cores, below it the tree of PCI
 * bridges with GPUs and NICs as leaves, and the table of paths. */
#include "tools/topo/draw.h"

#include <math.h>
#include <stdio.h>

#include "core/base/plural.h"
#include "tools/svg.h"
#include "tools/topo/draw_paths.h"
#include "tools/topo/sheet.h"
#include "tools/topo/topo.h"
#include "tools/topo/words.h"

#define TOP 76.0        /* where packages begin */
#define FRAME_HEAD 30.0 /* of a package, above its columns */
#define GAP 14.0
#define COLUMN_LEAST 270.0
#define PAGE_LEAST 560.0
#define PAD 14.0 /* inside a column */
#define HEAD 62.0
#define PU 10.0
#define LEAF_W 108.0 /* a device with its margin */
#define LEAF_H 72.0
#define LEVEL_H 40.0 /* a bridge and the way below it */

/* Leaves and levels of the tree below a branch, or of all that a place has. */
typedef struct extent {
    uint32_t leaves, levels;
} extent_t;

static extent_t draw_measure(const topo_t *topo, uint32_t branch, uint32_t place)
{
    extent_t all = {0};
    for (uint32_t i = 0; i < topo->machine.nbranches; i++) {
        if (topo->machine.branches[i].parent == branch && topo->machine.branches[i].node == place) {
            extent_t below = draw_measure(topo, i, place);
            all.leaves += below.leaves;
            all.levels = below.levels + 1 > all.levels ? below.levels + 1 : all.levels;
        }
    }
    for (uint32_t i = 0; i < topo->machine.ndevices; i++) {
        all.leaves +=
            topo->machine.devices[i].branch == branch && topo->machine.devices[i].node == place;
    }
    return all;
}

#define CACHES_SIZE 11.0
static const char *draw_caches_text(const topo_t *topo, uint32_t place, char text[256])
{
    topo_name_t size;
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; place != WEFT_MACHINE_NONE && i < topo->machine.nodes[place].ncaches;
         i++) {
        const weft_machine_cache_t *cache = &topo->machine.nodes[place].caches[i];
        used += (size_t)snprintf(text + used, 256 - used, "%s%s %u x %s", i > 0 ? ", " : "",
                                 cache->name, cache->count, topo_bytes(cache->bytes, size));
    }
    return text;
}

static double draw_column_width(const topo_t *topo, uint32_t place)
{
    char caches[256];
    double text = svg_width(draw_caches_text(topo, place, caches), CACHES_SIZE);
    double tree = LEAF_W * draw_measure(topo, WEFT_MACHINE_NONE, place).leaves;
    return fmax(COLUMN_LEAST, 2 * PAD + fmax(tree, text));
}

/* Cores of a place are alike in almost every machine; the widest one sets the grid. */
typedef struct grid {
    double step;
    uint32_t per_row, rows;
} grid_t;

static grid_t draw_measure_cores(const topo_t *topo, uint32_t place)
{
    uint32_t most = 1, count = 0;
    for (uint32_t i = 0; i < topo->machine.ncores; i++) {
        if (topo->machine.cores[i].node == place) {
            most = topo->machine.cores[i].pus > most ? topo->machine.cores[i].pus : most;
            count++;
        }
    }
    grid_t grid = {.step = most * (PU + 1) + 9};
    double fit = floor((draw_column_width(topo, place) - 2 * PAD) / grid.step);
    grid.per_row = fit < 1 ? 1 : (uint32_t)fit;
    grid.rows = (count + grid.per_row - 1) / grid.per_row;
    return grid;
}

static double draw_cores_height(const topo_t *topo, uint32_t place)
{
    uint32_t rows = draw_measure_cores(topo, place).rows;
    return rows > 0 ? rows * (PU + 9) + 12 : 0;
}

static double draw_column_height(const topo_t *topo, uint32_t place)
{
    extent_t tree = draw_measure(topo, WEFT_MACHINE_NONE, place);
    return HEAD + draw_cores_height(topo, place) +
           (tree.leaves > 0 ? tree.levels * LEVEL_H + LEAF_H : 0) + PAD;
}

/* PCI ------------------------------------------------------------------------------------------ */

/* As much of a text as fits a leaf. */
static void draw_put_short(sheet_t *sheet, svg_point_t at, const char *text)
{
    const double size = 10.5;
    svg_font_t font = {.size = size, .anchor = 'm', .fill = SVG_GREY};
    int fit = (int)((LEAF_W - 22) / (0.59 * size));
    bool whole = svg_width(text, size) <= LEAF_W - 22;
    svg_text(&sheet->svg, at, &font, "%.*s%s", whole ? 200 : fit - 1, text, whole ? "" : "…");
}

static const char *draw_device_label(const topo_t *topo, uint32_t index)
{
    const weft_machine_device_t *device = &topo->machine.devices[index];
    for (uint32_t i = 0; i < topo->nuses; i++) {
        if (topo->uses[i].device == index && topo->uses[i].gpu) {
            return topo->uses[i].kernel.name;
        }
    }
    return device->kind != WEFT_DEVICE_GPU && device->system[0] != '\0' ? device->system
                                                                        : device->model;
}

static void draw_put_leaf(sheet_t *sheet, uint32_t index, svg_point_t at)
{
    const weft_machine_device_t *device = &sheet->topo->machine.devices[index];
    topo_name_t name;
    svg_colour_t colour = device->kind == WEFT_DEVICE_GPU ? sheet->gpu : sheet->nic;
    svg_paint_t paint = {.fill = colour.text, .stroke = SVG_INK, .width = 0.8};
    svg_font_t font = {.size = 13, .anchor = 'm', .bold = true};
    double middle = at.x + LEAF_W / 2;
    svg_begin(&sheet->svg, "%s %s %s (%s)", topo_device_name(sheet->topo, index, name),
              device->address, device->model, device->system);
    svg_rect(&sheet->svg, (svg_box_t){at.x + 4, at.y, LEAF_W - 8, LEAF_H - 10, 5}, &paint);
    svg_text(&sheet->svg, (svg_point_t){middle, at.y + 19}, &font, "%s", name);
    draw_put_short(sheet, (svg_point_t){middle, at.y + 36}, device->address);
    draw_put_short(sheet, (svg_point_t){middle, at.y + 52}, draw_device_label(sheet->topo, index));
    svg_end(&sheet->svg);
}

static void draw_put_way(sheet_t *sheet, double x, double from, double to)
{
    svg_paint_t stroke = {.stroke = SVG_GREY, .width = 1.4};
    svg_line(&sheet->svg, (svg_point_t){x, from}, (svg_point_t){x, to}, &stroke);
}

static void draw_put_bridge(sheet_t *sheet, const weft_machine_branch_t *branch, svg_point_t at,
                            double width)
{
    svg_paint_t paint = {.fill = SVG_FAINT, .stroke = SVG_GREY, .width = 0.8};
    svg_font_t font = {.size = 10.5, .anchor = 'm'};
    const char *text = branch->name;
    /* Over one leaf the name is too long. */
    if (svg_width(text, font.size) > width - 10) {
        font.size = 8.5;
    }
    svg_rect(&sheet->svg, (svg_box_t){at.x + 4, at.y, width - 8, 18, 4}, &paint);
    svg_text(&sheet->svg, (svg_point_t){at.x + width / 2, at.y + 13}, &font, "%s", text);
}

/* Draws what hangs on a branch from left to right; `at.y` is where the ways begin. Leaves stand on
 * one line, `floor`. */
static void draw_put_tree(sheet_t *sheet, uint32_t branch, uint32_t place, svg_point_t at,
                          double floor_y)
{
    const topo_t *topo = sheet->topo;
    for (uint32_t i = 0; i < topo->machine.nbranches; i++) {
        const weft_machine_branch_t *b = &topo->machine.branches[i];
        if (b->parent != branch || b->node != place) {
            continue;
        }
        double width = LEAF_W * draw_measure(topo, i, place).leaves;
        double y = branch == WEFT_MACHINE_NONE ? at.y : at.y + LEVEL_H - 18;
        if (branch != WEFT_MACHINE_NONE) {
            draw_put_way(sheet, at.x + width / 2, at.y, y);
        }
        draw_put_bridge(sheet, b, (svg_point_t){at.x, y}, width);
        draw_put_tree(sheet, i, place, (svg_point_t){at.x, y + 18}, floor_y);
        at.x += width;
    }
    for (uint32_t i = 0; i < topo->machine.ndevices; i++) {
        if (topo->machine.devices[i].branch == branch && topo->machine.devices[i].node == place) {
            if (branch != WEFT_MACHINE_NONE) {
                draw_put_way(sheet, at.x + LEAF_W / 2, at.y, floor_y);
            }
            draw_put_leaf(sheet, i, (svg_point_t){at.x, floor_y});
            at.x += LEAF_W;
        }
    }
}

/* Columns -------------------------------------------------------------------------------------- */

static void draw_put_cores(sheet_t *sheet, uint32_t place, svg_point_t at)
{
    const topo_t *topo = sheet->topo;
    grid_t grid = draw_measure_cores(topo, place);
    svg_colour_t busy = svg_oklch(0.62, 0.11, 250);
    uint32_t n = 0;
    for (uint32_t i = 0; i < topo->machine.ncores; i++) {
        const weft_machine_core_t *core = &topo->machine.cores[i];
        if (core->node != place) {
            continue;
        }
        uint32_t column = n % grid.per_row, row = n / grid.per_row;
        double x = at.x + grid.step * column;
        double y = at.y + (PU + 9) * row;
        svg_paint_t frame = {.fill = SVG_PAPER, .stroke = SVG_PALE, .width = 1};
        svg_rect(&sheet->svg, (svg_box_t){x, y, grid.step - 4, PU + 5, 2}, &frame);
        for (uint32_t pu = 0; pu < core->pus; pu++) {
            svg_paint_t fill = {.fill = pu < core->usable ? busy.text : SVG_PALE};
            svg_rect(&sheet->svg, (svg_box_t){x + 3 + (PU + 1) * pu, y + 2.5, PU, PU, 1}, &fill);
        }
        n++;
    }
}

static void draw_put_place_head(sheet_t *sheet, uint32_t index, svg_point_t at)
{
    const weft_machine_node_t *place = &sheet->topo->machine.nodes[index];
    svg_font_t font = {.size = 13, .anchor = 's', .bold = true};
    svg_font_t small = {.size = CACHES_SIZE, .anchor = 's', .fill = SVG_GREY};
    char caches[256];
    topo_name_t size;
    svg_text(&sheet->svg, (svg_point_t){at.x, at.y + 20}, &font, "NUMA node %u, %s", place->index,
             topo_bytes(place->memory, size));
    svg_text(&sheet->svg, (svg_point_t){at.x, at.y + 37}, &small, "%u core%s, %u PU%s, %u usable",
             place->cores, weft_plural(place->cores), place->pus, weft_plural(place->pus),
             place->usable);
    svg_text(&sheet->svg, (svg_point_t){at.x, at.y + 53}, &small, "%s",
             draw_caches_text(sheet->topo, index, caches));
}

static void draw_put_column(sheet_t *sheet, uint32_t place, svg_box_t box)
{
    svg_paint_t paint = {.fill = SVG_PAPER, .stroke = SVG_PALE, .width = 1.2};
    svg_font_t font = {.size = 13, .anchor = 's', .bold = true};
    svg_point_t at = {box.x + PAD, box.y};
    svg_rect(&sheet->svg, box, &paint);
    if (place == WEFT_MACHINE_NONE) {
        svg_text(&sheet->svg, (svg_point_t){at.x, at.y + 20}, &font, "place not known");
    } else {
        draw_put_place_head(sheet, place, at);
        draw_put_cores(sheet, place, (svg_point_t){at.x, at.y + HEAD});
    }
    at.y += HEAD + draw_cores_height(sheet->topo, place);
    draw_put_tree(sheet, WEFT_MACHINE_NONE, place, at, box.y + box.h - PAD - LEAF_H + 10);
}

/* Packages ------------------------------------------------------------------------------------- */

/* The i-th column of a package; of WEFT_MACHINE_NONE also that of devices without a known place,
 * the last. */
static bool draw_column_of(const topo_t *topo, uint32_t package, uint32_t i, uint32_t *place_p)
{
    for (uint32_t p = 0; p < topo->machine.nnodes; p++) {
        if (topo->machine.nodes[p].package == package && i-- == 0) {
            *place_p = p;
            return true;
        }
    }
    *place_p = WEFT_MACHINE_NONE;
    return i == 0 && package == WEFT_MACHINE_NONE &&
           draw_measure(topo, WEFT_MACHINE_NONE, WEFT_MACHINE_NONE).leaves > 0;
}

static const char *draw_package_text(const topo_t *topo, uint32_t package, char text[192])
{
    text[0] = '\0';
    if (package != WEFT_MACHINE_NONE) {
        snprintf(text, 192, "package %u  %s", topo->machine.packages[package].index,
                 topo->machine.packages[package].model);
    }
    return text;
}

/* 0: it has no column. */
static double draw_package_width(const topo_t *topo, uint32_t package)
{
    double width = GAP;
    char text[192];
    uint32_t place = 0, i = 0;
    for (i = 0; draw_column_of(topo, package, i, &place); i++) {
        width += draw_column_width(topo, place) + GAP;
    }
    return i == 0 ? 0
                  : fmax(width, svg_width(draw_package_text(topo, package, text), 14) + 2 * GAP);
}

static void draw_put_package(sheet_t *sheet, uint32_t package, double x, double height)
{
    const topo_t *topo = sheet->topo;
    double width = draw_package_width(topo, package), at = x + GAP;
    char text[192];
    uint32_t place = 0;
    if (package != WEFT_MACHINE_NONE && width > 0) {
        svg_paint_t frame = {.fill = SVG_FAINT, .stroke = SVG_GREY, .width = 1};
        svg_font_t font = {.size = 13, .anchor = 's', .bold = true};
        svg_rect(&sheet->svg, (svg_box_t){x, TOP, width, height + FRAME_HEAD + GAP, 6}, &frame);
        svg_text(&sheet->svg, (svg_point_t){x + GAP, TOP + 20}, &font, "%s",
                 draw_package_text(topo, package, text));
    }
    for (uint32_t i = 0; draw_column_of(topo, package, i, &place); i++) {
        double wide = draw_column_width(topo, place);
        draw_put_column(sheet, place, (svg_box_t){at, TOP + FRAME_HEAD, wide, height, 5});
        at += wide + GAP;
    }
}

static double draw_tallest_column(const topo_t *topo)
{
    double height = draw_column_height(topo, WEFT_MACHINE_NONE);
    for (uint32_t i = 0; i < topo->machine.nnodes; i++) {
        height = fmax(height, draw_column_height(topo, i));
    }
    return height;
}

void topo_draw(const topo_t *topo, FILE *out)
{
    sheet_t sheet = {
        .topo = topo, .gpu = svg_oklch(0.90, 0.08, 145), .nic = svg_oklch(0.91, 0.06, 75)};
    svg_font_t large = {.size = 22, .anchor = 's', .bold = true};
    svg_font_t small = {.size = 13, .anchor = 's', .fill = SVG_GREY};
    double height = draw_tallest_column(topo), width = 0, x = SHEET_MARGIN;
    double below = TOP + FRAME_HEAD + height + GAP + 26;
    for (uint32_t p = 0; p <= topo->machine.npackages; p++) {
        width +=
            draw_package_width(topo, p < topo->machine.npackages ? p : WEFT_MACHINE_NONE) + GAP;
    }
    width = fmax(fmax(width - GAP, sheet_paths_width(topo)), PAGE_LEAST) + 2 * SHEET_MARGIN;
    svg_open(&sheet.svg, out, width, below + sheet_paths_height(topo) + SHEET_MARGIN,
             topo->machine.name);
    svg_text(&sheet.svg, (svg_point_t){SHEET_MARGIN, 40}, &large, "%s", topo->machine.name);
    svg_text(&sheet.svg, (svg_point_t){SHEET_MARGIN, 60}, &small,
             "NUMA nodes %u, cores %u, GPUs %u, NICs %u; blue: this process may run there",
             topo->machine.nnodes, topo->machine.ncores, topo->machine.ngpus,
             topo->machine.ndevices - topo->machine.ngpus);
    for (uint32_t p = 0; p <= topo->machine.npackages; p++) {
        uint32_t package = p < topo->machine.npackages ? p : WEFT_MACHINE_NONE;
        draw_put_package(&sheet, package, x, height);
        x += draw_package_width(topo, package) + GAP;
    }
    sheet_paths(&sheet, below);
    svg_close(&sheet.svg);
}
