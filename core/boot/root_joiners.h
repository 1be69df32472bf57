/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections of the root whose first message is awaited.
 *
 * Thread: the root's. Nothing blocks. */
#ifndef WEFT_BOOT_ROOT_JOINERS_H
#define WEFT_BOOT_ROOT_JOINERS_H

#include "core/boot/root_table.h"

typedef struct weft_root_joiner {
    int fd; /* −1: free */
    uint32_t rank;
    uint32_t bytes;
    uint8_t frame[WEFT_ROOT_REQUEST];
} weft_root_joiner_t;

typedef struct weft_root_joiners {
    weft_root_joiner_t *list; /* they hold the secret, so there may be as many as want */
    uint32_t room;
} weft_root_joiners_t;

/* Tells all of them the failure of the join: they hold the secret, whoever they are. */
void weft_root_joiners_tell(const weft_root_joiners_t *joiners, const weft_root_table_t *table);
/* Closes all connections. */
void weft_root_joiners_fini(weft_root_joiners_t *joiners);
/* Returns a free joiner, or NULL without memory. Others may move. */
weft_root_joiner_t *weft_root_joiners_make(weft_root_joiners_t *joiners);
/* True: it came late and has given up this connection, of which it did not know that it stands. */
bool weft_root_joiner_lives(const weft_root_joiner_t *joiner);

#endif
