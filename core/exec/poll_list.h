/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ports of a communicator that an idle poll has to visit: those with slots to post, with a
 * proxy, or with a broken connection. All others cost a poll nothing, however many links there
 * are. The thread that owns the communicator owns the list. */
#ifndef WEFT_EXEC_POLL_LIST_H
#define WEFT_EXEC_POLL_LIST_H

#include "core/exec/port_base.h"

/* A port's place in the list. */
typedef struct weft_poll_entry {
    struct weft_poll_entry *next;
    weft_port_t *port;
    bool listed;
} weft_poll_entry_t;

typedef struct weft_poll_list {
    weft_poll_entry_t *first, *last;
} weft_poll_list_t;

/* Appends an entry, unless it is listed. Its port must leave the list before it ends. */
void weft_poll_list_add(weft_poll_list_t *list, weft_poll_entry_t *entry);
/* Takes an entry off the list, if it is listed. Linear in the length of the list. */
void weft_poll_list_remove(weft_poll_list_t *list, weft_poll_entry_t *entry);

/* Calls flush() of every listed port, also behind one that broke, and drops those that have
 * nothing left to do. Sets *moved_p if a proxy passed something on. Returns OK, or the failure
 * of the first broken port and its peer in *peer_p. */
weft_status_t weft_poll_list_flush(weft_poll_list_t *list, bool *moved_p, uint32_t *peer_p);

#endif
