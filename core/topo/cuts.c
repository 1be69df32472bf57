/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Any group of participants makes a valid cut; which ones are worth it is read from the routes: for
 * each edge those whose ways out, or in, lead over it. That finds what lies below a branch or in a
 * package without knowing of either. */
#include "core/topo/cuts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"

#define CUTS_GROUPS_MAX 1024u
#define CUTS_NONE UINT32_MAX

typedef struct cuts_build {
    const weft_capacities_t *capacities;
    weft_cuts_t *cuts;
    bool nics, tree;
    uint8_t *group; /* [v]: is it a member of the group at hand? */
    uint32_t ngroups;
    uint32_t *marks; /* of edges: the cut that has them, counted from 1 */
    uint32_t mark;
    bool full; /* no memory */
} cuts_build_t;

static const weft_route_t *cuts_route(const cuts_build_t *build, uint32_t v, uint32_t x, bool in)
{
    return in ? weft_capacities_route(build->capacities, x, v)
              : weft_capacities_route(build->capacities, v, x);
}

static void cuts_add_edge(cuts_build_t *build, uint32_t edge)
{
    weft_cuts_t *cuts = build->cuts;
    if (build->marks[edge] == build->mark) {
        return;
    }
    build->marks[edge] = build->mark;
    if (cuts->nedges == cuts->room) {
        uint32_t room = cuts->room * 2 + 64;
        uint16_t *edges = realloc(cuts->edges, room * sizeof *edges);
        if (edges == NULL) {
            build->full = true;
            return;
        }
        cuts->edges = edges;
        cuts->room = room;
    }
    cuts->edges[cuts->nedges++] = (uint16_t)edge;
}

static void cuts_begin(cuts_build_t *build, weft_cut_t *cut)
{
    build->mark++;
    *cut = (weft_cut_t){.first = build->cuts->nedges, .need = 1};
}

static void cuts_end(const cuts_build_t *build, weft_cut_t *cut)
{
    cut->count = build->cuts->nedges - cut->first;
}

/* Adds an edge of the way from member v to x, or back: the pivot if it is on it; else the one at v,
 * or, with a group of several, at the NIC. */
static void cuts_add_way(cuts_build_t *build, uint32_t v, uint32_t x, bool in, uint32_t pivot)
{
    const weft_route_t *route = cuts_route(build, v, x, in);
    bool at_nic = pivot != CUTS_NONE && x >= build->capacities->nparticipants;
    if (route->nedges == 0) {
        return;
    }
    for (uint32_t i = 0; i < route->nedges; i++) {
        if (route->edges[i] == pivot) {
            cuts_add_edge(build, pivot);
            return;
        }
    }
    cuts_add_edge(build, route->edges[in == at_nic ? 0 : route->nedges - 1u]);
}

static void cuts_add_ways(cuts_build_t *build, const uint8_t *group, bool in, uint32_t pivot)
{
    uint32_t p = build->capacities->nparticipants;
    uint32_t ends = build->nics && !build->tree ? weft_capacities_ends(build->capacities) : p;
    for (uint32_t v = 0; v < p; v++) {
        for (uint32_t x = 0; group[v] && x < ends; x++) {
            if (x >= p || !group[x]) {
                cuts_add_way(build, v, x, in, pivot);
            }
        }
    }
}

/* The cuts around a group, out and in; as one where a channel need only do either. */
static void cuts_around(cuts_build_t *build, const uint8_t *group, uint32_t pivot, bool in)
{
    weft_cuts_t *cuts = build->cuts;
    cuts_begin(build, &cuts->cuts[cuts->ncuts]);
    cuts_add_ways(build, group, in, pivot);
    if (cuts->open) {
        cuts_add_ways(build, group, !in, pivot);
    }
    cuts_end(build, &cuts->cuts[cuts->ncuts++]);
}

