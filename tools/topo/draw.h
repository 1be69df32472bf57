/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The machine as a drawing: a column for each NUMA node with its cores, below it the tree of PCI
 * bridges with GPUs and NICs as leaves, and the table of paths. */
#ifndef WEFT_TOOLS_TOPO_DRAW_H
#define WEFT_TOOLS_TOPO_DRAW_H

#include <stdio.h>

#include "tools/topo/topo.h"

void topo_draw(const topo_t *topo, FILE *out);

#endif
