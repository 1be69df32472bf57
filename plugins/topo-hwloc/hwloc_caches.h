/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The caches of a NUMA node. */
#ifndef TOPO_HWLOC_CACHES_H
#define TOPO_HWLOC_CACHES_H

#include "hwloc_instance.h"

typedef struct hwloc_caches {
    weft_topo_cache_t list[WEFT_TOPO_CACHES_MAX];
    char names[WEFT_TOPO_CACHES_MAX][8];
    uint32_t count;
} hwloc_caches_t;

/* From the largest to the smallest; a cache that several nodes share is the first one's. */
void hwloc_find_caches(hwloc_topology_t hwloc, hwloc_const_cpuset_t cpus, hwloc_caches_t *caches);

#endif
