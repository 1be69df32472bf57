/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls that wait for other ranks of a communicator without taking it: agreeing, shrinking, making
 * a communicator of some ranks. They go on beside its operations, and where it has failed. What
 * ends them early is weft_comm_abort() of this rank, and where they do not vote weft_comm_revoke()
 * of this rank, or of another one if none was known here when they began. */
#ifndef WEFT_COMM_SIDE_CALLS_H
#define WEFT_COMM_SIDE_CALLS_H

#include "core/comm/comm.h"

/* One such call, in the memory of the thread that makes it. The family's lock guards it. */
typedef struct weft_side_call {
    struct weft_side_call *next;
    weft_family_t *family; /* NULL: not begun; the caller has a reference */
    const char *name;
    bool votes;   /* agree and shrink: one at a time, and a revoke does not end it */
    bool revoked; /* before it began */
    uint64_t comm_id;
    uint32_t rank;            /* in that communicator */
    weft_comm_state_t *child; /* the new communicator that it waits in; NULL: none */
    weft_status_t ended;      /* by which call; OK: by none … */
    int32_t by;               /* … of which rank of that communicator; −1: not known … */
    char why[64];             /* … in words */
} weft_side_call_t;

/* Begins a call `name` on the communicator. ERR_STATE: it votes, and another thread is inside one
 * that does. Thread: any, here and below. */
weft_status_t weft_side_call_begin(weft_side_call_t *call, const weft_comm_identity_t *self,
                                   const char *name, bool votes);
void weft_side_call_end(weft_side_call_t *call);

/* Says that it waits in the new communicator, which fails when the call is ended. NULL: not any
 * more. */
void weft_side_call_wait_in(weft_side_call_t *call, weft_comm_state_t *child);

/* True if the call was ended early. The caller holds the family's lock. */
static inline bool weft_side_call_has_ended(const weft_side_call_t *call)
{
    return call->ended != WEFT_OK;
}
/* The error of a call that was ended early, and its status. */
weft_status_t weft_side_call_raise(const weft_side_call_t *call);

/* This rank, `by` of the communicator, has called `name` on it, which ends all with ERR_ABORTED, or
 * those that do not vote with ERR_REVOKED. The caller holds the family's lock. */
void weft_side_calls_stop(weft_family_t *family, uint64_t comm_id, weft_status_t status, int32_t by,
                          const char *name);
/* Tells the others of a revoke by this rank, whose number in the communicator is error->peer. They
 * hear it where the communicator has failed, too: its failure is told once, with the first reason,
 * so this is a word of its own. The caller holds the family's lock. */
void weft_side_calls_tell_revoke(weft_family_t *family, uint64_t comm_id,
                                 const weft_error_t *error);
/* Hears such a word of rank `by`, which came under this id. The caller holds the family's lock. */
void weft_side_calls_hear_revoke(weft_family_t *family, uint64_t id, int32_t by);
/* Returns the rank that ended the call with `status`, or −1. */
int32_t weft_side_call_ended_by(const weft_side_call_t *call, weft_status_t status);

/* The name of the call of the communicator that votes, or NULL. */
const char *weft_side_calls_voting(const weft_comm_identity_t *self);

#endif
