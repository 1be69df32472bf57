/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Paths: up the tree of branches to where both ways meet, or over the NUMA nodes. */
#include "core/topo/paths.h"

/* Takes a stretch of the way into its least bandwidth; 0 is not known. */
static double path_least(double least, double bandwidth)
{
    return bandwidth > 0 && (least == 0 || bandwidth < least) ? bandwidth : least;
}

/* A climb from a device up the branches. */
typedef struct climb {
    uint32_t branch;  /* where it is; WEFT_MACHINE_NONE: past the host bridge, or no branch known */
    uint32_t bridges; /* passed, without the one where it is */
    double bandwidth;
} climb_t;

static climb_t path_begin(const weft_machine_t *machine, uint32_t device)
{
    const weft_machine_device_t *d = &machine->devices[device];
    return (climb_t){.branch = d->branch, .bridges = d->bridges, .bandwidth = d->pci};
}

static void path_climb(const weft_machine_t *machine, climb_t *climb)
{
    const weft_machine_branch_t *branch = &machine->branches[climb->branch];
    climb->bandwidth = path_least(climb->bandwidth, branch->bandwidth);
    climb->bridges += 1 + branch->bridges;
    climb->branch = branch->parent;
}

/* A parent stands before its children, so of two branches the later one is never above the
 * other. */
static void path_meet(const weft_machine_t *machine, climb_t *a, climb_t *b)
{
    while (a->branch != b->branch) {
        climb_t *next = a->branch == WEFT_MACHINE_NONE   ? b
                        : b->branch == WEFT_MACHINE_NONE ? a
                        : a->branch > b->branch          ? a
                                                         : b;
        path_climb(machine, next);
    }
}

static double path_between_nodes(const weft_machine_t *machine, uint32_t a, uint32_t b)
{
    const uint32_t from = machine->nodes[a].package, to = machine->nodes[b].package;
    return from != to || from == WEFT_MACHINE_NONE ? machine->socket : 0;
}

static weft_path_t path_over_nodes(const weft_machine_t *machine, uint32_t a, uint32_t b,
                                   double least)
{
    if (a == WEFT_MACHINE_NONE || b == WEFT_MACHINE_NONE) {
        return (weft_path_t){WEFT_ALGO_PATH_UNKNOWN, least};
    }
    if (a == b) {
        return (weft_path_t){WEFT_ALGO_PATH_NODE, least};
    }
    return (weft_path_t){WEFT_ALGO_PATH_SYS, path_least(least, path_between_nodes(machine, a, b))};
}

static weft_path_t path_over_pci(const weft_machine_t *machine, uint32_t from, uint32_t to)
{
    climb_t a = path_begin(machine, from), b = path_begin(machine, to);
    path_meet(machine, &a, &b);
    const double least = path_least(a.bandwidth, b.bandwidth);
    if (a.branch == WEFT_MACHINE_NONE) {
        return path_over_nodes(machine, machine->devices[from].node, machine->devices[to].node,
                               least);
    }
    if (machine->branches[a.branch].parent == WEFT_MACHINE_NONE) {
        return (weft_path_t){WEFT_ALGO_PATH_PHB, least};
    }
    /* A switch shows as one bridge towards the host and one towards each device. */
    return (weft_path_t){a.bridges <= 1 && b.bridges <= 1 ? WEFT_ALGO_PATH_PIX : WEFT_ALGO_PATH_PXB,
                         least};
}

