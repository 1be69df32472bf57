/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The list of ports with work. */
#include "core/exec/poll_list.h"

void weft_poll_list_add(weft_poll_list_t *list, weft_poll_entry_t *entry)
{
    if (entry->listed) {
        return;
    }
    entry->next = NULL;
    entry->listed = true;
    if (list->last != NULL) {
        list->last->next = entry;
    } else {
        list->first = entry;
    }
    list->last = entry;
}

/* `before` is the entry in front of `entry`, or NULL. */
static void poll_list_unlink(weft_poll_list_t *list, weft_poll_entry_t *before,
                             weft_poll_entry_t *entry)
{
    if (before != NULL) {
        before->next = entry->next;
    } else {
        list->first = entry->next;
    }
    if (list->last == entry) {
        list->last = before;
    }
    entry->listed = false;
}

void weft_poll_list_remove(weft_poll_list_t *list, weft_poll_entry_t *entry)
{
    weft_poll_entry_t *before = NULL;
    if (!entry->listed) {
        return;
    }
    for (weft_poll_entry_t *at = list->first; at != entry; at = at->next) {
        weft_assert(at != NULL);
        before = at;
    }
    poll_list_unlink(list, before, entry);
}

weft_status_t weft_poll_list_flush(weft_poll_list_t *list, bool *moved_p, uint32_t *peer_p)
{
    weft_status_t first = WEFT_OK;
    weft_poll_entry_t *before = NULL;
    for (weft_poll_entry_t *entry = list->first; entry != NULL;) {
        weft_port_t *port = entry->port;
        weft_poll_entry_t *next = entry->next;
        weft_status_t status = port->ops->flush(port, moved_p);
        if (status == WEFT_OK) {
            poll_list_unlink(list, before, entry);
        } else {
            before = entry;
        }
        if (status < 0 && first == WEFT_OK) {
            first = status;
            *peer_p = port->peer;
        }
        entry = next;
    }
    return first;
}
