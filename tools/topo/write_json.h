/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The machine as JSON. Devices are named as in the text; what is not known is absent. */
#ifndef WEFT_TOOLS_TOPO_WRITE_JSON_H
#define WEFT_TOOLS_TOPO_WRITE_JSON_H

#include <stdio.h>

#include "tools/topo/topo.h"

void topo_write_json(const topo_t *topo, FILE *out);

#endif
