/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All ranks without their values: the structure of each plan, once per structure, the ports of all,
 * who is at their other ends, and classes of ranks that run in lock step (classes.h says why one of
 * each is enough). Private to core/plan. */
#ifndef WEFT_PLAN_NETWORK_H
#define WEFT_PLAN_NETWORK_H

#include "core/plan/cost.h"
#include "core/plan/facts.h"
#include "core/plan/verdict.h"

/* Refinement of a long chain takes half as many rounds as it has ranks and gains nothing. */
#define WEFT_NETWORK_ROUNDS 64

typedef struct weft_network_port {
    uint32_t peer; /* rank of the network */
    uint32_t name; /* of the peer, in words; ports to one name are one link */
    uint32_t key;  /* 2 × channel, + 1 if it receives */
    uint32_t mate; /* port of the peer at the other end */
} weft_network_port_t;

/* Plans that differ in peers and chunk numbers only. */
typedef struct weft_network_shape {
    uint64_t hash;
    weft_plan_t *plan; /* of the first rank that has it */
    bool owned;        /* destroyed with the network */
    weft_plan_facts_t facts;
    uint64_t *chunks; /* by port, per pass */
} weft_network_shape_t;

typedef struct weft_network {
    uint32_t nranks, added, nshapes, nclasses;
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

weft_status_t weft_network_init(weft_network_t *net, uint32_t nranks);
void weft_network_fini(weft_network_t *net);
/* The plan of the next rank. It must outlive the network; if `owned`, the network destroys it, at once
 * if its structure is known. ERR_RESOURCE; the plan is then still the caller's. */
weft_status_t weft_network_add(weft_network_t *net, weft_plan_t *plan, bool owned);
/* True if the plan has the structure of the first rank's. */
bool weft_network_resembles(weft_network_t *net, const weft_plan_t *plan);
/* Finds the mates. A port that has none goes into the result as UNMATCHED. ERR_RESOURCE. */
weft_status_t weft_network_pair(weft_network_t *net, weft_network_result_t *result);
/* Finds the classes in at most so many rounds; if that is not enough, each rank is its own. */
weft_status_t weft_network_refine(weft_network_t *net, uint32_t rounds);
#endif
