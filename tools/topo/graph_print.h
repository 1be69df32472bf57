/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A graph as text and as JSON. */
#ifndef WEFT_TOPO_GRAPH_PRINT_H
#define WEFT_TOPO_GRAPH_PRINT_H

#include <stdio.h>

#include "tools/topo/graph_view.h"

void graph_print(const graph_view_t *view, FILE *out);
void graph_print_json(const graph_view_t *view, FILE *out);

#endif
