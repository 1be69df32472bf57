/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The search in depth, without recursion: machines have up to 256 participants. A level is one
 * choice: NIC in, each participant, NIC out. The choices of a level come in the order of their
 * keys, which depend only on what was chosen before. */
#include "core/topo/packing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"

#define PACKING_NONE UINT64_MAX

typedef enum packing_role { PACKING_NIC_IN, PACKING_PARTICIPANT, PACKING_NIC_OUT } packing_role_t;

/* Where the search stands. */
typedef struct packing_at {
    uint32_t channel, level; /* level inside the channel */
    packing_role_t role;
    uint16_t *path; /* ends chosen for this channel */
} packing_at_t;

static bool packing_nics(const weft_packing_t *packing)
{
    return weft_graph_uses_nics(packing->graph, packing->capacities);
}

static bool packing_is_tree(const weft_packing_t *packing)
{
    return packing->graph->pattern == WEFT_GRAPH_TREE;
}

static void packing_find_nearest(const weft_packing_t *packing)
{
    const weft_capacities_t *capacities = packing->capacities;
    for (uint32_t nic = 0; nic < capacities->nnics; nic++) {
        packing->nearest[nic] = WEFT_ALGO_PATH_UNKNOWN;
        for (uint32_t v = 0; v < capacities->nparticipants; v++) {
            weft_algo_path_class_t path =
                weft_capacities_route(capacities, v, capacities->nparticipants + nic)->path;
            if (path < packing->nearest[nic]) {
                packing->nearest[nic] = (uint8_t)path;
            }
        }
    }
}

weft_status_t weft_packing_init(weft_packing_t *packing, const weft_capacities_t *capacities,
                                const weft_cuts_t *cuts, weft_graph_t *graph, uint32_t channels_max)
{
    *packing = (weft_packing_t){.capacities = capacities, .cuts = cuts, .graph = graph};
    uint32_t nics = !packing_nics(packing) ? 0 : packing_is_tree(packing) ? 1 : 2;
    packing->levels = capacities->nparticipants + nics;
    size_t depth = (size_t)packing->levels * channels_max;
    packing->slots = calloc(capacities->nedges + 1, sizeof *packing->slots);
    packing->chosen = calloc(depth, sizeof *packing->chosen);
    packing->tried = calloc(depth, sizeof *packing->tried);
    packing->tied = calloc(depth, 1);
    packing->visited = calloc(channels_max, capacities->nparticipants);
    packing->nearest = calloc(capacities->nnics + 1, 1);
    if (packing->slots == NULL || packing->chosen == NULL || packing->tried == NULL ||
        packing->tied == NULL || packing->nearest == NULL || packing->visited == NULL) {
        weft_packing_fini(packing);
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for the search of %u channels",
                         channels_max);
    }
    packing_find_nearest(packing);
    return WEFT_OK;
}

void weft_packing_fini(weft_packing_t *packing)
{
    free(packing->slots);
    free(packing->chosen);
    free(packing->tried);
    free(packing->tied);
    free(packing->nearest);
    free(packing->visited);
    *packing = (weft_packing_t){0};
}

static packing_at_t packing_at(const weft_packing_t *packing, uint32_t depth)
{
    packing_at_t at = {.channel = depth / packing->levels, .level = depth % packing->levels};
    bool nics = packing_nics(packing);
    at.path = packing->chosen + (size_t)at.channel * packing->levels;
    at.role = nics && at.level == 0 ? PACKING_NIC_IN
              : nics && !packing_is_tree(packing) && at.level + 1 == packing->levels
                  ? PACKING_NIC_OUT
                  : PACKING_PARTICIPANT;
    return at;
}

/* Slots left on the whole way; 0: it is closed. */
static uint32_t packing_spare(const weft_packing_t *packing, uint32_t from, uint32_t to)
{
    const weft_route_t *route = weft_capacities_route(packing->capacities, from, to);
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; i < route->nedges; i++) {
        uint32_t left = packing->slots[route->edges[i]];
        least = left < least ? left : least;
    }
    return least;
}

static void packing_take(const weft_packing_t *packing, uint32_t from, uint32_t to, bool back)
{
    const weft_route_t *route = weft_capacities_route(packing->capacities, from, to);
    for (uint32_t i = 0; i < route->nedges; i++) {
        packing->slots[route->edges[i]] += back ? 1u : UINT32_MAX;
    }
}

/* Takes, or gives back, what the choice of this level needs. */
static void packing_hop(const weft_packing_t *packing, const packing_at_t *at, bool back)
{
    uint32_t to = at->path[at->level], p = packing->capacities->nparticipants;
    if (at->level > 0) {
        packing_take(packing, at->path[at->level - 1], to, back);
        if (packing_is_tree(packing)) {
            packing_take(packing, to, at->path[at->level - 1], back);
        }
    }
    if (weft_graph_is_closed(packing->graph) && at->level + 1 == p && p > 1) {
        packing_take(packing, to, at->path[0], back);
    }
}

