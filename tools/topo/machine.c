/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packages, NUMA nodes, caches and cores, as hwloc knows them. */
#include "tools/topo/machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "tools/topo/pci.h"

static uint32_t machine_count_of(const topo_t *topo, hwloc_obj_type_t type)
{
    int count = hwloc_get_nbobjs_by_type(topo->hwloc, type);
    return count > 0 ? (uint32_t)count : 0;
}

/* Room for `count` things; one at least, so that NULL always means that there is no memory. */
static void *machine_room(uint32_t count, size_t bytes)
{
    return calloc(count > 0 ? count : 1, bytes);
}

static bool machine_make_room(topo_t *topo)
{
    topo->packages =
        machine_room(machine_count_of(topo, HWLOC_OBJ_PACKAGE), sizeof *topo->packages);
    topo->places = machine_room(machine_count_of(topo, HWLOC_OBJ_NUMANODE), sizeof *topo->places);
    topo->cores = machine_room(machine_count_of(topo, HWLOC_OBJ_PU), sizeof *topo->cores);
    topo->branches = machine_room(machine_count_of(topo, HWLOC_OBJ_BRIDGE), sizeof *topo->branches);
    topo->devices =
        machine_room(machine_count_of(topo, HWLOC_OBJ_PCI_DEVICE), sizeof *topo->devices);
    return topo->packages != NULL && topo->places != NULL && topo->cores != NULL &&
           topo->branches != NULL && topo->devices != NULL;
}

/* PUs on which this process may run; of another machine, those that its XML allows. */
static void machine_find_usable(const topo_t *topo, hwloc_bitmap_t usable)
{
    hwloc_bitmap_t bound = hwloc_bitmap_alloc();
    hwloc_bitmap_copy(usable, hwloc_topology_get_allowed_cpuset(topo->hwloc));
    if (hwloc_topology_is_thissystem(topo->hwloc) &&
        hwloc_get_cpubind(topo->hwloc, bound, HWLOC_CPUBIND_PROCESS) == 0) {
        hwloc_bitmap_and(usable, usable, bound);
    }
    hwloc_bitmap_free(bound);
}

static void machine_scan_packages(topo_t *topo)
{
    hwloc_obj_t at = NULL;
    while ((at = hwloc_get_next_obj_by_type(topo->hwloc, HWLOC_OBJ_PACKAGE, at)) != NULL) {
        topo_package_t *package = &topo->packages[topo->npackages++];
        const char *model = hwloc_obj_get_info_by_name(at, "CPUModel");
        package->index = at->os_index;
        snprintf(package->model, sizeof package->model, "%s", model != NULL ? model : "");
    }
}

/* A package that holds all of the place's cores. */
static uint32_t machine_place_package(const topo_t *topo, hwloc_const_cpuset_t cpus)
{
    hwloc_obj_t at = hwloc_get_obj_covering_cpuset(topo->hwloc, cpus);
    if (at == NULL || hwloc_bitmap_iszero(cpus)) {
        return TOPO_NONE;
    }
    if (at->type != HWLOC_OBJ_PACKAGE) {
        at = hwloc_get_ancestor_obj_by_type(topo->hwloc, HWLOC_OBJ_PACKAGE, at);
    }
    return at != NULL ? at->logical_index : TOPO_NONE;
}

static void machine_count_cache(topo_place_t *place, const struct hwloc_cache_attr_s *cache)
{
    topo_cache_t one = {.bytes = cache->size, .count = 1};
    snprintf(one.name, sizeof one.name, "L%u%s", cache->depth % 100,
             cache->type == HWLOC_OBJ_CACHE_DATA          ? "d"
             : cache->type == HWLOC_OBJ_CACHE_INSTRUCTION ? "i"
                                                          : "");
    for (uint32_t i = 0; i < place->ncaches; i++) {
        if (strcmp(place->caches[i].name, one.name) == 0 && place->caches[i].bytes == one.bytes) {
            place->caches[i].count++;
            return;
        }
    }
    if (place->ncaches < TOPO_CACHES) {
        place->caches[place->ncaches++] = one;
    }
}

/* From the largest to the smallest, as depths of the tree come; one that several places share is the
 * first one's. */
static void machine_scan_caches(const topo_t *topo, topo_place_t *place, hwloc_const_cpuset_t cpus)
{
    for (int depth = 0; depth < hwloc_topology_get_depth(topo->hwloc); depth++) {
        if (!hwloc_obj_type_is_cache(hwloc_get_depth_type(topo->hwloc, depth))) {
            continue;
        }
        hwloc_obj_t at = NULL;
        while ((at = hwloc_get_next_obj_by_depth(topo->hwloc, depth, at)) != NULL) {
            if (hwloc_bitmap_isset(cpus, (unsigned)hwloc_bitmap_first(at->cpuset))) {
                machine_count_cache(place, &at->attr->cache);
            }
        }
    }
}

