/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ids that all members of a communicator compute alike. */
#ifndef WEFT_COMM_CHILD_ID_H
#define WEFT_COMM_CHILD_ID_H

#include <stdint.h>

/* The ways in which communicators are made: each begins its ids in its own way, so that two of one
 * length and with equal numbers differ. */
typedef enum weft_child_kind {
    WEFT_CHILD_SPLIT = 1,
    WEFT_CHILD_GROUP = 2,
    WEFT_CHILD_SHRINK = 3,
    WEFT_CHILD_REVOKE = 4 /* none: the id under which all hear that the parent was revoked */
} weft_child_kind_t;

/* Mixes `value` into `hash`: the finaliser of splitmix64. */
static inline uint64_t weft_split_mix(uint64_t hash, uint64_t value)
{
    uint64_t h = (hash ^ value) + UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    h = (h ^ h >> 27) * UINT64_C(0x94d049bb133111eb);
    return h ^ h >> 31;
}

/* Returns what the ids of the children of `parent` of one kind begin with. */
static inline uint64_t weft_child_base(uint64_t parent, weft_child_kind_t kind)
{
    /* No number of ranks, colours or calls is so large. */
    return weft_split_mix(parent, UINT64_C(0xc411d00000000000) + kind);
}

#endif
