/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections of the tree before the health thread owns them: bounded sending and receiving that
 * notices the failure of any neighbour, and the spreading of failures.
 *
 * A connection that breaks while both ends live is made again (link_renewal.h), and every frame is
 * taken exactly once: over the new connection the child first says, by AGAIN, from which exchange
 * on it has not taken the parent's frames; the parent answers by the same of the child's frames;
 * and each end sends all that it has kept (tree_record.h) from there on. What was taken in part is
 * taken anew. A child that has joined says no AGAIN: it has taken all. A parent that has joined
 * answers as any other (control_frames.h). */
#ifndef WEFT_BOOT_TREE_LINK_H
#define WEFT_BOOT_TREE_LINK_H

#include "core/boot/tree_record.h"
#include "core/boot/wire.h"

/* Sends a record, which is kept. Blocks until the kernel has it, or the other end has asked for it
 * over a new connection and the kernel has that. `what` names the step in errors. ERR_PEER_DEAD,
 * ERR_PEER_UNRESPONSIVE, ERR_LINK (the connection breaks again and again), ERR_TIMEOUT,
 * ERR_RESOURCE, or the failure that a neighbour reports. */
weft_status_t weft_tree_link_send(weft_boot_t *boot, weft_tree_link_t *link, const char *what,
                                  const weft_tree_record_t *record, uint64_t until);
/* Receive the header of the next frame of an exchange, and `bytes` of its payload. Block until then
 * or `until`, and watch the other neighbours meanwhile, so that a failure anywhere ends the wait.
 * AGAIN: the connection broke; the frame begins anew with its header. As above, and ERR_PROTO with
 * the bad field in *why, for the header only and with no error record. */
weft_status_t weft_tree_link_next(weft_boot_t *boot, weft_tree_link_t *link, const char *what,
                                  uint64_t until, weft_frame_t *frame, const char **why);
weft_status_t weft_tree_link_recv(weft_boot_t *boot, weft_tree_link_t *link, const char *what,
                                  void *data, size_t bytes, uint64_t until);

/* The payload of a FAIL frame becomes the calling thread's error record. Returns its status. */
weft_status_t weft_tree_adopt_failure(const weft_boot_t *boot,
                                      const uint8_t payload[WEFT_WIRE_ERROR], uint32_t from);
/* Sends the calling thread's error record to all neighbours, at most once. */
void weft_tree_spread_failure(weft_boot_t *boot);
/* The same for a failure of this rank's own: they hear that this rank gave up, and why. The record
 * stays as it is. */
void weft_tree_give_up(weft_boot_t *boot);

#endif
