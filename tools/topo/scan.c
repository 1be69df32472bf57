/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the readers of hwloc share. */
#include "tools/topo/scan.h"

uint32_t topo_scan_place(const topo_t *topo, hwloc_const_nodeset_t nodes)
{
    hwloc_const_nodeset_t all = hwloc_get_root_obj(topo->hwloc)->nodeset;
    hwloc_obj_t at = NULL;
    if (topo->nplaces > 1 && hwloc_bitmap_isincluded(all, nodes)) {
        return TOPO_NONE;
    }
    while ((at = hwloc_get_next_obj_by_type(topo->hwloc, HWLOC_OBJ_NUMANODE, at)) != NULL) {
        if (hwloc_bitmap_isset(nodes, at->os_index)) {
            return at->logical_index;
        }
    }
    return TOPO_NONE;
}
