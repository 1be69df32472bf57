/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A graph as text, for reading, keeping and changing by hand; docs/topology.md describes it:
 *
 *     weft-graph 1
 *     graph pattern=ring|chain|tree hosts=yes|no
 *     channel N in=NIC out=NIC order PARTICIPANT …
 *
 * Channels are numbered from 0 as they stand. `in` and `out` stand where channels use NICs. Speeds
 * are not part of it: they follow from the machine. */
#ifndef WEFT_TOPO_GRAPH_TEXT_H
#define WEFT_TOPO_GRAPH_TEXT_H

#include <stdio.h>

#include "core/topo/graph.h"

/* Reads a graph and checks that it fits the machine: every participant once in every channel, NICs
 * that are there. ERR_CONFIG names file, line and what was expected. On success the graph is
 * measured, its proof is WEFT_GRAPH_GIVEN, and weft_graph_fini() frees it. */
weft_status_t weft_graph_parse(const char *file, const char *text,
                               const weft_capacities_t *capacities, weft_graph_t *graph_p);
weft_status_t weft_graph_load(const char *path, const weft_capacities_t *capacities,
                              weft_graph_t *graph_p);
/* `name` of the machine stands in a comment. */
void weft_graph_print(const weft_graph_t *graph, const char *name, FILE *out);

/* Says whether a graph that was made elsewhere is whole and fits; ERR_PLAN names channel and fault.
 * */
weft_status_t weft_graph_check(const weft_graph_t *graph, const weft_capacities_t *capacities);

#endif
