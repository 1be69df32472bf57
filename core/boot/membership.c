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
    if (membership->states == NULL || membership->since == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "out of memory for %u ranks", nranks);
    }
    return WEFT_OK;
}

void weft_membership_fini(weft_membership_t *membership)
{
    weft_os_free(membership->states);
    weft_os_free(membership->since);
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
    while (at < rank && membership->states[at] != WEFT_MEMBER_LIVE) {
        at++;
    }
    return at;
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

void weft_membership_update(weft_membership_t *membership, const weft_neighbours_t *neighbours)
{
    uint64_t now = weft_os_clock_ns();
    uint32_t me = membership->rank;
    membership->awaited = 0;
    membership->suspects = 0;
    for (uint32_t i = 0; i < membership->nranks; i++) {
        bool awaited = membership->states[i] == WEFT_MEMBER_LIVE && i != me &&
                       weft_membership_parent(membership, i) == me &&
                       weft_neighbours_find(neighbours, i) == NULL;
        bool suspect = membership->states[i] == WEFT_MEMBER_SUSPECT;
        uint64_t *since = &membership->since[i];
        membership->awaited += awaited;
        membership->suspects += suspect;
        *since = !awaited && !suspect ? 0 : *since != 0 ? *since : now;
    }
}

void weft_membership_restart_clocks(weft_membership_t *membership, uint64_t now)
{
    for (uint32_t i = 0; i < membership->nranks; i++) {
        membership->since[i] = membership->since[i] != 0 ? now : 0;
    }
}
