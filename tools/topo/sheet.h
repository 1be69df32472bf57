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

#endif
