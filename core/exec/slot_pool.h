/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of mapped FIFOs that comes by need. The shared memory of two ranks is mapped as a whole,
 * but only the control words and slot headers are committed from the beginning. A sender commits
 * the slots that it is about to write for the first time, and it alone: the receiver reads only
 * what was written. A pool counts what the senders of a communicator have committed. When a
 * commit would exceed its limit, ports whose messages are all consumed give their slots back
 * first; no message is needed for that, as nobody reads them. The limit is soft: what is in use
 * is never taken away, and segmentation keeps one plan below it.
 *
 * The thread that owns the communicator makes all calls. */
#ifndef WEFT_EXEC_SLOT_POOL_H
#define WEFT_EXEC_SLOT_POOL_H

#include <stdbool.h>

#include <weft/plugin/net.h>

/* Payloads up to this size have an area of their own, so that small messages touch one page per
 * port and not one per slot. */
#define WEFT_SLOT_SMALL 1024u

struct weft_mapped_port;

typedef struct weft_slot_pool {
    uint64_t limit;     /* bytes; 0: none */
    uint64_t committed; /* bytes of payloads that this rank's senders hold now */
    uint64_t peak;
    uint64_t given_back;             /* bytes so far */
    struct weft_mapped_port *oldest; /* ports that hold payloads, in order of their first commit */
    struct weft_mapped_port *newest;
} weft_slot_pool_t;

/* Where the slots of a sending port come from; part of the port. All zero: they are committed. */
typedef struct weft_slot_store {
    weft_slot_pool_t *pool; /* NULL: everything is committed from the beginning */
    const weft_net_map_t *map;
    weft_net_conn_t *conn;
    uint64_t small_at;             /* offset of the small area in the connection's memory */
    uint64_t slots_at;             /* offset of the slots */
    uint64_t *room;                /* per slot: bytes that are committed */
    uint64_t held;                 /* sum of them */
    struct weft_mapped_port *next; /* in the pool's list */
    bool small_ready;              /* the small area is committed */
    bool listed;
} weft_slot_store_t;

/* Makes the port take its slots from the pool. The area for small payloads is at `small_at` in the
 * memory of `conn`, the slots at `slots_at`. ERR_RESOURCE. */
weft_status_t weft_slot_pool_join(weft_slot_pool_t *pool, struct weft_mapped_port *port,
                                  const weft_slot_store_t *store);

/* Commits what a payload of `bytes` in the next slot of a sending port needs. ERR_RESOURCE, with
 * the peer. */
weft_status_t weft_slot_pool_commit(struct weft_mapped_port *port, uint64_t bytes);

/* Takes a port that goes away out of the pool. Does nothing if it is in none. */
void weft_slot_pool_leave(struct weft_mapped_port *port);

#endif
