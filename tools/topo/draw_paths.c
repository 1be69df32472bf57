/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of paths, one coloured cell for each pair of devices. */
#include "tools/topo/draw_paths.h"

#include "tools/svg.h"
#include "tools/topo/sheet.h"
#include "core/topo/paths.h"
#include "tools/topo/words.h"

#define CELL_W 46.0
#define CELL_H 24.0
#define HEAD 56.0 /* title, and names of the columns */
#define KEY_H 26.0

static bool draw_paths_has_path(const topo_t *topo, weft_algo_path_class_t path)
{
    const uint32_t n = topo->machine.ndevices;
    for (uint32_t i = 0; i < n * n; i++) {
        if (topo_path(topo, i / n, i % n) == path) {
            return true;
        }
    }
    return false;
}

double sheet_paths_width(const topo_t *topo)
{
    return topo->machine.ndevices < 2 ? 0 : CELL_W * (topo->machine.ndevices + 1);
}

double sheet_paths_height(const topo_t *topo)
{
    double height = HEAD + CELL_H * topo->machine.ndevices + 14;
    for (weft_algo_path_class_t path = WEFT_ALGO_PATH_NV; path <= WEFT_ALGO_PATH_UNKNOWN; path++) {
        height += draw_paths_has_path(topo, path) ? KEY_H : 0;
    }
    return topo->machine.ndevices < 2 ? 0 : height;
}

/* From green to orange, as light as text on it needs. */
static svg_colour_t draw_paths_colour_of(weft_algo_path_class_t path)
{
    double far = (double)(path - WEFT_ALGO_PATH_NV) / (WEFT_ALGO_PATH_SYS - WEFT_ALGO_PATH_NV);
    return svg_oklch(0.86, 0.10, 150 - 105 * far);
}

static void draw_paths_put_cell(sheet_t *sheet, svg_point_t at, weft_algo_path_class_t path)
{
    svg_colour_t colour = draw_paths_colour_of(path);
    bool none = path == WEFT_ALGO_PATH_SELF || path == WEFT_ALGO_PATH_UNKNOWN;
    svg_paint_t paint = {.fill = none ? SVG_FAINT : colour.text};
    svg_font_t font = {.size = 10.5, .anchor = 'm', .fill = none ? SVG_GREY : SVG_INK};
    svg_rect(&sheet->svg, (svg_box_t){at.x, at.y, CELL_W - 2, CELL_H - 2, 2}, &paint);
    svg_text(&sheet->svg, (svg_point_t){at.x + CELL_W / 2 - 1, at.y + CELL_H / 2 + 3}, &font, "%s",
             path == WEFT_ALGO_PATH_SELF ? "" : weft_path_name(path));
}

static void draw_paths_put_row(sheet_t *sheet, uint32_t row, double y)
{
    const topo_t *topo = sheet->topo;
    topo_name_t name, other;
    svg_font_t font = {.size = 11, .anchor = 'e', .bold = true};
    svg_text(&sheet->svg, (svg_point_t){SHEET_MARGIN + CELL_W - 8, y + CELL_H / 2 + 3}, &font, "%s",
             topo_device_name(topo, row, name));
    for (uint32_t i = 0; i < topo->machine.ndevices; i++) {
        weft_algo_path_class_t path = topo_path(topo, row, i);
        svg_begin(&sheet->svg, "%s to %s: %s", name, topo_device_name(topo, i, other),
                  weft_path_help(path));
        draw_paths_put_cell(sheet, (svg_point_t){SHEET_MARGIN + CELL_W * (i + 1), y}, path);
        svg_end(&sheet->svg);
    }
}

static void draw_paths_put_key(sheet_t *sheet, double y)
{
    svg_font_t font = {.size = 11, .anchor = 's', .fill = SVG_GREY};
    for (weft_algo_path_class_t path = WEFT_ALGO_PATH_NV; path <= WEFT_ALGO_PATH_UNKNOWN; path++) {
        if (draw_paths_has_path(sheet->topo, path)) {
            draw_paths_put_cell(sheet, (svg_point_t){SHEET_MARGIN + CELL_W, y - CELL_H / 2}, path);
            svg_text(&sheet->svg, (svg_point_t){SHEET_MARGIN + 2 * CELL_W + 6, y + 4}, &font, "%s",
                     weft_path_help(path));
            y += KEY_H;
        }
    }
}

void sheet_paths(sheet_t *sheet, double y)
{
    const topo_t *topo = sheet->topo;
    topo_name_t name;
    svg_font_t title = {.size = 14, .anchor = 's', .bold = true};
    svg_font_t font = {.size = 11, .anchor = 'm', .bold = true};
    if (topo->machine.ndevices < 2) {
        return;
    }
    svg_text(&sheet->svg, (svg_point_t){SHEET_MARGIN, y + 16}, &title, "paths");
    for (uint32_t i = 0; i < topo->machine.ndevices; i++) {
        svg_text(&sheet->svg, (svg_point_t){SHEET_MARGIN + CELL_W * (i + 1.5) - 1, y + HEAD - 8},
                 &font, "%s", topo_device_name(topo, i, name));
        draw_paths_put_row(sheet, i, y + HEAD + CELL_H * i);
    }
    draw_paths_put_key(sheet, y + HEAD + CELL_H * topo->machine.ndevices + 20);
}
