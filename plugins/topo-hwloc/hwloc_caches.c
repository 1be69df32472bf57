/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The caches of a NUMA node: those of one level, kind and size count together. */
#include "hwloc_caches.h"

#include <stdio.h>
#include <string.h>

static void hwloc_caches_count(hwloc_caches_t *caches, const struct hwloc_cache_attr_s *cache)
{
    char name[8];
    snprintf(name, sizeof name, "L%u%s", cache->depth % 100,
             cache->type == HWLOC_OBJ_CACHE_DATA          ? "d"
             : cache->type == HWLOC_OBJ_CACHE_INSTRUCTION ? "i"
                                                          : "");
    for (uint32_t i = 0; i < caches->count; i++) {
        if (strcmp(caches->names[i], name) == 0 && caches->list[i].bytes == cache->size) {
            caches->list[i].count++;
            return;
        }
    }
    if (caches->count < WEFT_TOPO_CACHES_MAX) {
        char *own = caches->names[caches->count];
        strcpy(own, name);
        caches->list[caches->count++] =
            (weft_topo_cache_t){.name = own, .bytes = cache->size, .count = 1};
    }
}

void hwloc_find_caches(hwloc_topology_t hwloc, hwloc_const_cpuset_t cpus, hwloc_caches_t *caches)
{
    caches->count = 0;
    for (int depth = 0; depth < hwloc_topology_get_depth(hwloc); depth++) {
        if (!hwloc_obj_type_is_cache(hwloc_get_depth_type(hwloc, depth))) {
            continue;
        }
        hwloc_obj_t at = NULL;
        while ((at = hwloc_get_next_obj_by_depth(hwloc, depth, at)) != NULL) {
            const int first = hwloc_bitmap_first(at->cpuset);
            if (first >= 0 && hwloc_bitmap_isset(cpus, (unsigned)first)) {
                hwloc_caches_count(caches, &at->attr->cache);
            }
        }
    }
}
