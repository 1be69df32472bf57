/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a mapped port knows of the pool that its slots come from (slot_pool.h). */
#ifndef WEFT_EXEC_SLOT_STORE_H
#define WEFT_EXEC_SLOT_STORE_H

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
    uint64_t swept;                  /* when idle ports were looked for last */
    struct weft_mapped_port *oldest; /* ports that hold payloads, in order of their first commit */
    struct weft_mapped_port *newest;
} weft_slot_pool_t;

/* What a port asks of its pool (slot_pool.c). */
typedef struct weft_slot_store_ops {
    /* Commits what a payload of `bytes` in the next slot of a sending port needs. ERR_RESOURCE,
     * with the peer. */
    weft_status_t (*commit)(struct weft_mapped_port *port, uint64_t bytes);
    /* Takes a port that goes away out of the pool. */
    void (*leave)(struct weft_mapped_port *port);
} weft_slot_store_ops_t;

/* Where the slots of a sending port come from; part of the port. All zero: they are committed. */
typedef struct weft_slot_store {
    weft_slot_pool_t *pool; /* NULL: everything is committed from the beginning */
    const weft_slot_store_ops_t *ops;
    const weft_net_map_t *map;
    weft_net_conn_t *conn;
    uint64_t small_at;             /* offset of the small area in the connection's memory */
    uint64_t slots_at;             /* offset of the slots */
    uint64_t *room;                /* per slot: bytes that are committed */
    uint64_t held;                 /* sum of them */
    uint64_t seen;                 /* messages at the last look for idle ports */
    struct weft_mapped_port *next; /* in the pool's list */
    bool small_ready;              /* the small area is committed */
    bool listed;
} weft_slot_store_t;

#endif
