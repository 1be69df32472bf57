/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of paths, one coloured cell for each pair of devices. */
#ifndef WEFT_TOOLS_TOPO_DRAW_PATHS_H
#define WEFT_TOOLS_TOPO_DRAW_PATHS_H

#include "tools/topo/sheet.h"

/* The table of paths with its key, below `y`; its size is known before. */
void sheet_paths(sheet_t *sheet, double y);
double sheet_paths_width(const topo_t *topo);
double sheet_paths_height(const topo_t *topo);

#endif
