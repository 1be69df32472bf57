/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packages, NUMA nodes and cores. */
#include "hwloc_nodes.h"

#include <stdio.h>

#include "hwloc_caches.h"

typedef struct hwloc_scan {
    hwloc_topology_t hwloc;
    const weft_topo_builder_t *builder;
    hwloc_bitmap_t usable, cpus, taken, mine;
    uint32_t node;
} hwloc_scan_t;

uint32_t hwloc_find_node(hwloc_topology_t hwloc, hwloc_const_nodeset_t nodes)
{
    hwloc_const_nodeset_t all = hwloc_get_root_obj(hwloc)->nodeset;
    hwloc_obj_t at = NULL;
    if (hwloc_get_nbobjs_by_type(hwloc, HWLOC_OBJ_NUMANODE) > 1 &&
        hwloc_bitmap_isincluded(all, nodes)) {
        return WEFT_TOPO_NONE;
    }
    while ((at = hwloc_get_next_obj_by_type(hwloc, HWLOC_OBJ_NUMANODE, at)) != NULL) {
        if (hwloc_bitmap_isset(nodes, at->os_index)) {
            return at->logical_index;
        }
    }
    return WEFT_TOPO_NONE;
}

/* PUs on which this process may run; of another machine, those that its XML allows. */
static void hwloc_nodes_find_usable(const hwloc_scan_t *scan)
{
    hwloc_bitmap_copy(scan->usable, hwloc_topology_get_allowed_cpuset(scan->hwloc));
    if (hwloc_topology_is_thissystem(scan->hwloc) &&
        hwloc_get_cpubind(scan->hwloc, scan->mine, HWLOC_CPUBIND_THREAD) == 0) {
        hwloc_bitmap_and(scan->usable, scan->usable, scan->mine);
    }
}

static weft_status_t hwloc_nodes_add_packages(const hwloc_scan_t *scan)
{
    hwloc_obj_t at = NULL;
    weft_status_t status = WEFT_OK;
    while (status == WEFT_OK &&
           (at = hwloc_get_next_obj_by_type(scan->hwloc, HWLOC_OBJ_PACKAGE, at)) != NULL) {
        const weft_topo_package_t package = {
            .size = sizeof package,
            .model = hwloc_obj_get_info_by_name(at, "CPUModel"),
            .index = at->os_index != HWLOC_UNKNOWN_INDEX ? at->os_index : at->logical_index};
        status = scan->builder->add_package(scan->builder, &package, NULL);
    }
    return status;
}

/* The package that holds all of the cores. */
static uint32_t hwloc_nodes_package(hwloc_topology_t hwloc, hwloc_const_cpuset_t cpus)
{
    hwloc_obj_t at = hwloc_get_obj_covering_cpuset(hwloc, cpus);
    if (at == NULL || hwloc_bitmap_iszero(cpus)) {
        return WEFT_TOPO_NONE;
    }
    if (at->type != HWLOC_OBJ_PACKAGE) {
        at = hwloc_get_ancestor_obj_by_type(hwloc, HWLOC_OBJ_PACKAGE, at);
    }
    return at != NULL ? at->logical_index : WEFT_TOPO_NONE;
}

/* Where hwloc knows no cores, a PU is one. */
static weft_status_t hwloc_nodes_add_cores(const hwloc_scan_t *scan)
{
    const hwloc_obj_type_t type =
        hwloc_get_nbobjs_by_type(scan->hwloc, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    hwloc_obj_t at = NULL;
    weft_status_t status = WEFT_OK;
    while (status == WEFT_OK && (at = hwloc_get_next_obj_inside_cpuset_by_type(
                                     scan->hwloc, scan->cpus, type, at)) != NULL) {
        hwloc_bitmap_and(scan->mine, at->cpuset, scan->usable);
        const weft_topo_core_t core = {.size = sizeof core,
                                       .node = scan->node,
                                       .pus = (uint32_t)hwloc_bitmap_weight(at->cpuset),
                                       .usable = (uint32_t)hwloc_bitmap_weight(scan->mine)};
        status = scan->builder->add_core(scan->builder, &core);
    }
    return status;
}

static weft_status_t hwloc_nodes_add(hwloc_scan_t *scan, hwloc_obj_t at)
{
    char list[256];
    hwloc_caches_t caches;
    hwloc_bitmap_list_snprintf(list, sizeof list, scan->cpus);
    hwloc_find_caches(scan->hwloc, scan->cpus, &caches);
    const weft_topo_node_t node = {.size = sizeof node,
                                   .list = list,
                                   .caches = caches.list,
                                   .memory = at->attr->numanode.local_memory,
                                   .index = at->os_index,
                                   .package = hwloc_nodes_package(scan->hwloc, at->cpuset),
                                   .ncaches = caches.count};
    weft_status_t status = scan->builder->add_node(scan->builder, &node, &scan->node);
    return status == WEFT_OK ? hwloc_nodes_add_cores(scan) : status;
}

/* Two nodes of different memory can have the same cores: these belong to the first. */
static weft_status_t hwloc_nodes_add_all(hwloc_scan_t *scan)
{
    hwloc_obj_t at = NULL;
    weft_status_t status = hwloc_nodes_add_packages(scan);
    hwloc_nodes_find_usable(scan);
    while (status == WEFT_OK &&
           (at = hwloc_get_next_obj_by_type(scan->hwloc, HWLOC_OBJ_NUMANODE, at)) != NULL) {
        hwloc_bitmap_andnot(scan->cpus, at->cpuset, scan->taken);
        hwloc_bitmap_or(scan->taken, scan->taken, at->cpuset);
        status = hwloc_nodes_add(scan, at);
    }
    return status;
}

weft_status_t hwloc_add_nodes(const weft_topo_t *topo, const weft_topo_builder_t *builder)
{
    hwloc_scan_t scan = {.hwloc = topo->hwloc,
                         .builder = builder,
                         .usable = hwloc_bitmap_alloc(),
                         .cpus = hwloc_bitmap_alloc(),
                         .taken = hwloc_bitmap_alloc(),
                         .mine = hwloc_bitmap_alloc()};
    weft_status_t status = WEFT_ERR_RESOURCE;
    if (scan.usable == NULL || scan.cpus == NULL || scan.taken == NULL || scan.mine == NULL) {
        topo->host->set_error(topo->host, status, 0, "no memory for sets of PUs");
    } else {
        status = hwloc_nodes_add_all(&scan);
    }
    hwloc_bitmap_free(scan.usable);
    hwloc_bitmap_free(scan.cpus);
    hwloc_bitmap_free(scan.taken);
    hwloc_bitmap_free(scan.mine);
    return status;
}
