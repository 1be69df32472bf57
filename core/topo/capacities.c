/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Edges have fixed places in one array, kind by kind, so that an edge is found by what it is of. */
#include "core/topo/capacities.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"

typedef struct capacities_build {
    weft_capacities_t *capacities;
    weft_route_ends_t ends;
} capacities_build_t;

static void capacities_set(capacities_build_t *build, uint32_t edge, double bandwidth,
                           uint32_t assumed)
{
    weft_capacities_t *capacities = build->capacities;
    uint32_t value = assumed;
    if (bandwidth > 0) {
        double whole = bandwidth / 1e6;
        value = whole < 1 ? 1 : whole > 1e9 ? 1000000000u : (uint32_t)whole;
    } else {
        capacities->assumed++;
    }
    capacities->bandwidths[edge] = capacities->bandwidths[edge + 1] = value;
}

static void capacities_put_devices(capacities_build_t *build)
{
    const weft_machine_t *machine = build->ends.machine;
    for (uint32_t i = 0; i < machine->ndevices; i++) {
        const weft_machine_device_t *device = &machine->devices[i];
        capacities_set(build, build->ends.pci + 2 * i, device->pci, WEFT_ASSUMED_PCI);
        if (device->kind == WEFT_DEVICE_NIC) {
            capacities_set(build, build->ends.ports + 2 * i, device->speed, WEFT_ASSUMED_PORT);
        }
    }
    for (uint32_t i = 0; i < machine->nbranches; i++) {
        capacities_set(build, build->ends.branches + 2 * i, machine->branches[i].bandwidth,
                       WEFT_ASSUMED_PCI);
    }
}

static void capacities_put_nodes(capacities_build_t *build)
{
    const weft_machine_t *machine = build->ends.machine;
    uint32_t ngroups = machine->npackages + machine->nnodes;
    for (uint32_t i = 0; i < machine->nnodes; i++) {
        capacities_set(build, build->ends.memories + 2 * i, machine->nodes[i].bandwidth / 2,
                       WEFT_ASSUMED_MEMORY / 2);
    }
    for (uint32_t i = 0; i < ngroups; i++) {
        capacities_set(build, build->ends.sockets + 2 * i, machine->socket, WEFT_ASSUMED_SOCKET);
    }
}

/* Links between the same two GPUs, or from a GPU to the switch, are one edge: the first's. */
static void capacities_put_links(capacities_build_t *build)
{
    const weft_machine_t *machine = build->ends.machine;
    for (uint32_t i = 0; i < machine->nlinks; i++) {
        const weft_machine_link_t *link = &machine->links[i];
        double sum = 0;
        for (uint32_t j = 0; j < machine->nlinks; j++) {
            const weft_machine_link_t *other = &machine->links[j];
            bool same = (other->from == link->from && other->to == link->to) ||
                        (other->from == link->to && other->to == link->from);
            sum += same ? other->bandwidth : 0;
        }
        capacities_set(build, build->ends.links + 2 * i, sum, WEFT_ASSUMED_LINK);
    }
}

static void capacities_number_edges(capacities_build_t *build)
{
    const weft_machine_t *machine = build->ends.machine;
    uint32_t at = 0;
    build->ends.pci = at;
    at += 2 * machine->ndevices;
    build->ends.ports = at;
    at += 2 * machine->ndevices;
    build->ends.branches = at;
    at += 2 * machine->nbranches;
    build->ends.memories = at;
    at += 2 * machine->nnodes;
    build->ends.sockets = at;
    at += 2 * (machine->npackages + machine->nnodes);
    build->ends.links = at;
    at += 2 * machine->nlinks;
    build->capacities->nedges = at;
}

/* Memory without cores of its own takes no part, unless no node tells of cores. */
static bool capacities_node_takes_part(const weft_machine_t *machine, uint32_t node)
{
    bool told = false;
    for (uint32_t i = 0; i < machine->nnodes; i++) {
        told = told || machine->nodes[i].cores + machine->nodes[i].pus > 0;
    }
    return !told || machine->nodes[node].cores + machine->nodes[node].pus > 0;
}

static void capacities_list_ends(weft_capacities_t *capacities, const weft_machine_t *machine)
{
    uint32_t count = 0;
    capacities->kind = machine->ngpus > 0    ? WEFT_PARTICIPANTS_GPUS
                       : machine->nnodes > 0 ? WEFT_PARTICIPANTS_NODES
                                             : WEFT_PARTICIPANTS_HOST;
    for (uint32_t i = 0; machine->ngpus == 0 && i < machine->nnodes; i++) {
        if (capacities_node_takes_part(machine, i)) {
            capacities->units[count++] = i;
        }
    }
    for (uint32_t i = 0; i < machine->ndevices; i++) {
        if (machine->devices[i].kind == WEFT_DEVICE_GPU) {
            capacities->units[count++] = i;
        }
    }
    if (count == 0) {
        capacities->units[count++] = WEFT_MACHINE_NONE;
    }
    capacities->nparticipants = count;
    for (uint32_t i = 0; i < machine->ndevices; i++) {
        if (machine->devices[i].kind == WEFT_DEVICE_NIC) {
            capacities->rails[capacities->nnics++] = machine->devices[i].rail;
            capacities->units[count++] = i;
        }
    }
}