/* All hops from members, or to them, those inside the group included: one for each member. */
static void cuts_of_members(cuts_build_t *build, const uint8_t *group, uint32_t pivot, bool in)
{
    uint32_t p = build->capacities->nparticipants;
    uint32_t ends = build->nics ? weft_capacities_ends(build->capacities) : p;
    weft_cut_t *cut = &build->cuts->cuts[build->cuts->ncuts];
    cuts_begin(build, cut);
    cut->need = 0;
    for (uint32_t v = 0; v < p; v++) {
        cut->need += group[v];
        for (uint32_t x = 0; group[v] && x < ends; x++) {
            cuts_add_way(build, v, x, in, pivot);
        }
    }
    cuts_end(build, cut);
    build->cuts->ncuts++;
}

/* Marks in `group` whose ways out, or in, lead over `edge`; returns how many there are. */
static uint32_t cuts_find_group(const cuts_build_t *build, uint32_t edge, bool in, uint8_t *group)
{
    uint32_t p = build->capacities->nparticipants, count = 0;
    uint32_t ends = weft_capacities_ends(build->capacities);
    memset(group, 0, p);
    for (uint32_t v = 0; v < p; v++) {
        for (uint32_t x = 0; x < ends && !group[v]; x++) {
            const weft_route_t *route = cuts_route(build, v, x, in);
            for (uint32_t i = 0; i < route->nedges; i++) {
                group[v] |= route->edges[i] == edge;
            }
        }
        count += group[v];
    }
    return count;
}

/* Edges inside routes: those at the ends are covered by groups of one. */
static void cuts_mark_inner(const cuts_build_t *build, uint8_t *inner)
{
    uint32_t ends = weft_capacities_ends(build->capacities);
    for (uint32_t i = 0; i < ends * ends; i++) {
        const weft_route_t *route = &build->capacities->routes[i];
        for (uint32_t e = 1; e + 1 < route->nedges; e++) {
            inner[route->edges[e]] = 1;
        }
    }
}

static void cuts_put_groups(cuts_build_t *build, uint8_t *inner)
{
    uint32_t p = build->capacities->nparticipants;
    cuts_mark_inner(build, inner);
    for (uint32_t e = 0; e < build->capacities->nedges; e++) {
        for (int in = 0; in < 2 && inner[e] && build->ngroups < CUTS_GROUPS_MAX; in++) {
            uint8_t *group = build->group;
            uint32_t count = cuts_find_group(build, e, in != 0, group);
            if (count > 0 && count < p) {
                build->ngroups++;
                cuts_around(build, group, e, in != 0);
                /* The wire's other direction is the next edge or the one before it. */
                cuts_around(build, group, e ^ 1u, in == 0);
            }
            if (count > 1 && !build->cuts->open) {
                cuts_of_members(build, group, e, in != 0);
            }
        }
    }
}

static void cuts_put_single(cuts_build_t *build, uint32_t v)
{
    uint32_t p = build->capacities->nparticipants;
    weft_cuts_t *cuts = build->cuts;
    uint8_t *group = build->group;
    memset(group, 0, p);
    group[v] = 1;
    for (int in = 0; in < 2; in++) {
        cuts_around(build, group, CUTS_NONE, in != 0);
        cuts_begin(build, &cuts->hops[2 * v + (uint32_t)in]);
        for (uint32_t x = 0; x < p; x++) {
            cuts_add_way(build, v, x, in != 0, CUTS_NONE);
        }
        cuts_end(build, &cuts->hops[2 * v + (uint32_t)in]);
    }
}

static void cuts_put_nics(cuts_build_t *build)
{
    const weft_capacities_t *capacities = build->capacities;
    weft_cuts_t *cuts = build->cuts;
    for (int in = 0; in < 2; in++) {
        cuts_begin(build, &cuts->cuts[cuts->ncuts]);
        for (uint32_t x = capacities->nparticipants; x < weft_capacities_ends(capacities); x++) {
            const weft_route_t *route = cuts_route(build, 0, x, in != 0);
            cuts_add_edge(build, route->edges[in ? 0 : route->nedges - 1u]);
        }
        cuts_end(build, &cuts->cuts[cuts->ncuts++]);
    }
}

