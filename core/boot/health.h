/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The health channel: after the join the control tree belongs to one thread per communicator that
 * always reads. It tells dead (EOF, missing beats) from late, floods verdicts to all ranks, and
 * carries the questions of a rank that waits. */
#ifndef WEFT_BOOT_HEALTH_H
#define WEFT_BOOT_HEALTH_H

#include "core/base/signature.h"
#include "core/boot/boot.h"

/* Calls from the health thread; they must not block. */
typedef struct weft_health_events {
    /* The communicator has failed: a rank died, left in the middle, aborted, or reported an error.
     * Called at most once. `error` is complete: status, culprit, its host and pid, text. */
    void (*failed)(void *arg, const weft_error_t *error);
    /* Rank `from` waits for us in operation `theirs`. */
    void (*asked)(void *arg, uint32_t from, const weft_signature_t *theirs);
    /* A rank left in order (destroyed its communicator) after `sequence` operations. */
    void (*left)(void *arg, uint32_t rank, uint64_t sequence);
} weft_health_events_t;

/* Hands the control connections to the health thread. */
weft_status_t weft_health_start(weft_boot_t *boot, const weft_health_events_t *events, void *arg);

/* Tells all ranks that this rank's communicator failed with `error`. Thread: any. Never blocks. */
void weft_health_report(weft_boot_t *boot, const weft_error_t *error);
/* Asks rank `peer` (through the tree) to compare `mine` with its own operation. Thread: any. */
void weft_health_ask(weft_boot_t *boot, uint32_t peer, const weft_signature_t *mine);
/* Tells all ranks that this rank leaves in order after `sequence` operations. Thread: any. */
void weft_health_goodbye(weft_boot_t *boot, uint64_t sequence);

#endif
