/* SPDX-License-Identifier: BSD-3-Clause
 *
 * While a communicator grows, its members join anew, and the root of that join does not know of
 * those that have not come yet. A watch tells it when the communicator fails, so that nobody waits
 * for a member that is dead. */
#ifndef WEFT_COMM_GROW_WATCH_H
#define WEFT_COMM_GROW_WATCH_H

#include <weft/weft.h>

typedef struct weft_grow_watch weft_grow_watch_t;

typedef struct weft_grow_watch_setup {
    weft_comm_t *comm; /* that grows; lives longer than the watch */
    const weft_unique_id_t *id;
    uint32_t nranks;        /* of the grown communicator */
    uint32_t rank;          /* of the caller there */
    const uint32_t *number; /* per member: its rank there */
    uint32_t members;
    uint64_t until; /* when the call that grows is to end */
} weft_grow_watch_setup_t;

/* Starts to watch, in a thread; what `setup` points to stays until the end. ERR_RESOURCE,
 * ERR_SYSTEM. */
weft_status_t weft_grow_watch_start(const weft_grow_watch_setup_t *setup,
                                    weft_grow_watch_t **watch_p);
/* Ends it; blocks for some milliseconds, or as long as a connection to the root takes, at most
 * until setup->until. NULL is allowed. */
void weft_grow_watch_end(weft_grow_watch_t *watch);

/* Tells the root, which is in the process that made the tickets, that the join will not come to an
 * end, and why: `failure`, whose peer is a member, or −1 where it is the caller. Speaks for that
 * rank, which may have come or not. Blocks until setup->until if the root does not answer. */
void weft_grow_speak(const weft_grow_watch_setup_t *setup, const weft_error_t *failure);

#endif
