/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Deadlock diagnosis across communicators. Two ranks that block in two communicators in opposite
 * order wait for each other, and neither communicator alone can see why. A rank that is asked for
 * an operation which it has not begun answers where it waits instead; the asking rank puts that
 * into its error. */
#ifndef WEFT_COMM_DEADLOCK_H
#define WEFT_COMM_DEADLOCK_H

#include "core/comm/history.h"
#include "core/comm/identity.h"

/* Of one communicator. */
typedef struct weft_deadlock {
    _Atomic uint32_t stuck_on; /* rank of the family that the operation waits for */
    _Atomic uint64_t stuck_at; /* when this rank last asked it; 0: never */
    weft_os_mutex_t lock;      /* guards the rest */
    weft_answer_t answer;
    char here[WEFT_COMM_NAME_BYTES], there[WEFT_COMM_NAME_BYTES]; /* names; "": not known here */
    uint32_t answered_by;                                         /* rank of the communicator */
    uint64_t answered_at;                                         /* 0: never */
} weft_deadlock_t;

/* Asks rank `peer`, which the current operation waits for, what it does. Thread: the owner. */
void weft_deadlock_ask(weft_deadlock_t *deadlock, const weft_comm_identity_t *self, uint32_t peer,
                       const weft_signature_t *mine);

/* True if an operation of this communicator waited for a peer a moment ago. Thread: any. */
bool weft_deadlock_is_stuck(const weft_deadlock_t *deadlock);

/* Fills the answer of a communicator that is stuck, from its history. Thread: any. */
void weft_deadlock_tell(const weft_deadlock_t *deadlock, weft_history_t *history, uint64_t comm_id,
                        weft_answer_t *answer);

/* Keeps the answer of rank `from`, and how this rank calls its communicator and that of the answer
 * ("": it is in no such one). Thread: any. */
void weft_deadlock_note_answer(weft_deadlock_t *deadlock, uint32_t from,
                               const weft_answer_t *answer, const char *here, const char *there);

/* Writes the peer's recent answer as the end of a sentence that named the peer; "" if there is
 * none. Returns `text`. */
const char *weft_deadlock_text(weft_deadlock_t *deadlock, const weft_comm_identity_t *self,
                               int32_t peer, char *text, size_t bytes);

#endif
