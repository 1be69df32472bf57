/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packages, NUMA nodes, caches and cores, as hwloc knows them. */
#ifndef TOPO_HWLOC_NODES_H
#define TOPO_HWLOC_NODES_H

#include "hwloc_instance.h"

/* Adds them, each in the order of hwloc's logical index. */
weft_status_t hwloc_add_nodes(const weft_topo_t *topo, const weft_topo_builder_t *builder);

/* Logical index of the NUMA node that is the first near these, or WEFT_TOPO_NONE where all are
 * meant, so that nothing is known. */
uint32_t hwloc_find_node(hwloc_topology_t hwloc, hwloc_const_nodeset_t nodes);

#endif
