/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the plans of an algorithm are tried with: where ranks are, and chunks in a message. */
#ifndef TESTS_SUPPORT_PLAN_PLACES_H
#define TESTS_SUPPORT_PLAN_PLACES_H

#include "core/plan/topo_view.h"

#define PLACES_RANKS_MAX 128u

/* Where ranks are. */
typedef enum spread {
    ONE_HOST,
    HOSTS_OF_TWO, /* in order, so that the last may hold one */
    /* Two racks of hosts that have from one rank to many, on two islands each; ranks in no
     * order. */
    SCATTERED,
    SPREADS
} spread_t;

/* For PLACES_RANKS_MAX ranks at most. */
static inline weft_status_t places_init(weft_topo_view_t *view, uint32_t nranks, spread_t spread)
{
    uint32_t group[3][PLACES_RANKS_MAX], ngroups[3] = {2, nranks, 2 * nranks};
    const uint32_t *groups[3] = {group[0], group[1], group[2]};
    for (uint32_t r = 0; r < nranks; r++) {
        uint32_t mixed = r * r + 3 * r;
        group[1][r] = spread == ONE_HOST ? 0 : spread == HOSTS_OF_TWO ? r / 2 : mixed % 7 % nranks;
        group[0][r] = group[1][r] % 2;
        group[2][r] = 2 * group[1][r] + r % 2;
    }
    const weft_algo_topo_t from = {.size = sizeof from,
                                   .nhosts = nranks,
                                   .host = group[1],
                                   .nlevels = spread == SCATTERED ? 3 : 2,
                                   .host_level = 1,
                                   .ngroups = ngroups,
                                   .group = groups};
    return weft_topo_view_init(view, &from, NULL, nranks);
}

/* Powers of two, and at last `most`. */
static inline uint32_t places_next_pack(uint32_t pack, uint32_t most)
{
    return pack < most && 2 * pack > most ? most : 2 * pack;
}

#endif
