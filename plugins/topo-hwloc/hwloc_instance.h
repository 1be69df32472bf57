/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An instance of the plugin topo-hwloc, and its options. */
#ifndef TOPO_HWLOC_INSTANCE_H
#define TOPO_HWLOC_INSTANCE_H

#include <hwloc.h>
#include <stdbool.h>

#include <weft/plugin/topo.h>

typedef struct topo_hwloc_config {
    const char *xml;       /* file; "": none */
    const char *synthetic; /* "": none */
    bool nvml;
} topo_hwloc_config_t;

struct weft_topo {
    const weft_host_t *host;
    topo_hwloc_config_t config;
    hwloc_topology_t hwloc; /* NULL until the first discover() or save() */
};

#endif
