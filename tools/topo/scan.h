/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What machine.c and pci.c share while they read hwloc; nobody else sees its types. */
#ifndef WEFT_TOPO_SCAN_H
#define WEFT_TOPO_SCAN_H

#include <hwloc.h>

#include "tools/topo/topo.h"

/* Index of the NUMA node that is the first near these, or TOPO_NONE where all are meant, so that
 * nothing is known. */
uint32_t topo_scan_place(const topo_t *topo, hwloc_const_nodeset_t nodes);

#endif