static void machine_scan_cores(topo_t *topo, uint32_t index, hwloc_const_cpuset_t cpus,
                               hwloc_const_bitmap_t usable)
{
    topo_place_t *place = &topo->places[index];
    hwloc_bitmap_t mine = hwloc_bitmap_alloc();
    hwloc_obj_type_t type =
        machine_count_of(topo, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    hwloc_obj_t at = NULL;
    while ((at = hwloc_get_next_obj_inside_cpuset_by_type(topo->hwloc, cpus, type, at)) != NULL) {
        hwloc_bitmap_and(mine, at->cpuset, usable);
        topo_core_t core = {.place = index,
                            .pus = (uint32_t)hwloc_bitmap_weight(at->cpuset),
                            .usable = (uint32_t)hwloc_bitmap_weight(mine)};
        topo->cores[topo->ncores++] = core;
        place->cores++;
        place->pus += core.pus;
        place->usable += core.usable;
    }
    hwloc_bitmap_free(mine);
}

/* Two nodes of different memory can have the same cores: these belong to the first. */
static void machine_scan_places(topo_t *topo)
{
    hwloc_bitmap_t usable = hwloc_bitmap_alloc(), cpus = hwloc_bitmap_alloc(),
                   taken = hwloc_bitmap_alloc();
    hwloc_obj_t at = NULL;
    machine_find_usable(topo, usable);
    while ((at = hwloc_get_next_obj_by_type(topo->hwloc, HWLOC_OBJ_NUMANODE, at)) != NULL) {
        topo_place_t *place = &topo->places[topo->nplaces];
        hwloc_bitmap_andnot(cpus, at->cpuset, taken);
        hwloc_bitmap_or(taken, taken, at->cpuset);
        place->numa = at->os_index;
        place->memory = at->attr->numanode.local_memory;
        place->package = machine_place_package(topo, at->cpuset);
        hwloc_bitmap_list_snprintf(place->list, sizeof place->list, cpus);
        machine_scan_caches(topo, place, cpus);
        machine_scan_cores(topo, topo->nplaces, cpus, usable);
        topo->nplaces++;
    }
    hwloc_bitmap_free(usable);
    hwloc_bitmap_free(cpus);
    hwloc_bitmap_free(taken);
}

static weft_status_t machine_not_hwloc(const char *xml)
{
    return weft_fail(WEFT_ERR_ARG, 0,
                     "%s is no XML of hwloc, or has faults; `weft topo --xml FILE` and `lstopo "
                     "FILE.xml` write such files",
                     xml);
}

/* What asks a runtime for its devices makes contexts on them, or waits for a display: kernel plugins
 * tell of devices here. */
static weft_status_t machine_load(topo_t *topo, const char *xml)
{
    static const char *const heavy[] = {"cuda", "opencl", "gl"};
    for (size_t i = 0; xml == NULL && i < sizeof heavy / sizeof heavy[0]; i++) {
        hwloc_topology_set_components(topo->hwloc, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                      heavy[i]);
    }
    if (xml != NULL) {
        FILE *file = fopen(xml, "re");
        if (file == NULL) {
            return weft_fail(WEFT_ERR_SYSTEM, errno, "cannot read %s", xml);
        }
        fclose(file);
        if (hwloc_topology_set_xml(topo->hwloc, xml) != 0) {
            return machine_not_hwloc(xml);
        }
    }
    hwloc_topology_set_io_types_filter(topo->hwloc, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    hwloc_topology_set_flags(topo->hwloc, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    if (hwloc_topology_load(topo->hwloc) != 0) {
        return xml != NULL ? machine_not_hwloc(xml)
                           : weft_fail(WEFT_ERR_SYSTEM, errno, "hwloc cannot read this machine");
    }
    return WEFT_OK;
}

weft_status_t topo_open(topo_t *topo, const char *xml)
{
    *topo = (topo_t){0};
    if (hwloc_topology_init(&topo->hwloc) != 0) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for a topology");
    }
    weft_status_t status = machine_load(topo, xml);
    if (status == WEFT_OK && !machine_make_room(topo)) {
        status = weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for a topology");
    }
    if (status != WEFT_OK) {
        topo_close(topo);
        return status;
    }
    const char *host = hwloc_obj_get_info_by_name(hwloc_get_root_obj(topo->hwloc), "HostName");
    snprintf(topo->name, sizeof topo->name, "%s", host != NULL ? host : xml != NULL ? xml : "here");
    machine_scan_packages(topo);
    machine_scan_places(topo);
    status = topo_scan_pci(topo);
    if (status != WEFT_OK) {
        topo_close(topo);
    }
    return status;
}

void topo_close(topo_t *topo)
{
    free(topo->packages);
    free(topo->places);
    free(topo->cores);
    free(topo->branches);
    free(topo->devices);
    free(topo->uses);
    free(topo->troubles);
    free(topo->paths);
    hwloc_topology_destroy(topo->hwloc);
    *topo = (topo_t){0};
}

weft_status_t topo_export(const topo_t *topo, const char *file)
{
    if (hwloc_topology_export_xml(topo->hwloc, file, 0) != 0) {
        return weft_fail(WEFT_ERR_SYSTEM, errno, "cannot write %s", file);
    }
    return WEFT_OK;
}
