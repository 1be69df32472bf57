/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The claim of a unique id: a connection to the root that a rank holds from the moment it has the
 * id until all ranks have it. Its end tells the root that the rank died, and the rank that the
 * root's process did. A reset is no end: the rank claims the id once more, and the root tells it
 * what it may have missed. */
#ifndef WEFT_BOOT_CLAIM_H
#define WEFT_BOOT_CLAIM_H

#include "core/boot/join_request.h"

typedef struct weft_claim {
    int fd;
    uint32_t again; /* it was made again so often, after a reset */
    weft_id_t id;
    weft_join_request_t self;
    uint64_t comm_id;
    uint32_t rank, nranks;
    uint32_t got;
    bool releases;    /* weft_claim_release() was called */
    bool others_told; /* of the failure that weft_claim_wait() returned, so nobody will ask */
    uint8_t message[WEFT_WIRE_MOST];
} weft_claim_t;

/* Connects and says who we are. Blocks until that is done, at most until `until`. ERR_LINK: nobody
 * listens; else as weft_connector_run(). */
weft_status_t weft_claim_open(weft_claim_t *claim, const weft_id_t *id,
                              const weft_join_request_t *self, uint64_t until);
/* Waits until all have claimed. Returns OK; IN_PROGRESS at `until`; the failure that the root
 * tells; ERR_LINK: the connection ended without a word. May take 1.5 s longer after a reset. */
weft_status_t weft_claim_wait(weft_claim_t *claim, uint64_t until);
/* Rank 0, after weft_claim_wait(): the note is gone, the others may return. Waits until the root
 * has heard it and let the claim go. Returns OK, also if the root has ended; the failure that it
 * told in between, of which it will not speak again; TIMEOUT. */
weft_status_t weft_claim_release(weft_claim_t *claim, uint64_t until);
/* Tells the root, and so all, the calling thread's error. */
void weft_claim_fail(const weft_claim_t *claim);
/* For a program that starts the ranks of a job and holds their id: process `pid` on this host,
 * which was to be `rank` of `nranks`, has ended. The root names it to all that are still joining;
 * without this it would miss the rank until init_timeout if that had not reached it. Does nothing
 * if the ranks have joined. Blocks for half a second at most. */
void weft_claim_report_death(const weft_unique_id_t *id, uint32_t nranks, uint32_t rank,
                             int32_t pid);
/* For a process that has the id: the join will not come to an end, and the calling thread's error
 * says why. The root hears it from `rank` of `nranks`, whether that has come
 * or not; nobody may have spoken for it before. Does nothing if the join has ended or failed.
 * Blocks until `until` at most. */
void weft_claim_report_failure(const weft_unique_id_t *id, uint32_t nranks, uint32_t rank,
                               uint64_t until);
/* After weft_claim_open(), whatever it returned. */
void weft_claim_close(weft_claim_t *claim);

#endif
