/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The roll call: when an operation has passed its deadline, this rank asks all others over the
 * health channel whether they have begun it, so that the error names all that are missing, and not
 * only the one that it happened to wait for. */
#ifndef WEFT_COMM_ROLL_CALL_H
#define WEFT_COMM_ROLL_CALL_H

#include "core/boot/missing.h"
#include "core/comm/identity.h"
#include "core/comm/peer_status.h"

/* The last one of a communicator. The answers are in the peers' `roll`. */
typedef struct weft_roll_call {
    _Atomic uint32_t sequence; /* of the operation, as in its signature; 0: none */
    _Atomic uint32_t over;     /* answers come too late */
    uint64_t since, asked;
    uint32_t next; /* rank to ask next */
} weft_roll_call_t;

/* Begins the call for the operation, or goes on with it. True: it is over, and this rank should
 * tell the others. Thread: the owner. */
bool weft_roll_call_step(weft_roll_call_t *roll, const weft_comm_identity_t *self,
                         weft_peer_status_t *peers, const weft_signature_t *mine, uint64_t now);

/* Notes the answer of a peer: it has begun operation `sequence`, or has not come to what it was
 * asked for. Thread: the health thread. */
void weft_roll_call_note_begun(weft_roll_call_t *roll, weft_peer_status_t *peer, uint32_t sequence);
void weft_roll_call_note_absent(weft_roll_call_t *roll, weft_peer_status_t *peer);

/* Returns how many ranks are missing, and writes the first `max` of them, in ascending order; 0 if
 * no call is over. Thread: the owner, as for all that follow. */
uint32_t weft_roll_call_missing(const weft_roll_call_t *roll, const weft_comm_identity_t *self,
                                const weft_peer_status_t *peers, uint32_t *ranks, uint32_t max);

/* The same ranks as a list that can be sent; empty if no call is over. */
void weft_roll_call_list(const weft_roll_call_t *roll, const weft_comm_identity_t *self,
                         const weft_peer_status_t *peers, weft_missing_t *list);

/* Returns the rank to blame: `peer`, for which this rank waits, unless only others are missing. */
int32_t weft_roll_call_culprit(const weft_roll_call_t *roll, const weft_comm_identity_t *self,
                               const weft_peer_status_t *peers, int32_t peer);

/* Writes the missing ranks as the end of a sentence that named `peer`; "" if there are none but
 * that one. Returns `text`. */
const char *weft_roll_call_text(const weft_roll_call_t *roll, const weft_comm_identity_t *self,
                                const weft_peer_status_t *peers, int32_t peer, char *text,
                                size_t bytes);

#endif
