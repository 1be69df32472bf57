/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Upper bounds. A *cut* is a list of edges of which every channel takes some: whoever leaves a
 * group of participants has to take a way out of it, and each member is left once. At speed s an
 * edge of capacity b has b / s *slots*, rounded down; n channels need n times what one takes.
 * Groups are single participants, what lies below a branch, the nodes of a package, and all of
 * them, which are left and entered by NICs. */
#ifndef WEFT_TOPO_CUTS_H
#define WEFT_TOPO_CUTS_H

#include "core/topo/graph.h"

typedef struct weft_cut {
    uint32_t first, count; /* of the edges */
    uint32_t need;         /* slots of them that a channel takes at least */
} weft_cut_t;

typedef struct weft_cuts {
    weft_cut_t *cuts;
    uint32_t ncuts;
    uint16_t *edges;
    uint32_t nedges, room;
    /* Ways from each participant to others, and back: cuts [1 + 2i] and [1 + 2i + 1] without NICs;
     * all hops together need so many slots of them. */
    weft_cut_t *hops;
    uint32_t nparticipants;
    uint32_t per_channel; /* hops between participants in one channel */
    uint32_t per_visit;   /* of them at most from one participant */
    bool open;            /* a channel need not leave each group: only leave or enter */
} weft_cuts_t;

weft_status_t weft_cuts_init(weft_cuts_t *cuts, const weft_capacities_t *capacities,
                             const weft_graph_t *graph);
void weft_cuts_fini(weft_cuts_t *cuts);

/* Are there slots for `channels` more channels, as far as cuts tell? */
bool weft_cuts_hold(const weft_cuts_t *cuts, const uint32_t *slots, uint32_t channels);

/* Returns the highest whole speed at which cuts allow so many channels; 0: none. scratch: a number
 * for each edge. */
uint32_t weft_cuts_bound(const weft_cuts_t *cuts, const weft_capacities_t *capacities,
                         uint32_t channels, uint32_t *scratch);

#endif