/* What links carry between two GPUs, and from each to the switch. */
static bool path_over_links(const weft_machine_t *machine, uint32_t a, uint32_t b,
                            double *bandwidth_p)
{
    double direct = 0, from_a = 0, from_b = 0;
    bool is_direct = false, has_a = false, has_b = false;
    for (uint32_t i = 0; i < machine->nlinks; i++) {
        const weft_machine_link_t *link = &machine->links[i];
        if (link->to == WEFT_MACHINE_NONE) {
            has_a = has_a || link->from == a;
            has_b = has_b || link->from == b;
            from_a += link->from == a ? link->bandwidth : 0;
            from_b += link->from == b ? link->bandwidth : 0;
        } else if ((link->from == a && link->to == b) || (link->from == b && link->to == a)) {
            is_direct = true;
            direct += link->bandwidth;
        }
    }
    *bandwidth_p = is_direct ? direct : path_least(from_a, from_b);
    return is_direct || (has_a && has_b);
}

weft_path_t weft_path_between(const weft_machine_t *machine, uint32_t from, uint32_t to)
{
    double bandwidth = 0;
    if (from == to) {
        return (weft_path_t){WEFT_ALGO_PATH_SELF, 0};
    }
    if (from < machine->ngpus && to < machine->ngpus &&
        path_over_links(machine, from, to, &bandwidth)) {
        return (weft_path_t){WEFT_ALGO_PATH_NV, bandwidth};
    }
    return path_over_pci(machine, from, to);
}

weft_path_t weft_path_to_node(const weft_machine_t *machine, uint32_t device, uint32_t node)
{
    climb_t climb = path_begin(machine, device);
    const uint32_t own = machine->devices[device].node;
    while (climb.branch != WEFT_MACHINE_NONE) {
        path_climb(machine, &climb);
    }
    weft_path_t path = path_over_nodes(machine, own, node, climb.bandwidth);
    path.class = path.class == WEFT_ALGO_PATH_NODE ? WEFT_ALGO_PATH_PHB : path.class;
    return path;
}

const char *weft_path_name(weft_algo_path_class_t class)
{
    static const char *const names[] = {
        [WEFT_ALGO_PATH_SELF] = "X",  [WEFT_ALGO_PATH_NV] = "NV",
        [WEFT_ALGO_PATH_PIX] = "PIX", [WEFT_ALGO_PATH_PXB] = "PXB",
        [WEFT_ALGO_PATH_PHB] = "PHB", [WEFT_ALGO_PATH_NODE] = "NODE",
        [WEFT_ALGO_PATH_SYS] = "SYS", [WEFT_ALGO_PATH_UNKNOWN] = "?",
    };
    return names[class];
}

const char *weft_path_help(weft_algo_path_class_t class)
{
    static const char *const help[] = {
        [WEFT_ALGO_PATH_SELF] = "itself",
        [WEFT_ALGO_PATH_NV] = "past PCIe: NVLink or xGMI",
        [WEFT_ALGO_PATH_PIX] = "PCIe, one switch at most",
        [WEFT_ALGO_PATH_PXB] = "PCIe, several switches, no host bridge",
        [WEFT_ALGO_PATH_PHB] = "PCIe and one host bridge",
        [WEFT_ALGO_PATH_NODE] = "PCIe and several host bridges of one NUMA node",
        [WEFT_ALGO_PATH_SYS] = "PCIe and the way between NUMA nodes",
        [WEFT_ALGO_PATH_UNKNOWN] = "the system does not tell where one of them is",
    };
    return help[class];
}

weft_algo_path_class_t weft_path_nearest(const weft_machine_t *machine, uint32_t gpu)
{
    weft_algo_path_class_t nearest = WEFT_ALGO_PATH_UNKNOWN;
    for (uint32_t i = machine->ngpus; i < machine->ndevices; i++) {
        weft_algo_path_class_t class = weft_path_between(machine, gpu, i).class;
        nearest = class < nearest ? class : nearest;
    }
    return nearest;
}

bool weft_path_is_nearest(const weft_machine_t *machine, uint32_t gpu, uint32_t nic)
{
    weft_algo_path_class_t class = weft_path_between(machine, gpu, nic).class;
    return nic >= machine->ngpus && class != WEFT_ALGO_PATH_UNKNOWN &&
           class == weft_path_nearest(machine, gpu);
}
