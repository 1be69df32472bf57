/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names and paths of a graph. */
#include "tools/topo/graph_view.h"

#include <stdio.h>

const char *graph_view_end_name(const graph_view_t *view, uint32_t end, graph_name_t name)
{
    const weft_capacities_t *capacities = view->capacities;
    uint32_t unit = capacities->units[end];
    if (end >= capacities->nparticipants) {
        snprintf(name, sizeof(graph_name_t), "NIC%u", end - capacities->nparticipants);
    } else if (capacities->kind == WEFT_PARTICIPANTS_GPUS) {
        snprintf(name, sizeof(graph_name_t), "GPU%u", end);
    } else if (capacities->kind == WEFT_PARTICIPANTS_NODES) {
        snprintf(name, sizeof(graph_name_t), "node %u", view->machine->nodes[unit].index);
    } else {
        snprintf(name, sizeof(graph_name_t), "host");
    }
    return name;
}

const char *graph_view_kind(const graph_view_t *view)
{
    static const char *const kinds[] = {[WEFT_PARTICIPANTS_GPUS] = "GPUs",
                                        [WEFT_PARTICIPANTS_NODES] = "NUMA nodes",
                                        [WEFT_PARTICIPANTS_HOST] = "host"};
    return kinds[view->capacities->kind];
}

const char *graph_view_proof(const graph_view_t *view)
{
    static const char *const proofs[] = {
        [WEFT_GRAPH_BEST] = "the best there is",
        [WEFT_GRAPH_FOUND] = "the best that was found",
        [WEFT_GRAPH_FALLBACK] = "participants in order, because nothing else was found",
        [WEFT_GRAPH_GIVEN] = "as given"};
    return proofs[view->graph->proof];
}

const char *graph_view_pattern(const graph_view_t *view, graph_name_t name)
{
    bool nics = weft_graph_uses_nics(view->graph, view->capacities);
    snprintf(name, sizeof(graph_name_t), "%s%s", weft_graph_pattern_name(view->graph->pattern),
             nics                 ? " over NICs"
             : view->graph->hosts ? ", no NIC told"
                                  : " of one host");
    return name;
}

uint32_t graph_view_path(const graph_view_t *view, uint32_t channel, uint32_t *ends)
{
    const weft_graph_t *graph = view->graph;
    const uint16_t *order = weft_graph_order(graph, channel);
    bool nics = weft_graph_uses_nics(graph, view->capacities);
    uint32_t count = 0;
    if (nics) {
        ends[count++] = graph->nparticipants + graph->channels[channel].nic_in;
    }
    for (uint32_t i = 0; i < graph->nparticipants; i++) {
        ends[count++] = order[i];
    }
    if (nics && graph->pattern != WEFT_GRAPH_TREE) {
        ends[count++] = graph->nparticipants + graph->channels[channel].nic_out;
    } else if (weft_graph_is_closed(graph) && graph->nparticipants > 1) {
        ends[count++] = order[0];
    }
    return count;
}
