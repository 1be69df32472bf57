/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A graph: the channels that a machine runs at once, as the search finds them or a file gives them.
 *
 * A channel is an order of all participants. What a channel of bandwidth b needs depends on the
 * pattern; one hop from x to y takes b of every edge of the route from x to y.
 *
 *   ring   each hop of the order, and closed: the last to the first. Over NICs instead: from the
 *          NIC in to the first, and from the last to the NIC out.
 *   chain  each hop of the order; over NICs as a ring.
 *   tree   each hop of the order in both directions; over NICs one NIC, which is NIC in and NIC
 *          out, to and from the first, the head. Trees between hosts hang their heads together.
 *
 * Channels share the work evenly, so all have the speed of the slowest. The *speed* of n channels
 * is the least, over all edges, of the edge's capacity divided by how often the n channels use it.
 * The *bottleneck bandwidth* is n · speed: what the search makes as large as can be had, then n as
 * small. Capacities are whole MB/s and bandwidths are compared as fractions, so that every rank
 * comes to the same graph; a speed is rounded down where it is told.
 *
 * Across hosts of one kind, channel c of host h goes out by the NIC by which it comes into host
 * h + 1. Hosts with odd numbers run each channel backwards, with NIC in and NIC out exchanged: then
 * both are the same port of two equal hosts, so on one rail, whether or not a channel enters and
 * leaves by the same one. That costs nothing, because wires carry as much in both directions. (With
 * an odd number of hosts one hop of the ring, last to first, goes from rail to rail.) */
#ifndef WEFT_TOPO_GRAPH_H
#define WEFT_TOPO_GRAPH_H

#include <stdbool.h>

#include <weft/weft.h>

#include "core/topo/capacities.h"

#define WEFT_GRAPH_CHANNELS_MAX 64u
#define WEFT_GRAPH_NO_NIC UINT32_MAX

typedef enum weft_graph_pattern {
    WEFT_GRAPH_RING,
    WEFT_GRAPH_CHAIN,
    WEFT_GRAPH_TREE
} weft_graph_pattern_t;

/* How a graph came to be. */
typedef enum weft_graph_proof {
    WEFT_GRAPH_BEST,     /* no graph of at most so many channels has more */
    WEFT_GRAPH_FOUND,    /* the steps did not suffice to rule out a better one */
    WEFT_GRAPH_FALLBACK, /* participants in order, one channel */
    WEFT_GRAPH_GIVEN     /* read from a file, or made by a plugin */
} weft_graph_proof_t;

typedef struct weft_graph_channel {
    uint32_t nic_in, nic_out; /* as NICs are counted from 0; WEFT_GRAPH_NO_NIC */
} weft_graph_channel_t;

typedef struct weft_graph {
    weft_graph_pattern_t pattern;
    weft_graph_proof_t proof;
    bool hosts;     /* for a job of several hosts: enters and leaves by NICs, where there are any */
    uint32_t speed; /* MB/s of each channel */
    uint32_t tight; /* the edge that sets it; WEFT_MACHINE_NONE: no edge is used */
    uint32_t uses;  /* of that edge */
    uint32_t bound; /* MB/s that no graph exceeds; 0: not known */
    uint64_t steps; /* of the search */
    uint32_t nchannels, nparticipants;
    weft_graph_channel_t channels[WEFT_GRAPH_CHANNELS_MAX];
    uint16_t *order; /* participants of channel c: [c · nparticipants …] */
} weft_graph_t;

static inline const uint16_t *weft_graph_order(const weft_graph_t *graph, uint32_t channel)
{
    return &graph->order[(size_t)channel * graph->nparticipants];
}

/* Makes `*graph` with room for channels_max orders of all participants, and no channel yet. */
weft_status_t weft_graph_init(weft_graph_t *graph, const weft_capacities_t *capacities,
                              uint32_t channels_max);
void weft_graph_fini(weft_graph_t *graph);

/* Does the order of a channel close to a cycle, and which NICs does it have to have? */
bool weft_graph_is_closed(const weft_graph_t *graph);
bool weft_graph_uses_nics(const weft_graph_t *graph, const weft_capacities_t *capacities);

/* n · speed, rounded down. */
uint32_t weft_graph_bandwidth(const weft_graph_t *graph, const weft_capacities_t *capacities);

/* Sets `speed`, `tight` and `uses` from the channels, which have to be whole. A speed is 0 where an
 * edge carries less than 1 MB/s for each use, or none is used. */
weft_status_t weft_graph_measure(weft_graph_t *graph, const weft_capacities_t *capacities);

const char *weft_graph_pattern_name(weft_graph_pattern_t pattern);
const char *weft_graph_proof_name(weft_graph_proof_t proof);

#endif
