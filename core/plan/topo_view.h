/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The topology that algorithms see, with the memory that it needs: of a job, of some of its ranks,
 * of hosts alone. */
#ifndef WEFT_PLAN_TOPO_VIEW_H
#define WEFT_PLAN_TOPO_VIEW_H

#include <weft/plugin/algo.h>

#include "core/plan/topo_orders.h"

#define WEFT_TOPO_VIEW_LEVELS_MAX 8u

typedef struct weft_topo_view {
    weft_algo_topo_t topo; /* points into `memory`; constant after init */
    uint32_t nranks;
    struct topo_view_memory *memory;
    uint64_t bytes;            /* of memory */
    weft_topo_orders_t orders; /* memory of rings and chains */
} weft_topo_view_t;

/* Makes the view of the `n` ranks of `ranks` (NULL: 0 … n−1), which are ranks of `from`, as if
 * they were a job of their own: groups are numbered anew in the order in which the ranks meet
 * them, levels that tell nothing of these ranks are left out, and the order is found. Of `from`
 * only hosts, levels, rails, kinds, devices, and positions in rings and chains are read; without
 * levels the hosts are the only one, and without hosts all ranks share one. `kinds` of `from` has
 * to outlive the view. At most WEFT_TOPO_VIEW_LEVELS_MAX levels. ERR_RESOURCE. */
weft_status_t weft_topo_view_init(weft_topo_view_t *view, const weft_algo_topo_t *from,
                                  const uint32_t *ranks, uint32_t n);
void weft_topo_view_fini(weft_topo_view_t *view);

/* Returns a number that differs, but for chance, where an algorithm sees a difference. */
uint64_t weft_topo_view_hash(const weft_algo_topo_t *topo, uint32_t nranks);

#endif