static uint32_t packing_port(const weft_packing_t *packing, uint32_t nic)
{
    return packing->slots[weft_capacities_route(packing->capacities, nic, 0)->edges[0]];
}

/* Returns 0 if `to` cannot be next, else how many more channels could go this way. */
static uint32_t packing_fit(const weft_packing_t *packing, const packing_at_t *at, uint32_t to)
{
    uint32_t p = packing->capacities->nparticipants;
    if (at->role == PACKING_NIC_IN) {
        return packing_port(packing, to);
    }
    if (at->role == PACKING_PARTICIPANT && packing->visited[(size_t)at->channel * p + to]) {
        return 0;
    }
    if (at->level == 0) {
        return weft_graph_is_closed(packing->graph) && to > 0 ? 0 : 1;
    }
    uint32_t from = at->path[at->level - 1];
    if (at->role == PACKING_NIC_OUT && !packing->cross) {
        const uint32_t *rails = packing->capacities->rails;
        uint32_t in = rails[at->path[0] - p], out = rails[to - p];
        if (in != out && in != WEFT_MACHINE_NONE && out != WEFT_MACHINE_NONE) {
            return 0;
        }
    }
    uint32_t spare = packing_spare(packing, from, to);
    if (spare > 0 && packing_is_tree(packing)) {
        uint32_t back = packing_spare(packing, to, from);
        spare = back < spare ? back : spare;
    }
    return spare;
}

/* The hop that closes the ring shares edges with the hop to its last participant. */
static bool packing_closes(const weft_packing_t *packing, const packing_at_t *at)
{
    uint32_t p = packing->capacities->nparticipants;
    if (!weft_graph_is_closed(packing->graph) || at->level + 1 != p || p < 2) {
        return true;
    }
    packing_take(packing, at->path[at->level - 1], at->path[at->level], false);
    bool fits = packing_spare(packing, at->path[at->level], at->path[0]) > 0;
    packing_take(packing, at->path[at->level - 1], at->path[at->level], true);
    return fits;
}

static uint64_t packing_key(const weft_packing_t *packing, const packing_at_t *at, uint32_t to,
                            uint32_t spare)
{
    uint32_t p = packing->capacities->nparticipants;
    uint32_t ends = weft_capacities_ends(packing->capacities);
    uint64_t used = UINT16_MAX - (spare < UINT16_MAX ? spare : UINT16_MAX);
    uint64_t around = to, far = 0;
    if (packing->order == WEFT_PACKING_ALL) {
        return to + 1u;
    }
    if (at->level == 0) {
        /* Channels begin at participants in turn, so that their ends are spread. */
        around = at->role == PACKING_PARTICIPANT ? (to + p - at->channel % p) % p : to;
    } else {
        uint32_t from = at->path[at->level - 1];
        far = weft_capacities_route(packing->capacities, from, to)->path;
        around = at->role == PACKING_PARTICIPANT && from < p ? (to + p - from) % p : to;
        if (at->role == PACKING_NIC_OUT) {
            around = (to + ends - at->path[0]) % ends;
        }
    }
    if (packing->order != WEFT_PACKING_SPARE && at->role == PACKING_PARTICIPANT && at->level > 0 &&
        at->path[at->level - 1] < p) {
        return far << 48 | around << 32 | used << 16 | (to + 1u);
    }
    return far << 48 | used << 32 | around << 16 | (to + 1u);
}

/* In pairs: what the channel before this one has at the same place from its end. */
static bool packing_is_mirror(const weft_packing_t *packing, const packing_at_t *at, uint32_t to)
{
    if (packing->order != WEFT_PACKING_PAIRED || at->channel % 2 == 0) {
        return true;
    }
    const uint16_t *other = at->path - packing->levels;
    if (!weft_graph_is_closed(packing->graph)) {
        return to == other[packing->levels - 1 - at->level];
    }
    return to == other[(packing->levels - at->level) % packing->levels];
}

/* Is the hop as near as the order asks: NICs beside a participant, the others over links? */
static bool packing_is_near(const weft_packing_t *packing, const packing_at_t *at, uint32_t to)
{
    if (packing->order > WEFT_PACKING_BESIDE || at->level == 0) {
        return true;
    }
    uint32_t p = packing->capacities->nparticipants, from = at->path[at->level - 1];
    uint32_t nic = to >= p ? to : from;
    weft_algo_path_class_t path = weft_capacities_route(packing->capacities, from, to)->path;
    return nic >= p ? path == packing->nearest[nic - p]
                    : packing->order == WEFT_PACKING_BESIDE || path == WEFT_ALGO_PATH_NV;
}

