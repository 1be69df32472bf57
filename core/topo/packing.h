/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Do n channels of a given speed fit a machine at once? Channels are built one after the other, end
 * by end; each hop takes a slot of every edge of its route; where no way is left, the last choice
 * is undone. It counts what it tries and nothing else, so every rank stops at the same place. */
#ifndef WEFT_TOPO_PACKING_H
#define WEFT_TOPO_PACKING_H

#include "core/topo/cuts.h"

/* Which choice comes first, and which are left out. */
typedef enum weft_packing_order {
    WEFT_PACKING_LINKED, /* as BESIDE, and hops between participants only over links */
    WEFT_PACKING_BESIDE, /* as NEAR, and NICs only with participants than which none is nearer */
    WEFT_PACKING_NEAR,   /* nearest first, then around in turns: what fits most machines */
    WEFT_PACKING_SPARE,  /* nearest first, then what has most slots left */
    WEFT_PACKING_PAIRED, /* as NEAR; every other channel is the one before it, backwards */
    WEFT_PACKING_ALL     /* all, channels in ascending order: to prove that there is none */
} weft_packing_order_t;

typedef enum weft_packing_answer {
    WEFT_PACKING_FITS,
    WEFT_PACKING_NEVER, /* only from WEFT_PACKING_ALL */
    WEFT_PACKING_OPEN   /* not found, not ruled out */
} weft_packing_answer_t;

typedef struct weft_packing {
    const weft_capacities_t *capacities;
    const weft_cuts_t *cuts;
    weft_graph_t *graph; /* pattern and hosts are set; channels and order are the result */
    bool cross;          /* may a channel leave by another rail than that on which it came? */
    weft_packing_order_t order;
    uint32_t levels;   /* choices of a channel */
    uint32_t *slots;   /* left of each edge */
    uint16_t *chosen;  /* end, of each level */
    uint64_t *tried;   /* key of the last choice of each level; 0: none */
    uint8_t *tied;     /* is the channel so far like the one before it? */
    uint8_t *nearest;  /* class of the nearest participant, of each NIC */
    uint8_t *visited;  /* [channel · nparticipants + v] */
    uint32_t channels; /* to be packed */
    uint64_t steps;
} weft_packing_t;

weft_status_t weft_packing_init(weft_packing_t *packing, const weft_capacities_t *capacities,
                                const weft_cuts_t *cuts, weft_graph_t *graph,
                                uint32_t channels_max);
void weft_packing_fini(weft_packing_t *packing);

/* A speed as a fraction of MB/s; faster: only more than that will do. */
typedef struct weft_packing_speed {
    uint64_t over, under;
    bool faster;
} weft_packing_speed_t;

/* Fills in `slots`: what each edge has at that speed. */
void weft_packing_slots(const weft_packing_t *packing, weft_packing_speed_t speed);

/* Looks for `channels` of such a speed within `budget` steps. If they fit they are the graph's. */
weft_packing_answer_t weft_packing_try(weft_packing_t *packing, uint32_t channels,
                                       weft_packing_speed_t speed, weft_packing_order_t order,
                                       uint64_t budget);

#endif
