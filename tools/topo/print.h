/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The machine as text: a tree of places and devices, and the table of paths. */
#ifndef WEFT_TOOLS_TOPO_PRINT_H
#define WEFT_TOOLS_TOPO_PRINT_H

#include <stdio.h>

#include "tools/topo/topo.h"

void topo_print(const topo_t *topo, FILE *out);

#endif
