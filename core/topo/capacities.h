/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a machine can carry, as the search needs it: *ends* (participants, then NICs), *edges* (one
 * direction of a wire, with a capacity in whole MB/s), and one route between any two ends.
 *
 * Participants are the GPUs; on a machine without GPUs its NUMA nodes that have cores; on a machine
 * that tells neither the host itself.
 *
 * A route is what traffic takes: the direct link or the switch of the GPUs where there is one, else
 * up the PCI tree, from socket to socket if need be, and down. It never passes through another
 * device. Edges of a route, in order: the port of a NIC, the PCI links of both devices, the links
 * of branches below the first common one, the way out of a package and into another. Memory of a
 * NUMA node that takes part carries half of its bandwidth each way: what comes in is written once,
 * what goes out is read once.
 *
 * A bandwidth that the machine does not tell is replaced by one of WEFT_ASSUMED_…, and counted. */
#ifndef WEFT_TOPO_CAPACITIES_H
#define WEFT_TOPO_CAPACITIES_H

#include <weft/weft.h>

#include "core/topo/machine.h"
#include "core/topo/routes.h"

/* MB/s, one direction. They matter only against each other where nothing is told. */
#define WEFT_ASSUMED_PCI 12000u
#define WEFT_ASSUMED_PORT 1250u
#define WEFT_ASSUMED_LINK 20000u
#define WEFT_ASSUMED_SOCKET 10000u
#define WEFT_ASSUMED_MEMORY 40000u /* both directions together */

typedef enum weft_participants {
    WEFT_PARTICIPANTS_GPUS,
    WEFT_PARTICIPANTS_NODES,
    WEFT_PARTICIPANTS_HOST
} weft_participants_t;

typedef struct weft_capacities {
    weft_participants_t kind;
    uint32_t nparticipants, nnics;
    uint32_t nedges;
    uint32_t assumed;       /* bandwidths that the machine does not tell */
    uint32_t *units;        /* of each end: its device, or the NUMA node */
    uint32_t *rails;        /* of each NIC; WEFT_MACHINE_NONE: any */
    weft_route_ends_t ends; /* where the edges of each kind begin */
    uint32_t *bandwidths;   /* of each edge, at least 1 */
    weft_route_t *routes;   /* [from · ends + to] */
} weft_capacities_t;

static inline uint32_t weft_capacities_ends(const weft_capacities_t *capacities)
{
    return capacities->nparticipants + capacities->nnics;
}

static inline const weft_route_t *weft_capacities_route(const weft_capacities_t *capacities,
                                                        uint32_t from, uint32_t to)
{
    return &capacities->routes[(size_t)from * weft_capacities_ends(capacities) + to];
}

/* `machine` is only read, and has to stay. Fails for want of memory only. */
weft_status_t weft_capacities_init(weft_capacities_t *capacities, const weft_machine_t *machine);
void weft_capacities_fini(weft_capacities_t *capacities);

/* What an edge is, for people: "the port of NIC3, sending", "the link from GPU1 to GPU2". */
void weft_capacities_edge_name(const weft_capacities_t *capacities, uint32_t edge, char *text,
                               size_t bytes);

#endif
