/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the channels of a graph take of each edge, and what follows for their speed. */
#include "core/topo/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"

weft_status_t weft_graph_init(weft_graph_t *graph, const weft_capacities_t *capacities,
                              uint32_t channels_max)
{
    size_t count = (size_t)capacities->nparticipants * channels_max;
    *graph = (weft_graph_t){.nparticipants = capacities->nparticipants};
    graph->order = calloc(count, sizeof *graph->order);
    return graph->order != NULL
               ? WEFT_OK
               : weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for %u channels", channels_max);
}

void weft_graph_fini(weft_graph_t *graph)
{
    free(graph->order);
    graph->order = NULL;
}

bool weft_graph_is_closed(const weft_graph_t *graph)
{
    return graph->pattern == WEFT_GRAPH_RING && !graph->hosts;
}

bool weft_graph_uses_nics(const weft_graph_t *graph, const weft_capacities_t *capacities)
{
    return graph->hosts && capacities->nnics > 0;
}

static void graph_use(const weft_capacities_t *capacities, uint32_t from, uint32_t to,
                      uint32_t *uses)
{
    if (from != to) {
        const weft_route_t *route = weft_capacities_route(capacities, from, to);
        for (uint32_t i = 0; i < route->nedges; i++) {
            uses[route->edges[i]]++;
        }
    }
}

static void graph_use_channel(const weft_graph_t *graph, const weft_capacities_t *capacities,
                              uint32_t channel, uint32_t *uses)
{
    const uint16_t *order = weft_graph_order(graph, channel);
    uint32_t p = graph->nparticipants;
    bool tree = graph->pattern == WEFT_GRAPH_TREE;
    for (uint32_t i = 0; i + 1 < p; i++) {
        graph_use(capacities, order[i], order[i + 1], uses);
        if (tree) {
            graph_use(capacities, order[i + 1], order[i], uses);
        }
    }
    if (weft_graph_is_closed(graph)) {
        graph_use(capacities, order[p - 1], order[0], uses);
    }
    if (weft_graph_uses_nics(graph, capacities)) {
        graph_use(capacities, p + graph->channels[channel].nic_in, order[0], uses);
        graph_use(capacities, tree ? order[0] : order[p - 1], p + graph->channels[channel].nic_out,
                  uses);
    }
}

uint32_t weft_graph_bandwidth(const weft_graph_t *graph, const weft_capacities_t *capacities)
{
    if (graph->tight == WEFT_MACHINE_NONE) {
        return 0;
    }
    uint64_t all = (uint64_t)capacities->bandwidths[graph->tight] * graph->nchannels / graph->uses;
    return all < UINT32_MAX ? (uint32_t)all : UINT32_MAX;
}

weft_status_t weft_graph_measure(weft_graph_t *graph, const weft_capacities_t *capacities)
{
    const uint32_t *bandwidths = capacities->bandwidths;
    uint32_t *uses = calloc(capacities->nedges + 1, sizeof *uses);
    uint32_t tight = WEFT_MACHINE_NONE;
    if (uses == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory to measure a graph");
    }
    for (uint32_t c = 0; c < graph->nchannels; c++) {
        graph_use_channel(graph, capacities, c, uses);
    }
    for (uint32_t e = 0; e < capacities->nedges; e++) {
        bool less = tight == WEFT_MACHINE_NONE ||
                    (uint64_t)bandwidths[e] * uses[tight] < (uint64_t)bandwidths[tight] * uses[e];
        tight = uses[e] > 0 && less ? e : tight;
    }
    /* One participant and no NIC: nothing is carried. */
    graph->tight = tight;
    graph->uses = tight == WEFT_MACHINE_NONE ? 0 : uses[tight];
    graph->speed = tight == WEFT_MACHINE_NONE ? 0 : bandwidths[tight] / uses[tight];
    free(uses);
    return WEFT_OK;
}

const char *weft_graph_pattern_name(weft_graph_pattern_t pattern)
{
    static const char *const names[] = {
        [WEFT_GRAPH_RING] = "ring", [WEFT_GRAPH_CHAIN] = "chain", [WEFT_GRAPH_TREE] = "tree"};
    return names[pattern];
}

const char *weft_graph_proof_name(weft_graph_proof_t proof)
{
    static const char *const names[] = {[WEFT_GRAPH_BEST] = "best",
                                        [WEFT_GRAPH_FOUND] = "found",
                                        [WEFT_GRAPH_FALLBACK] = "fallback",
                                        [WEFT_GRAPH_GIVEN] = "given"};
    return names[proof];
}
