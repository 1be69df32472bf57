/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The health channel: after the join the control tree belongs to one thread per family that always
 * reads. It tells dead (EOF, missing beats) from late, floods verdicts about ranks and failures of
 * communicators to all ranks, and carries the questions of a rank that waits. Ranks here are ranks of
 * the family, but in the records of failed communicators. */
#ifndef WEFT_BOOT_HEALTH_H
#define WEFT_BOOT_HEALTH_H

#include "core/base/signature.h"
#include "core/boot/boot.h"
#include "core/boot/wire.h"

/* Calls from the health thread; they must not block. */
typedef struct weft_health_callbacks {
    /* A communicator failed elsewhere: a rank of it aborted, or reported an error. `error` is
     * complete: status, culprit, its host and pid, text. */
    void (*failed)(void *arg, uint64_t comm_id, const weft_error_t *error);
    /* Rank error->peer is dead; concerns communicator comm_id if it contains that rank, or all of them
     * if comm_id is 0. The text begins with weft_boot_rank_text(). */
    void (*died)(void *arg, uint64_t comm_id, const weft_error_t *error);
    /* Rank `from` waits for us in operation `theirs` of comm_id. */
    void (*asked)(void *arg, uint64_t comm_id, uint32_t from, const weft_signature_t *theirs);
    /* Rank `from`, which we asked in comm_id, has not come there, and tells where it is. */
    void (*answered)(void *arg, uint64_t comm_id, uint32_t from, const weft_answer_t *answer);
    /* A rank left in order (destroyed the communicator) after `sequence` operations; comm_id 0: it has
     * left the family. */
    void (*left)(void *arg, uint64_t comm_id, uint32_t rank, uint64_t sequence);
} weft_health_callbacks_t;

/* Hands the control connections to the health thread. */
weft_status_t weft_health_start(weft_boot_t *boot, const weft_health_callbacks_t *events,
                                void *arg);

/* The calls below may come from any thread, events included, and never wait for a peer. Without a
 * health channel (one rank) they do nothing. */

/* A communicator begins here: what is known of it already, and of dead and absent ranks, is told in
 * events, as failures and goodbyes may come before the last rank has made it. */
void weft_health_open(weft_boot_t *boot, uint64_t comm_id);
/* Tells all ranks that communicator comm_id failed with `error`, whose culprit is filled in. */
void weft_health_report(weft_boot_t *boot, uint64_t comm_id, const weft_error_t *error);
/* Asks rank `peer` (through the tree) to compare `mine` with its own operation in comm_id. */
void weft_health_ask(weft_boot_t *boot, uint64_t comm_id, uint32_t peer,
                     const weft_signature_t *mine);
/* Answers rank `peer`, which asked in comm_id. */
void weft_health_answer(weft_boot_t *boot, uint64_t comm_id, uint32_t peer,
                        const weft_answer_t *answer);
/* Tells all ranks that this rank leaves comm_id in order after `sequence` operations. */
void weft_health_leave_comm(weft_boot_t *boot, uint64_t comm_id, uint64_t sequence);
/* Tells all ranks that this rank leaves the family. */
void weft_health_leave_family(weft_boot_t *boot);

#endif
