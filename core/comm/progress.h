/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The progress thread: one per process, for asynchronous operations and those in streams. */
#ifndef WEFT_COMM_PROGRESS_H
#define WEFT_COMM_PROGRESS_H

#include "core/comm/comm.h"

/* From attach to detach the progress thread advances the communicator while no user is inside a
 * call. Attaching again does nothing. ERR_RESOURCE. Thread: the owner. */
weft_status_t weft_progress_attach(weft_comm_state_t *state);
/* Ends the thread with its last member. Thread: the owner, so the thread has let go of it. */
void weft_progress_detach(weft_comm_state_t *state);

/* What the thread has to do for a communicator when its owner leaves it. */
typedef enum weft_progress_need {
    WEFT_PROGRESS_NOTHING = 0,
    WEFT_PROGRESS_SOON, /* look after it now and then: what is under way goes on without the host */
    WEFT_PROGRESS_NOW
} weft_progress_need_t;

/* Thread: the owner. */
weft_progress_need_t weft_progress_need(const weft_comm_state_t *state);

/* Wakes the thread: work was left behind. A system call only if the thread sleeps; where it is
 * needed soon, only if it sleeps for longer than a nap. Thread: any. */
void weft_progress_kick(weft_progress_need_t need);

#endif
