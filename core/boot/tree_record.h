/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a rank has said over the tree and a neighbour may not have heard. A connection may break
 * with frames on their way; over the next one those are sent again that the other end asks for. So
 * every frame of an exchange is kept until an answer shows that it has arrived.
 *
 * Thread: the one that joins; after weft_health_start() the health thread's. */
#ifndef WEFT_BOOT_TREE_RECORD_H
#define WEFT_BOOT_TREE_RECORD_H

#include "core/boot/boot_state.h"
#include "core/boot/wire.h"

struct weft_tree_record {
    weft_tree_record_t *next; /* sent later */
    uint32_t type;            /* GATHER, to the parent; SPREAD, to all children */
    uint32_t sequence;        /* the number of its exchange */
    size_t bytes;
    uint8_t header[WEFT_WIRE_HEADER];
    uint8_t *payload;
};

/* Makes the record of the exchange that is under way, and keeps it. Its payload is the caller's to
 * fill before the next call. ERR_RESOURCE. */
weft_status_t weft_tree_record_make(weft_boot_t *boot, uint32_t type, size_t bytes, uint64_t number,
                                    weft_tree_record_t **record_p);
/* Forgets those of a type: they have arrived. Of type 0: all. */
void weft_tree_records_drop(weft_boot_t *boot, uint32_t type);
/* The first record, from `record` on, that goes over this link in exchange `least` or later; NULL:
 * none. */
const weft_tree_record_t *weft_tree_record_for(const weft_boot_t *boot,
                                               const weft_tree_link_t *link, uint64_t least,
                                               const weft_tree_record_t *record);

#endif
