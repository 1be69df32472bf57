/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rings and chains of a view: those of what it was made from, with the ranks that it has. */
#ifndef WEFT_PLAN_TOPO_ORDERS_H
#define WEFT_PLAN_TOPO_ORDERS_H

#include <weft/plugin/algo.h>

#define WEFT_TOPO_ORDERS_MAX 16u /* rings, and chains */

typedef struct weft_topo_orders {
    struct topo_orders_memory *memory; /* NULL: none */
    uint64_t bytes;                    /* of memory */
} weft_topo_orders_t;

/* Adds the rings and chains of `from` to `topo`, whose hosts and order are there and whose ranks
 * are `ranks` of `from` (NULL: 0 … n−1). Of rings that these ranks make equal one is kept, and
 * none if that is `order`. More than WEFT_TOPO_ORDERS_MAX are left out. ERR_RESOURCE. */
weft_status_t weft_topo_orders_init(weft_topo_orders_t *orders, weft_algo_topo_t *topo,
                                    const weft_algo_topo_t *from, const uint32_t *ranks,
                                    uint32_t n);
void weft_topo_orders_fini(weft_topo_orders_t *orders);

#endif
