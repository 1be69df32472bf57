/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs of a network, one rank per class, and what they cost. Private to core/plan. */
#ifndef WEFT_PLAN_NETWORK_WALK_H
#define WEFT_PLAN_NETWORK_WALK_H

#include "core/plan/network.h"

/* Runs one pass with one slice per chunk. ERR_RESOURCE. */
weft_status_t weft_network_walk(const weft_network_t *net, uint32_t slots,
                                weft_network_result_t *result);
/* Pairs, refines, and runs with `slices` slices per chunk. *ends_p: every lane comes to its end,
 * with nothing left in a queue; false too where that would take too long. ERR_RESOURCE. */
weft_status_t weft_network_ends(weft_network_t *net, uint32_t slots, uint32_t slices, bool *ends_p);
/* Prices without a run: the busiest rank stands for the chain. */
void weft_network_busiest(const weft_network_t *net, weft_cost_t *cost);
/* Pairs, refines and runs. A network that cannot run is run again rank by rank for the words.
 * ERR_RESOURCE. */
weft_status_t weft_network_price(weft_network_t *net, uint32_t slots, uint32_t rounds,
                                 weft_network_result_t *result);

#endif
