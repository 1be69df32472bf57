/* SPDX-License-Identifier: BSD-3-Clause
 *
 * GPUs and NICs in hwloc's tree of PCI devices, where their ways part, and the paths between
 * them. */
#ifndef WEFT_TOOLS_TOPO_PCI_H
#define WEFT_TOOLS_TOPO_PCI_H

#include "tools/topo/scan.h"

/* Devices, branches and the paths between devices. */
weft_status_t topo_scan_pci(topo_t *topo);

#endif
