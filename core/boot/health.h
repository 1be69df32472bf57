/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The health channel: after the join the control tree belongs to one thread per family that always
 * reads. It tells dead ranks from late ones (failure_detector.h), spreads deaths, leaves
 * and failed communicators to all ranks (dissemination.h), repairs the tree (tree_repair.h), and
 * carries the questions of a rank that waits. Ranks here are ranks of the family. */
#ifndef WEFT_BOOT_HEALTH_H
#define WEFT_BOOT_HEALTH_H

#include "core/base/signature.h"
#include "core/boot/boot.h"
#include "core/boot/health_callbacks.h"

/* Makes the health thread, which waits, and what it needs. Comes before the last exchange of the
 * join: if this process cannot have one more thread, all ranks hear of it there. Nothing happens
 * with one rank. ERR_STATE (a second time, or after a failure), ERR_RESOURCE, ERR_SYSTEM. */
weft_status_t weft_health_prepare(weft_boot_t *boot, const weft_health_callbacks_t *callbacks,
                                  void *arg);
/* Hands the control connections to the health thread: no exchange follows. Callbacks may be made
 * before this returns. Nothing happens with one rank. ERR_STATE (not prepared, or after a failure),
 * ERR_RESOURCE, ERR_SYSTEM. */
weft_status_t weft_health_start(weft_boot_t *boot);
/* Leaves the family: tells all ranks and ends the thread. Blocks until the neighbours have heard
 * it, for a second at most where they do not answer, and as long again as their kernels were late
 * to acknowledge it. Where a connection is broken, or the network brings no word through, until the
 * rank behind it is found or declared dead, or stands still and another that stays has our word;
 * boot.unresponsive at most (WEFT_HEALTH_AWAY_NS, if that is 0): a rank that does not hear it would
 * take us for dead.
 * Does nothing a second time, or without a thread that was started. Not from callbacks. */
void weft_health_leave_family(weft_boot_t *boot);
/* Leaves the family, and frees the thread and what it needs. Does nothing if there is none. Not
 * from callbacks. */
void weft_health_stop(weft_boot_t *boot);

/* The calls below may come from any thread, callbacks included, and never wait for a peer, except
 * where they say so. Without
 * a health thread (one rank) they do nothing. */

/* Communicator comm_id begins here. What is known of it already, and of ranks that died or left, is
 * told in callbacks: a communicator may fail, or be left, before the last rank has made it. */
void weft_health_open(weft_boot_t *boot, uint64_t comm_id);
/* Tells all ranks that communicator comm_id failed with `error`, whose culprit is filled in, and
 * who did not come if that is why; `missing` may be NULL. */
void weft_health_report(weft_boot_t *boot, uint64_t comm_id, const weft_error_t *error,
                        const weft_missing_t *missing);
/* Waits until what was said so far, reports above all, is with the system: it reaches the others
 * even if this process ends at once. Takes 1 s at most, if the health thread stands still. Not
 * from callbacks. */
void weft_health_await(weft_boot_t *boot);
/* Asks rank `peer` (through the tree) to compare `mine` with its own operation in comm_id. */
void weft_health_ask(weft_boot_t *boot, uint64_t comm_id, uint32_t peer,
                     const weft_signature_t *mine);
/* Answers rank `peer`, which asked in comm_id. */
void weft_health_answer(weft_boot_t *boot, uint64_t comm_id, uint32_t peer,
                        const weft_answer_t *answer);
/* Tells rank `peer` a word of a consensus. It may be lost while the tree is repaired. */
void weft_health_tell(weft_boot_t *boot, uint64_t consensus, uint32_t peer,
                      const weft_word_t *word);
/* Tells all ranks that this rank leaves comm_id in order, after these operations. */
void weft_health_leave_comm(weft_boot_t *boot, uint64_t comm_id, const weft_leave_t *leave);

#endif
