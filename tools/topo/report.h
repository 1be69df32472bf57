/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The outputs of `weft topo`. */
#ifndef WEFT_TOPO_REPORT_H
#define WEFT_TOPO_REPORT_H

#include <stdio.h>

#include "tools/topo/topo.h"

void topo_print(const topo_t *topo, FILE *out);
void topo_write_json(const topo_t *topo, FILE *out);
void topo_draw(const topo_t *topo, FILE *out);

#endif