/* Sets the next choice of the level and returns true, or false: there is none. */
static bool packing_choose(weft_packing_t *packing, uint32_t depth, const packing_at_t *at)
{
    uint32_t p = packing->capacities->nparticipants;
    uint32_t first = at->role == PACKING_PARTICIPANT ? 0 : p;
    uint32_t last = at->role == PACKING_PARTICIPANT ? p : weft_capacities_ends(packing->capacities);
    uint64_t best = PACKING_NONE, tried = packing->tried[depth];
    bool all = packing->order == WEFT_PACKING_ALL;
    if (all && tried > first) {
        first = (uint32_t)tried;
    }
    if (all && packing->tied[depth] && at->path[(ptrdiff_t)at->level - packing->levels] > first) {
        first = at->path[(ptrdiff_t)at->level - packing->levels];
    }
    for (uint32_t to = first; to < last; to++) {
        packing->steps++;
        uint32_t spare = packing_fit(packing, at, to);
        if (spare == 0 || !packing_is_mirror(packing, at, to) ||
            !packing_is_near(packing, at, to)) {
            continue;
        }
        uint64_t key = packing_key(packing, at, to, spare);
        at->path[at->level] = (uint16_t)to;
        if (key > tried && key < best && packing_closes(packing, at)) {
            best = key;
            if (all) {
                break;
            }
        }
    }
    if (best == PACKING_NONE) {
        return false;
    }
    packing->tried[depth] = best;
    at->path[at->level] = (uint16_t)((best & UINT16_MAX) - 1);
    return true;
}

static void packing_enter(weft_packing_t *packing, uint32_t depth, const packing_at_t *at)
{
    uint32_t p = packing->capacities->nparticipants;
    packing_hop(packing, at, false);
    if (at->role == PACKING_PARTICIPANT) {
        packing->visited[(size_t)at->channel * p + at->path[at->level]] = 1;
    }
    if (depth + 1 < packing->channels * packing->levels) {
        bool begins = at->level + 1 == packing->levels;
        packing->tried[depth + 1] = 0;
        /* A level is tied to the same level of the channel before, as long as all before it are. */
        packing->tied[depth + 1] =
            begins || (packing->tied[depth] &&
                       at->path[at->level] == at->path[(ptrdiff_t)at->level - packing->levels]);
    }
}

static void packing_leave(weft_packing_t *packing, const packing_at_t *at)
{
    uint32_t p = packing->capacities->nparticipants;
    packing_hop(packing, at, true);
    if (at->role == PACKING_PARTICIPANT) {
        packing->visited[(size_t)at->channel * p + at->path[at->level]] = 0;
    }
}

static void packing_tell(const weft_packing_t *packing)
{
    weft_graph_t *graph = packing->graph;
    uint32_t p = packing->capacities->nparticipants;
    bool nics = packing_nics(packing);
    graph->nchannels = packing->channels;
    for (uint32_t c = 0; c < packing->channels; c++) {
        const uint16_t *path = packing->chosen + (size_t)c * packing->levels;
        uint32_t out = packing_is_tree(packing) ? path[0] : path[packing->levels - 1];
        graph->channels[c].nic_in = nics ? path[0] - p : WEFT_GRAPH_NO_NIC;
        graph->channels[c].nic_out = nics ? out - p : WEFT_GRAPH_NO_NIC;
        memcpy(graph->order + (size_t)c * p, path + (nics ? 1 : 0), p * sizeof *path);
    }
}

void weft_packing_slots(const weft_packing_t *packing, weft_packing_speed_t speed)
{
    for (uint32_t e = 0; e < packing->capacities->nedges; e++) {
        uint64_t all = packing->capacities->bandwidths[e] * speed.under;
        uint64_t slots = (all - (speed.faster ? 1 : 0)) / speed.over;
        packing->slots[e] = slots < UINT32_MAX ? (uint32_t)slots : UINT32_MAX;
    }
}

static void packing_begin(weft_packing_t *packing, uint32_t channels, weft_packing_speed_t speed)
{
    packing->channels = channels;
    packing->steps = 0;
    packing->tried[0] = 0;
    packing->tied[0] = 0;
    memset(packing->visited, 0, (size_t)channels * packing->capacities->nparticipants);
    weft_packing_slots(packing, speed);
}

weft_packing_answer_t weft_packing_try(weft_packing_t *packing, uint32_t channels,
                                       weft_packing_speed_t speed, weft_packing_order_t order,
                                       uint64_t budget)
{
    uint32_t depth = 0, end = channels * packing->levels;
    packing->order = order;
    packing_begin(packing, channels, speed);
    while (depth < end) {
        packing_at_t at = packing_at(packing, depth);
        if (packing->steps > budget) {
            return WEFT_PACKING_OPEN;
        }
        if (packing_choose(packing, depth, &at)) {
            packing_enter(packing, depth++, &at);
            uint32_t left = channels - depth / packing->levels;
            if (depth % packing->levels != 0 ||
                weft_cuts_hold(packing->cuts, packing->slots, left)) {
                continue;
            }
        } else if (depth == 0) {
            return order == WEFT_PACKING_ALL ? WEFT_PACKING_NEVER : WEFT_PACKING_OPEN;
        }
        at = packing_at(packing, --depth);
        packing_leave(packing, &at);
    }
    packing_tell(packing);
    return WEFT_PACKING_FITS;
}
