/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What draw.c and draw_paths.c share. */
#ifndef WEFT_TOPO_SHEET_H
#define WEFT_TOPO_SHEET_H

#include "tools/svg.h"
#include "tools/topo/topo.h"

#define SHEET_MARGIN 28.0

typedef struct sheet {
    svg_t svg;
    const topo_t *topo;
    svg_colour_t gpu, nic; /* light fills */
} sheet_t;

/* The table of paths with its key, below `y`; its size is known before. */
void sheet_paths(sheet_t *sheet, double y);
double sheet_paths_width(const topo_t *topo);
double sheet_paths_height(const topo_t *topo);

#endif
