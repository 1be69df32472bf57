/* SPDX-License-Identifier: BSD-3-Clause
 *
 * GPUs and NICs in hwloc's tree of PCI devices, where their ways part, and the paths between
 * them. */
#ifndef WEFT_TOOLS_TOPO_PCI_H
#define WEFT_TOOLS_TOPO_PCI_H

#include <hwloc.h>

#include "tools/topo/topo.h"

/* Devices, branches and the paths between devices. */
weft_status_t topo_scan_pci(topo_t *topo);

/* Index of the NUMA node that is the first near these, or TOPO_NONE where all are meant, so that
 * nothing is known. */
uint32_t topo_scan_place(const topo_t *topo, hwloc_const_nodeset_t nodes);

#endif
