/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The search for the graph of a machine: the most bottleneck bandwidth (graph.h), and of those with
 * the most one of the fewest channels. It counts steps, never time, and decides by whole numbers:
 * the same machine and request give the same graph on every rank.
 *
 * For a number of channels the cuts (cuts.h) bound the speed. The numbers are tried from the one
 * with the highest bound on; each is asked only for more than the best graph so far has. Symmetric
 * machines reach the bound at once. Elsewhere all ways are tried, as far as the steps suffice. */
#ifndef WEFT_TOPO_SEARCH_H
#define WEFT_TOPO_SEARCH_H

#include "core/topo/graph.h"

#define WEFT_SEARCH_STEPS 1000000u /* some 15 ms; a quarter more for nearer hops */

typedef struct weft_search_request {
    weft_graph_pattern_t pattern;
    bool hosts;            /* for a job of several hosts */
    bool straight;         /* a channel leaves on the rail on which it came */
    uint32_t channels_min; /* 0: 1 */
    uint32_t channels_max; /* 0: 32 */
    uint64_t steps;        /* 0: WEFT_SEARCH_STEPS */
} weft_search_request_t;

/* Always gives a graph, if only participants in order; fails for want of memory, or for limits that
 * contradict each other. */
weft_status_t weft_search(weft_graph_t *graph_p, const weft_capacities_t *capacities,
                          const weft_search_request_t *request);

#endif
