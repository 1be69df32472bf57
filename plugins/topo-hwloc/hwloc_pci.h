/* SPDX-License-Identifier: BSD-3-Clause
 *
 * GPUs and NICs in hwloc's tree of PCI devices, where their ways part, and the NVLinks that hwloc
 * or NVML know. */
#ifndef TOPO_HWLOC_PCI_H
#define TOPO_HWLOC_PCI_H

#include "hwloc_instance.h"

weft_status_t hwloc_add_devices(const weft_topo_t *topo, const weft_topo_builder_t *builder);

#endif
