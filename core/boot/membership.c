/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Membership: states, the tree that follows from them, and whom this rank waits for. */
#include "core/boot/membership.h"

#include "core/base/error.h"
#include "core/os/os.h"

weft_status_t weft_membership_init(weft_membership_t *membership, uint32_t rank, uint32_t nranks)
{
    *membership = (weft_membership_t){.rank = rank, .nranks = nranks};
    membership->states = weft_os_alloc(nranks * sizeof *membership->states, 0);
    membership->since = weft_os_alloc(nranks * sizeof *membership->since, 0);
    membership->breaks = weft_os_alloc(nranks * sizeof *membership->breaks, 0);
    membership->doubts = weft_os_alloc(nranks * sizeof *membership->doubts, 0);
    if (membership->states == NULL || membership->since == NULL || membership->breaks == NULL ||
        membership->doubts == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "out of memory for %u ranks", nranks);
    }
    return WEFT_OK;
}

size_t weft_membership_bytes_per_rank(void)
{
    const weft_membership_t *none = NULL;
    return sizeof *none->states + sizeof *none->since + sizeof *none->breaks + sizeof *none->doubts;
}

void weft_membership_fini(weft_membership_t *membership)
{
    weft_os_free(membership->states);
    weft_os_free(membership->since);
    weft_os_free(membership->breaks);
    weft_os_free(membership->doubts);
}

static bool membership_is_gone(const weft_membership_t *membership, uint32_t rank)
{
    return membership->states[rank] == WEFT_MEMBER_LEFT ||
           membership->states[rank] == WEFT_MEMBER_DEAD;
}

uint32_t weft_membership_parent(const weft_membership_t *membership, uint32_t rank)
{
    uint32_t at = rank;
    while (at > 0) {
        at = weft_tree_parent(at);
        if (membership->states[at] == WEFT_MEMBER_LIVE) {
            return at;
        }
    }
    at = membership->lowest;
    while (at < rank && membership->states[at] != WEFT_MEMBER_LIVE) {
        at++;
    }
    return at < rank ? at : rank;
}

uint32_t weft_membership_next_hop(const weft_membership_t *membership, uint32_t target)
{
    uint32_t me = membership->rank, at = target;
    for (;;) {
        uint32_t parent = weft_membership_parent(membership, at);
        if (parent == me) {
            return at;
        }
        if (parent == at) {
            return weft_membership_parent(membership, me);
        }
        at = parent;
    }
}

static bool membership_is_awaited(const weft_membership_t *membership,
                                  const weft_neighbours_t *neighbours, uint32_t rank)
{
    return membership->states[rank] == WEFT_MEMBER_LIVE && rank != membership->rank &&
           weft_membership_parent(membership, rank) == membership->rank &&
           weft_neighbours_find(neighbours, rank) == NULL;
}

static void membership_doubt(weft_membership_t *membership, uint32_t rank, uint64_t since)
{
    if (membership->since[rank] == 0) {
        membership->since[rank] = since;
        membership->doubts[membership->ndoubts++] = rank;
    }
}

void weft_membership_suspect(weft_membership_t *membership, uint32_t rank, uint64_t since)
{
    membership->states[rank] = WEFT_MEMBER_SUSPECT;
    membership_doubt(membership, rank, since);
}

bool weft_membership_is_unreachable(const weft_membership_t *membership, uint32_t rank)
{
    return membership->states[rank] == WEFT_MEMBER_SUSPECT &&
           (membership->breaks[rank] == WEFT_BREAK_UNREACHABLE ||
            membership->breaks[rank] == WEFT_BREAK_STILL);
}

bool weft_membership_is_away(const weft_membership_t *membership, uint32_t rank)
{
    return weft_membership_is_unreachable(membership, rank) ||
           (membership->states[rank] == WEFT_MEMBER_LIVE &&
            membership->breaks[rank] == WEFT_BREAK_NEW);
}

/* Ranks below `rank` that have no live ancestor below it. */
static void membership_await_below(weft_membership_t *membership,
                                   const weft_neighbours_t *neighbours, uint32_t rank)
{
    for (uint64_t child = 2 * (uint64_t)rank + 1;
         child <= 2 * (uint64_t)rank + 2 && child < membership->nranks; child++) {
        uint32_t at = (uint32_t)child;
        if (membership->states[at] != WEFT_MEMBER_LIVE) {
            membership_await_below(membership, neighbours, at);
        } else if (at != membership->rank && weft_neighbours_find(neighbours, at) == NULL) {
            membership_doubt(membership, at, weft_os_clock_ns());
        }
    }
}

/* Those about whom there is no doubt any more. */
static void membership_drop_doubts(weft_membership_t *membership,
                                   const weft_neighbours_t *neighbours)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < membership->ndoubts; i++) {
        uint32_t rank = membership->doubts[i];
        if (membership->states[rank] == WEFT_MEMBER_SUSPECT ||
            membership_is_awaited(membership, neighbours, rank)) {
            membership->doubts[kept++] = rank;
        } else {
            membership->since[rank] = 0;
        }
    }
    membership->ndoubts = kept;
}

void weft_membership_update(weft_membership_t *membership, const weft_neighbours_t *neighbours)
{
    uint32_t me = membership->rank;
    while (membership->lowest < me && membership_is_gone(membership, membership->lowest)) {
        membership->lowest++;
    }
    membership_drop_doubts(membership, neighbours);
    membership_await_below(membership, neighbours, me);
    if (me > 0 && weft_membership_parent(membership, me) == me) {
        membership_await_below(membership, neighbours, 0);
    }
    membership->awaited = 0;
    membership->suspects = 0;
    for (uint32_t i = 0; i < membership->ndoubts; i++) {
        bool suspect = membership->states[membership->doubts[i]] == WEFT_MEMBER_SUSPECT;
        membership->suspects += suspect;
        membership->awaited += !suspect;
    }
}

void weft_membership_restart_clocks(weft_membership_t *membership, uint64_t now)
{
    for (uint32_t i = 0; i < membership->ndoubts; i++) {
        membership->since[membership->doubts[i]] = now;
    }
}

void weft_membership_hear_again(weft_membership_t *membership, uint64_t now)
{
    for (uint32_t i = 0; i < membership->ndoubts; i++) {
        uint32_t rank = membership->doubts[i];
        if (membership->states[rank] == WEFT_MEMBER_SUSPECT &&
            !weft_membership_is_unreachable(membership, rank)) {
            membership->since[rank] = now;
        }
    }
}
