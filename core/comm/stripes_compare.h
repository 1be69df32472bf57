/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether both ends of a message cut it alike. A device begins with a message when all its stripes
 * are connected. If the peer cuts it into fewer ones, it never connects the others, and no slice
 * is there whose signature could tell. So a rank that waits for stripes asks its peer over the
 * health channel, and who finds a difference fails the communicator, with both cuts. */
#ifndef WEFT_COMM_STRIPES_COMPARE_H
#define WEFT_COMM_STRIPES_COMPARE_H

#include "core/comm/comm.h"

/* Notes how this rank cuts message `sequence` to or from a peer, for questions of that. Only the
 * last one of each direction is known. Thread: the owner. */
void weft_stripes_note(weft_comm_state_t *state, const weft_request_t *request, uint64_t sequence);

/* Asks the peer of message `sequence`, if that has several stripes, to compare. Thread: the
 * owner. */
void weft_stripes_ask(const weft_comm_state_t *state, const weft_request_t *request,
                      uint64_t sequence);

/* Notes messages that are linked by `next`, have no numbers yet and wait for stripes, and asks
 * their peers, but no more often than ten times a second. Thread: the owner. */
void weft_stripes_ask_all(weft_comm_state_t *state, const weft_request_t *first);

/* Compares the message that rank `from` asks about with what was noted of it. Thread: any. */
void weft_stripes_compare(weft_comm_state_t *state, uint32_t from, const weft_signature_t *theirs);

#endif
