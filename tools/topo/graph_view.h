/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the outputs of `weft topo --graph` share: the graph, its machine, and names of its parts. */
#ifndef WEFT_TOPO_GRAPH_VIEW_H
#define WEFT_TOPO_GRAPH_VIEW_H

#include "core/topo/graph.h"

typedef struct graph_view {
    const weft_machine_t *machine;
    const weft_capacities_t *capacities;
    const weft_graph_t *graph;
} graph_view_t;

typedef char graph_name_t[24];

/* "GPU3", "node 1", "host" of a participant; "NIC2" of an end beyond them. */
const char *graph_view_end_name(const graph_view_t *view, uint32_t end, graph_name_t name);
/* "GPUs", "NUMA nodes", "host". */
const char *graph_view_kind(const graph_view_t *view);
/* "the best there is", … */
const char *graph_view_proof(const graph_view_t *view);
/* "ring over NICs", "ring of one host". */
const char *graph_view_pattern(const graph_view_t *view, graph_name_t name);
/* Ends of the channel in order, NICs and the return to the first included; returns how many.
 * ends: room for all participants and two. */
uint32_t graph_view_path(const graph_view_t *view, uint32_t channel, uint32_t *ends);

#endif
