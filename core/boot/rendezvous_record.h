/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A file of the rendezvous, and what it says of its writer. */
#ifndef WEFT_BOOT_RENDEZVOUS_RECORD_H
#define WEFT_BOOT_RENDEZVOUS_RECORD_H

#include "core/boot/join_request.h"
#include "core/boot/wire.h"

/* Of a note, and of the file of a rank that waits for it: then the id is zeros. */
typedef struct weft_rendezvous_record {
    uint8_t id[WEFT_UNIQUE_ID_BYTES];
    uint8_t writer[WEFT_WIRE_JOIN_REQUEST];
    uint8_t parent[4]; /* pid of the writer's parent */
    uint8_t judged[8]; /* milliseconds of the wall clock; 0: no verdict */
    uint8_t verdict[WEFT_WIRE_ERROR];
} weft_rendezvous_record_t;

/* What a file says of its writer. */
typedef enum weft_rendezvous_writer {
    WEFT_WRITER_LIVES, /* or cannot be seen from here */
    WEFT_WRITER_DIED,  /* a process of an older job, or one that was started long before us */
    WEFT_RANK_DIED     /* a process of this job */
} weft_rendezvous_writer_t;

/* Whether the process of `writer` can be seen by this one, `self`. */
bool weft_rendezvous_is_here(const weft_join_request_t *self, const weft_join_request_t *writer);
/* Whether the writer of the record was started by the same parent at about the same time. */
bool weft_rendezvous_is_sibling(const weft_join_request_t *self,
                                const weft_rendezvous_record_t *record,
                                const weft_join_request_t *writer);
/* Fills *writer. */
weft_rendezvous_writer_t weft_rendezvous_judge(const weft_join_request_t *self,
                                               const weft_rendezvous_record_t *record,
                                               weft_join_request_t *writer);

#endif
