/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An index of links by peer and channel: a hash table with chains. Its memory is proportional to
 * the links that exist, not to ranks. */
#ifndef WEFT_EXEC_LINK_TABLE_H
#define WEFT_EXEC_LINK_TABLE_H

#include <weft/types.h>

/* Embedded in what the table holds. */
typedef struct weft_link_node {
    struct weft_link_node *next; /* of the chain */
    uint32_t peer, channel;
} weft_link_node_t;

/* All zero: empty. */
typedef struct weft_link_table {
    weft_link_node_t **chains;
    uint32_t nchains; /* 0, or a power of two */
    uint32_t count;
} weft_link_table_t;

/* Returns the node of a peer and channel, or NULL. */
weft_link_node_t *weft_link_table_find(const weft_link_table_t *table, uint32_t peer,
                                       uint32_t channel);
/* Adds a node whose peer and channel are set and not in the table yet. ERR_RESOURCE. */
weft_status_t weft_link_table_add(weft_link_table_t *table, weft_link_node_t *node);
/* Frees the chains. The nodes are the caller's. */
void weft_link_table_fini(weft_link_table_t *table);

#endif
