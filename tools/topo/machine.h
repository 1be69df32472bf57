/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packages, NUMA nodes, caches and cores, as hwloc knows them. */
#ifndef WEFT_TOOLS_TOPO_MACHINE_H
#define WEFT_TOOLS_TOPO_MACHINE_H

#include "tools/topo/topo.h"

/* What: reads this machine, or the one that hwloc's XML in file `xml` describes. Failure: ERR_ARG
 * for a file that is none, ERR_RESOURCE, ERR_SYSTEM; nothing is left. */
weft_status_t topo_open(topo_t *topo, const char *xml);
void topo_close(topo_t *topo);
/* What: writes hwloc's XML to a file, "-" is stdout. Failure: ERR_SYSTEM. */
weft_status_t topo_export(const topo_t *topo, const char *file);

#endif
