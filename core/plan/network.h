/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All ranks without values: each structure of plans once, the ports of all ranks with their other
 * ends, and the classes of ranks that run in lock step (classes.h says why one rank of each is
 * enough). Private to core/plan. */
#ifndef WEFT_PLAN_NETWORK_H
#define WEFT_PLAN_NETWORK_H

#include "core/plan/cost.h"
#include "core/plan/facts.h"
#include "core/plan/verdict.h"

/* A long chain would need half as many rounds of refinement as it has ranks, and gain nothing. */
#define WEFT_NETWORK_ROUNDS 64

typedef struct weft_network_port {
    uint32_t peer; /* rank of the network */
    uint32_t name; /* rank to print; ports with one name belong to one link */
    uint32_t key;  /* 2 × channel, + 1 if it receives */
    uint32_t mate; /* port of the peer at the other end */
    uint8_t level; /* weft_level_t */
} weft_network_port_t;

/* A structure of plans, which differ only in peers and chunk numbers. */
typedef struct weft_network_shape {
    uint64_t hash;
    weft_plan_t *plan; /* of the first rank with it */
    bool owned;        /* destroyed with the network */
    weft_plan_facts_t facts;
    uint64_t *chunks;   /* by port, per pass */
    uint64_t *messages; /* … that carry a slice of them; behind the chunks */
} weft_network_shape_t;

typedef struct weft_network {
    uint32_t nranks, added, nshapes, nclasses;
    const uint32_t *host; /* by rank; NULL: all on one */
    uint32_t *shape;      /* by rank */
    uint64_t *first_port; /* by rank, and the end */
    weft_network_port_t *ports;
    uint64_t ports_room;
    weft_network_shape_t *shapes;
    uint32_t shapes_room;
    uint32_t *table; /* of shapes, plus one; a power of two */
    uint32_t table_mask;
    uint64_t *seen;   /* per peer and direction: rank that had a port to it, and that port */
    uint32_t *colour; /* class by rank */
    uint32_t *first;  /* by class: the rank that stands for it */
    uint32_t *size;   /* by class: ranks */
} weft_network_t;

typedef struct weft_network_result {
    weft_verdict_t verdict; /* OK, UNMATCHED, DEADLOCK, TOO_BIG */
    char text[256];
    weft_cost_t cost;
    uint32_t peak_slots;
} weft_network_result_t;

/* `host` outlives the network; NULL: all ranks are on one. ERR_RESOURCE. */
weft_status_t weft_network_init(weft_network_t *net, uint32_t nranks, const uint32_t *host);
void weft_network_fini(weft_network_t *net);
/* Adds the plan of the next rank, which must outlive the network. If `owned`, the network destroys
 * it, at once if its structure is known already. ERR_RESOURCE; the caller then keeps the plan. */
weft_status_t weft_network_add(weft_network_t *net, weft_plan_t *plan, bool owned);
/* True if the plan has the structure of the first rank's. */
bool weft_network_resembles(weft_network_t *net, const weft_plan_t *plan);
/* Finds the other ends of all ports. The result is UNMATCHED if a port has none. ERR_RESOURCE. */
weft_status_t weft_network_pair(weft_network_t *net, weft_network_result_t *result);
/* Finds the classes in at most `rounds` rounds; if these are not enough, each rank is a class of
 * its own. ERR_RESOURCE. */
weft_status_t weft_network_refine(weft_network_t *net, uint32_t rounds);
#endif
