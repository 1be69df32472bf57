/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A graph as a drawing: a row for each channel. */
#ifndef WEFT_TOPO_GRAPH_DRAW_H
#define WEFT_TOPO_GRAPH_DRAW_H

#include <stdio.h>

#include "tools/topo/graph_view.h"

void graph_draw(const graph_view_t *view, FILE *out);

#endif
