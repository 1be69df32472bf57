/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The route between any two ends of a machine, as edges; capacities.h says which one it is. */
#ifndef WEFT_TOPO_ROUTES_H
#define WEFT_TOPO_ROUTES_H

#include <stdbool.h>

#include <weft/plugin/algo.h>

#include "core/topo/machine.h"

/* Of a deeper tree the upper branches are left out. */
#define WEFT_ROUTE_EDGES_MAX 24u

typedef struct weft_route {
    weft_algo_path_class_t path;
    uint16_t nedges;
    uint16_t edges[WEFT_ROUTE_EDGES_MAX];
} weft_route_t;

/* What routes lead between: participants, then NICs. Edges have fixed places, kind by kind; those
 * of thing i are at +2i: the way up, out, or along, and the way back. */
typedef struct weft_route_ends {
    const weft_machine_t *machine;
    const uint32_t *units; /* of each end: its device; of participants on the host, the NUMA node */
    bool gpus;             /* participants are GPUs */
    uint32_t nparticipants, count;
    uint32_t pci, ports, branches, memories, sockets, links;
} weft_route_ends_t;

/* Fills in routes[from * count + to]. */
void weft_routes_find(const weft_route_ends_t *ends, weft_route_t *routes);

#endif
