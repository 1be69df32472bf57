/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Orders: the hosts as they stand in the order in which neighbours are near, the ranks of a host as
 * they stood in the ring before. */
#include "core/plan/topo_orders.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/error.h"
#include "core/os/os.h"

/* What the orders of a view point to. */
struct topo_orders_memory {
    const uint32_t *ring[WEFT_TOPO_ORDERS_MAX], *ring_position[WEFT_TOPO_ORDERS_MAX];
    const uint32_t *chain[WEFT_TOPO_ORDERS_MAX], *chain_position[WEFT_TOPO_ORDERS_MAX];
    uint32_t words[];
};

typedef struct topo_orders_making {
    const weft_algo_topo_t *topo;
    const uint32_t *ranks;
    uint32_t n;
    uint32_t *next; /* free words */
} topo_orders_making_t;

/* Sorts the ranks of one host, which stand together, by their positions in the ring of before.
 * Hosts have few ranks, and those are mostly sorted. */
static void topo_orders_sort(const topo_orders_making_t *making, const uint32_t *key,
                             uint32_t *order, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        uint32_t rank = order[i], at = i;
        uint32_t own = key[making->ranks != NULL ? making->ranks[rank] : rank];
        for (; at > 0; at--) {
            uint32_t before = order[at - 1];
            if (key[making->ranks != NULL ? making->ranks[before] : before] <= own) {
                break;
            }
            order[at] = before;
        }
        order[at] = rank;
    }
}

/* Writes one order, and returns whether it is that of `topo`. */
static bool topo_orders_write(const topo_orders_making_t *making, const uint32_t *key,
                              uint32_t *order)
{
    const weft_algo_topo_t *topo = making->topo;
    uint32_t first = 0;
    bool known = true;
    for (uint32_t i = 0; i < making->n; i++) {
        order[i] = weft_algo_topo_rank(topo, i);
        if (topo->host[order[i]] != topo->host[order[first]]) {
            topo_orders_sort(making, key, order + first, i - first);
            first = i;
        }
    }
    topo_orders_sort(making, key, order + first, making->n - first);
    for (uint32_t i = 0; known && i < making->n; i++) {
        known = order[i] == weft_algo_topo_rank(topo, i);
    }
    return known;
}

static void topo_orders_invert(const uint32_t *order, uint32_t n, uint32_t *position)
{
    for (uint32_t i = 0; i < n; i++) {
        position[order[i]] = i;
    }
}

/* Writes `count` orders and their positions; returns how many are kept. */
static uint32_t topo_orders_take(topo_orders_making_t *making, const uint32_t *const *keys,
                                 uint32_t count, const uint32_t **order, const uint32_t **position)
{
    uint32_t n = making->n, *words = making->next;
    bool known = true, equal = true;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t *own = words + (size_t)2 * i * n;
        known = topo_orders_write(making, keys[i], own) && known;
        equal = equal && memcmp(own, words, n * sizeof *own) == 0;
        topo_orders_invert(own, n, own + n);
        order[i] = own;
        position[i] = own + n;
    }
    count = known ? 0 : equal ? 1 : count;
    making->next += (size_t)2 * count * n;
    return count;
}

static uint32_t topo_orders_at_most(uint32_t count)
{
    return count < WEFT_TOPO_ORDERS_MAX ? count : WEFT_TOPO_ORDERS_MAX;
}

weft_status_t weft_topo_orders_init(weft_topo_orders_t *orders, weft_algo_topo_t *topo,
                                    const weft_algo_topo_t *from, const uint32_t *ranks, uint32_t n)
{
    *orders = (weft_topo_orders_t){.memory = NULL};
    bool known = weft_algo_topo_has_rings(from);
    uint32_t nrings = known ? topo_orders_at_most(from->nrings) : 0;
    uint32_t nchains = known ? topo_orders_at_most(from->nchains) : 0;
    if (nrings + nchains == 0) {
        return WEFT_OK;
    }
    size_t words = (size_t)2 * (nrings + nchains) * n;
    struct topo_orders_memory *memory =
        weft_os_alloc(sizeof *memory + words * sizeof *memory->words, 0);
    if (memory == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for %u orders of %u ranks",
                         nrings + nchains, n);
    }
    topo_orders_making_t making = {.topo = topo, .ranks = ranks, .n = n, .next = memory->words};
    nrings =
        topo_orders_take(&making, from->ring_position, nrings, memory->ring, memory->ring_position);
    nchains = topo_orders_take(&making, from->chain_position, nchains, memory->chain,
                               memory->chain_position);
    if (nrings + nchains == 0) {
        weft_os_free(memory);
        return WEFT_OK;
    }
    topo->nrings = nrings;
    topo->nchains = nchains;
    topo->ring = memory->ring;
    topo->ring_position = memory->ring_position;
    topo->chain = memory->chain;
    topo->chain_position = memory->chain_position;
    *orders = (weft_topo_orders_t){.memory = memory,
                                   .bytes = sizeof *memory + words * sizeof *memory->words};
    return WEFT_OK;
}

void weft_topo_orders_fini(weft_topo_orders_t *orders)
{
    weft_os_free(orders->memory);
    *orders = (weft_topo_orders_t){.memory = NULL};
}
