/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ways: which NIC a link between hosts uses. Pure functions. */
#ifndef WEFT_EXEC_LINK_WAYS_H
#define WEFT_EXEC_LINK_WAYS_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/plugin/plan.h>

/* The number of a link: 16 bits are the channel of the plan, one is for sends and receives, some
 * are the copy of the plan, and the rest is the way that the link is a hop of, by which its device
 * is chosen. */
#define WEFT_LINK_COPY_SHIFT 17u
#define WEFT_LINK_WAY_SHIFT 25u
#define WEFT_LINK_WAY_UP (UINT32_C(1) << 31) /* the ring goes from the lower rank to the higher */
#define WEFT_LINK_WAY_OUT WEFT_LINK_WAY_UP /* of a port: the ring goes from this rank to the peer */

/* The NICs of this rank's host that its rings and chains use. */
typedef struct weft_link_ways {
    const uint32_t *host; /* of each rank of the family */
    /* By number, where it comes in and where it leaves: the words by which the system knows the
     * NIC, "mlx5_0 ib0"; NULL: not known. */
    const char *ring[WEFT_PLAN_WAY_ORDERS][2];
    const char *chain[WEFT_PLAN_WAY_ORDERS];
} weft_link_ways_t;

/* Returns `number` without its way. */
static inline uint32_t weft_link_without_way(uint32_t number)
{
    return number & ((UINT32_C(1) << WEFT_LINK_WAY_SHIFT) - 1);
}

/* Returns which device serves a link without a way. Of the links of copies, too, neighbours use
 * different ones. */
static inline uint32_t weft_link_turn(uint32_t number)
{
    return (weft_link_without_way(number) >> WEFT_LINK_COPY_SHIFT) + (number & 0xffff);
}

/* Returns the number of the link that a port of `rank` to `peer` has: OUT becomes UP, and there is
 * no way inside a host, or if `ways` has no hosts. Equal on both ranks. */
uint32_t weft_link_number(const weft_link_ways_t *ways, uint32_t rank, uint32_t peer,
                          uint32_t number);
/* Returns the words that name the NIC of a link at `rank`; NULL: it has no way, or the NIC is
 * not known. */
const char *weft_link_nic(const weft_link_ways_t *ways, uint32_t rank, uint32_t peer,
                          uint32_t number);
/* Tells whether one of the words names this device of a transport. "mlx5_0" is port 1 of it too. */
bool weft_link_is_nic(const char *device, const char *words);

#endif
