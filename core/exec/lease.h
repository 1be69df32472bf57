/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Host memory of one rank that other ranks of the process read. The list of the process says what is
 * lent, so that no address from a message is ever believed. Whoever reads says so first, so that the
 * owner can end it at any time, also when its peers know nothing of the failure that made it. */
#ifndef WEFT_EXEC_LEASE_H
#define WEFT_EXEC_LEASE_H

#include <stdatomic.h>
#include <stdbool.h>

#include <weft/types.h>

typedef struct weft_lent weft_lent_t;

/* One reader's, in a line of its own. */
typedef struct weft_lease {
    _Atomic uint32_t reads; /* 1 while it does */
    uint32_t pad;
    weft_lent_t *lent;
    uint8_t line[48];
} weft_lease_t;

_Static_assert(sizeof(weft_lease_t) == 64, "a line");

/* What is lent: window `index` of rank `owner` in communicator `comm_id`. */
typedef struct weft_lent_name {
    uint64_t comm_id;
    uint32_t owner, index;
} weft_lent_name_t;

/* Lends memory to at most `nranks` ranks. ERR_RESOURCE. Thread: any, as for all of these. */
weft_status_t weft_lend(const weft_lent_name_t *name, void *memory, uint64_t bytes, uint32_t nranks,
                        weft_lent_t **lent_p);
/* Ends it, when nobody reads any more: blocks for the time of one slice. NULL is allowed. */
void weft_lend_end(weft_lent_t *lent);

/* Rank `reader`'s lease of what this process lends under that name, or NULL. */
weft_lease_t *weft_lease_take(const weft_lent_name_t *name, uint32_t reader, uint8_t **memory_p,
                              uint64_t *bytes_p);
void weft_lease_give(weft_lease_t *lease);

/* Around reading. False: it has ended. */
bool weft_lease_enter(weft_lease_t *lease);
static inline void weft_lease_leave(weft_lease_t *lease)
{
    atomic_store_explicit(&lease->reads, 0, memory_order_release);
}

#endif
