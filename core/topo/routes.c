/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Routes past PCIe are one or two edges; all others climb from both ends to where they meet. */
#include "core/topo/routes.h"

#include "core/topo/paths.h"

#define ROUTES_CLIMB 9u /* branches on each side: with 6 other edges, WEFT_ROUTE_EDGES_MAX */

/* One end on its way to the other. */
typedef struct routes_end {
    uint32_t device; /* WEFT_MACHINE_NONE: a NUMA node or the host */
    uint32_t node;   /* WEFT_MACHINE_NONE: not known */
    uint32_t branch; /* where it hangs */
} routes_end_t;

static void routes_add(weft_route_t *route, uint32_t edge)
{
    route->edges[route->nedges++] = (uint16_t)edge;
}

static uint32_t routes_parent(const weft_machine_t *machine, uint32_t branch)
{
    return machine->branches[branch].parent;
}

static routes_end_t routes_end(const weft_route_ends_t *ends, uint32_t end)
{
    uint32_t unit = ends->units[end];
    if (end < ends->nparticipants && !ends->gpus) {
        return (routes_end_t){WEFT_MACHINE_NONE, unit, WEFT_MACHINE_NONE};
    }
    const weft_machine_device_t *device = &ends->machine->devices[unit];
    return (routes_end_t){unit, device->node, device->branch};
}

/* Returns the lowest branch that both hang below, or WEFT_MACHINE_NONE. A parent stands before its
 * children. */
static uint32_t routes_meet(const weft_machine_t *machine, uint32_t a, uint32_t b)
{
    while (a != b && a != WEFT_MACHINE_NONE && b != WEFT_MACHINE_NONE) {
        if (a > b) {
            a = routes_parent(machine, a);
        } else {
            b = routes_parent(machine, b);
        }
    }
    return a == b ? a : WEFT_MACHINE_NONE;
}

static uint32_t routes_group(const weft_machine_t *machine, uint32_t node)
{
    uint32_t package = machine->nodes[node].package;
    return package != WEFT_MACHINE_NONE ? package : machine->npackages + node;
}

static weft_algo_path_class_t routes_class(const weft_machine_t *machine, routes_end_t a,
                                           routes_end_t b)
{
    if (a.device != WEFT_MACHINE_NONE && b.device != WEFT_MACHINE_NONE) {
        return weft_path_between(machine, a.device, b.device).class;
    }
    if (a.device != b.device) {
        routes_end_t device = a.device != WEFT_MACHINE_NONE ? a : b;
        routes_end_t node = a.device != WEFT_MACHINE_NONE ? b : a;
        return weft_path_to_node(machine, device.device, node.node).class;
    }
    return routes_group(machine, a.node) == routes_group(machine, b.node) ? WEFT_ALGO_PATH_NODE
                                                                          : WEFT_ALGO_PATH_SYS;
}

/* Branches from where `end` hangs up to `meet`, which is not one of them; down: the other way. */
static void routes_climb(const weft_route_ends_t *ends, weft_route_t *route, routes_end_t end,
                         uint32_t meet, bool down)
{
    uint32_t chain[ROUTES_CLIMB], count = 0;
    uint32_t b = end.branch;
    while (b != WEFT_MACHINE_NONE && b != meet && count < ROUTES_CLIMB) {
        chain[count++] = b;
        b = routes_parent(ends->machine, b);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t branch = down ? chain[count - 1 - i] : chain[i];
        routes_add(route, ends->branches + 2 * branch + (down ? 1 : 0));
    }
}

static void routes_leave(const weft_route_ends_t *ends, weft_route_t *route, routes_end_t end)
{
    if (end.device == WEFT_MACHINE_NONE) {
        if (end.node != WEFT_MACHINE_NONE) {
            routes_add(route, ends->memories + 2 * end.node);
        }
        return;
    }
    if (ends->machine->devices[end.device].kind == WEFT_DEVICE_NIC) {
        routes_add(route, ends->ports + 2 * end.device);
    }
    routes_add(route, ends->pci + 2 * end.device);
}

static void routes_arrive(const weft_route_ends_t *ends, weft_route_t *route, routes_end_t end)
{
    if (end.device == WEFT_MACHINE_NONE) {
        if (end.node != WEFT_MACHINE_NONE) {
            routes_add(route, ends->memories + 2 * end.node + 1);
        }
        return;
    }
    routes_add(route, ends->pci + 2 * end.device + 1);
    if (ends->machine->devices[end.device].kind == WEFT_DEVICE_NIC) {
        routes_add(route, ends->ports + 2 * end.device + 1);
    }
}

static void routes_over_pci(const weft_route_ends_t *ends, weft_route_t *route, routes_end_t from,
                            routes_end_t to)
{
    const weft_machine_t *machine = ends->machine;
    uint32_t meet = routes_meet(machine, from.branch, to.branch);
    routes_leave(ends, route, from);
    routes_climb(ends, route, from, meet, false);
    if (meet == WEFT_MACHINE_NONE && from.node != WEFT_MACHINE_NONE &&
        to.node != WEFT_MACHINE_NONE) {
        uint32_t out = routes_group(machine, from.node), in = routes_group(machine, to.node);
        if (out != in) {
            routes_add(route, ends->sockets + 2 * out);
            routes_add(route, ends->sockets + 2 * in + 1);
        }
    }
    routes_climb(ends, route, to, meet, true);
    routes_arrive(ends, route, to);
}

/* Returns the first link from `from` to `to` as an edge, or WEFT_MACHINE_NONE. */
static uint32_t routes_link(const weft_route_ends_t *ends, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < ends->machine->nlinks; i++) {
        const weft_machine_link_t *link = &ends->machine->links[i];
        if (link->from == from && link->to == to) {
            return ends->links + 2 * i;
        }
        if (link->from == to && link->to == from) {
            return ends->links + 2 * i + 1;
        }
    }
    return WEFT_MACHINE_NONE;
}

static bool routes_past_pci(const weft_route_ends_t *ends, weft_route_t *route, routes_end_t from,
                            routes_end_t to)
{
    if (from.device == WEFT_MACHINE_NONE || to.device == WEFT_MACHINE_NONE) {
        return false;
    }
    uint32_t direct = routes_link(ends, from.device, to.device);
    uint32_t up = routes_link(ends, from.device, WEFT_MACHINE_NONE);
    uint32_t down = routes_link(ends, to.device, WEFT_MACHINE_NONE);
    if (direct != WEFT_MACHINE_NONE) {
        routes_add(route, direct);
    } else if (up != WEFT_MACHINE_NONE && down != WEFT_MACHINE_NONE) {
        routes_add(route, up);
        routes_add(route, down + 1);
    } else {
        return false;
    }
    return true;
}

void weft_routes_find(const weft_route_ends_t *ends, weft_route_t *routes)
{
    for (uint32_t from = 0; from < ends->count; from++) {
        for (uint32_t to = 0; to < ends->count; to++) {
            weft_route_t *route = &routes[(size_t)from * ends->count + to];
            bool nics = from >= ends->nparticipants && to >= ends->nparticipants;
            if (from == to || nics) {
                route->path = from == to ? WEFT_ALGO_PATH_SELF : WEFT_ALGO_PATH_UNKNOWN;
                continue;
            }
            routes_end_t a = routes_end(ends, from), b = routes_end(ends, to);
            route->path = routes_class(ends->machine, a, b);
            if (!routes_past_pci(ends, route, a, b)) {
                routes_over_pci(ends, route, a, b);
            }
        }
    }
}