static void cuts_count_hops(weft_cuts_t *cuts, const weft_graph_t *graph)
{
    uint32_t p = graph->nparticipants;
    bool tree = graph->pattern == WEFT_GRAPH_TREE;
    cuts->nparticipants = p;
    cuts->per_channel = p < 2 ? 0 : weft_graph_is_closed(graph) ? p : tree ? 2 * (p - 1) : p - 1;
    cuts->per_visit = tree && p > 2 ? 2 : 1;
}

weft_status_t weft_cuts_init(weft_cuts_t *cuts, const weft_capacities_t *capacities,
                             const weft_graph_t *graph)
{
    uint32_t p = capacities->nparticipants;
    cuts_build_t build = {.capacities = capacities,
                          .cuts = cuts,
                          .nics = weft_graph_uses_nics(graph, capacities),
                          .tree = graph->pattern == WEFT_GRAPH_TREE};
    *cuts = (weft_cuts_t){.open = !build.tree && !build.nics && !weft_graph_is_closed(graph)};
    cuts_count_hops(cuts, graph);
    cuts->cuts = calloc(2 * (size_t)p + 4 * CUTS_GROUPS_MAX + 2, sizeof *cuts->cuts);
    cuts->hops = calloc(2 * (size_t)p, sizeof *cuts->hops);
    build.group = calloc(p, 1);
    build.marks = calloc(capacities->nedges + 1, sizeof *build.marks);
    uint8_t *inner = calloc(capacities->nedges + 1, 1);
    build.full = cuts->cuts == NULL || cuts->hops == NULL || build.group == NULL ||
                 build.marks == NULL || inner == NULL;
    for (uint32_t v = 0; v < p && p > 1 && !build.full; v++) {
        cuts_put_single(&build, v);
    }
    if (build.nics && !build.full) {
        cuts_put_nics(&build);
    }
    if (!build.full) {
        cuts_put_groups(&build, inner);
    }
    free(build.group);
    free(build.marks);
    free(inner);
    if (build.full) {
        weft_cuts_fini(cuts);
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for the bounds of a search");
    }
    return WEFT_OK;
}

void weft_cuts_fini(weft_cuts_t *cuts)
{
    free(cuts->cuts);
    free(cuts->hops);
    free(cuts->edges);
    *cuts = (weft_cuts_t){0};
}

static uint64_t cuts_slots(const weft_cuts_t *cuts, const weft_cut_t *cut, const uint32_t *slots)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < cut->count; i++) {
        sum += slots[cuts->edges[cut->first + i]];
    }
    return sum;
}

bool weft_cuts_hold(const weft_cuts_t *cuts, const uint32_t *slots, uint32_t channels)
{
    uint64_t hops[2] = {0, 0};
    for (uint32_t i = 0; i < cuts->ncuts; i++) {
        if (cuts_slots(cuts, &cuts->cuts[i], slots) < (uint64_t)cuts->cuts[i].need * channels) {
            return false;
        }
    }
    for (uint32_t i = 0; i < 2 * cuts->nparticipants; i++) {
        uint64_t most = (uint64_t)cuts->per_visit * channels;
        uint64_t sum = cuts_slots(cuts, &cuts->hops[i], slots);
        hops[i % 2] += sum < most ? sum : most;
    }
    uint64_t need = (uint64_t)cuts->per_channel * channels;
    return hops[0] >= need && hops[1] >= need;
}

uint32_t weft_cuts_bound(const weft_cuts_t *cuts, const weft_capacities_t *capacities,
                         uint32_t channels, uint32_t *scratch)
{
    uint32_t low = 0, high = 1;
    for (uint32_t e = 0; e < capacities->nedges; e++) {
        high = capacities->bandwidths[e] > high ? capacities->bandwidths[e] : high;
    }
    while (low < high) {
        uint32_t speed = low + (high - low + 1) / 2;
        for (uint32_t e = 0; e < capacities->nedges; e++) {
            scratch[e] = capacities->bandwidths[e] / speed;
        }
        if (weft_cuts_hold(cuts, scratch, channels)) {
            low = speed;
        } else {
            high = speed - 1;
        }
    }
    return low;
}