static weft_status_t capacities_allocate(weft_capacities_t *capacities,
                                         const weft_machine_t *machine)
{
    size_t most = (size_t)machine->nnodes + machine->ndevices + 1;
    capacities->units = calloc(most, sizeof *capacities->units);
    capacities->rails = calloc(most, sizeof *capacities->rails);
    capacities->bandwidths = calloc(capacities->nedges + 1, sizeof *capacities->bandwidths);
    if (capacities->units == NULL || capacities->rails == NULL || capacities->bandwidths == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for the capacities of %s",
                         machine->name);
    }
    capacities_list_ends(capacities, machine);
    size_t ends = weft_capacities_ends(capacities);
    capacities->routes = calloc(ends * ends, sizeof *capacities->routes);
    if (capacities->routes == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for the routes of %s",
                         machine->name);
    }
    return WEFT_OK;
}

weft_status_t weft_capacities_init(weft_capacities_t *capacities, const weft_machine_t *machine)
{
    capacities_build_t build = {.capacities = capacities, .ends = {.machine = machine}};
    *capacities = (weft_capacities_t){0};
    capacities_number_edges(&build);
    weft_status_t status = capacities_allocate(capacities, machine);
    if (status != WEFT_OK) {
        weft_capacities_fini(capacities);
        return status;
    }
    capacities_put_devices(&build);
    capacities_put_nodes(&build);
    capacities_put_links(&build);
    build.ends.units = capacities->units;
    build.ends.gpus = capacities->kind == WEFT_PARTICIPANTS_GPUS;
    build.ends.nparticipants = capacities->nparticipants;
    build.ends.count = weft_capacities_ends(capacities);
    weft_routes_find(&build.ends, capacities->routes);
    capacities->ends = build.ends;
    return WEFT_OK;
}

void weft_capacities_fini(weft_capacities_t *capacities)
{
    free(capacities->units);
    free(capacities->rails);
    free(capacities->bandwidths);
    free(capacities->routes);
    *capacities = (weft_capacities_t){0};
}

static void capacities_device_name(const weft_machine_t *machine, uint32_t device, char text[16])
{
    if (device == WEFT_MACHINE_NONE) {
        snprintf(text, 16, "the switch");
        return;
    }
    const weft_machine_device_t *d = &machine->devices[device];
    snprintf(text, 16, "%s%u", d->kind == WEFT_DEVICE_GPU ? "GPU" : "NIC", d->number);
}

void weft_capacities_edge_name(const weft_capacities_t *capacities, uint32_t edge, char *text,
                               size_t bytes)
{
    const weft_route_ends_t *ends = &capacities->ends;
    const weft_machine_t *machine = ends->machine;
    bool back = edge % 2 == 1;
    char from[16], to[16];
    if (edge >= ends->links) {
        const weft_machine_link_t *link = &machine->links[(edge - ends->links) / 2];
        capacities_device_name(machine, back ? link->to : link->from, from);
        capacities_device_name(machine, back ? link->from : link->to, to);
        snprintf(text, bytes, "the link from %s to %s", from, to);
    } else if (edge >= ends->sockets) {
        snprintf(text, bytes, "the way %s package %u", back ? "into" : "out of",
                 (edge - ends->sockets) / 2);
    } else if (edge >= ends->memories) {
        snprintf(text, bytes, "%s memory of NUMA node %u", back ? "writing to" : "reading from",
                 (edge - ends->memories) / 2);
    } else if (edge >= ends->branches) {
        const char *name = machine->branches[(edge - ends->branches) / 2].name;
        snprintf(text, bytes, "PCIe %s %s %.40s (branch %u)", back ? "down" : "up",
                 back ? "to" : "from", name, (edge - ends->branches) / 2);
    } else if (edge >= ends->ports) {
        capacities_device_name(machine, (edge - ends->ports) / 2, from);
        snprintf(text, bytes, "the port of %s, %s", from, back ? "sending" : "receiving");
    } else {
        capacities_device_name(machine, (edge - ends->pci) / 2, from);
        snprintf(text, bytes, "PCIe %s %s", back ? "to" : "from", from);
    }
}
