/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The progress thread: one per process, for asynchronous operations and those in streams. */
#ifndef WEFT_COMM_PROGRESS_H
#define WEFT_COMM_PROGRESS_H

#include "core/comm/comm.h"

/* From attach to detach the progress thread advances the communicator while no user is inside a
 * call. Attaching again does nothing. ERR_RESOURCE. Thread: the owner. */
weft_status_t weft_progress_attach(weft_comm_state_t *state);
/* Blocks until the thread has let go of the communicator; ends the thread with its last member. */
void weft_progress_detach(weft_comm_state_t *state);

/* Returns whether the thread has to go on with the communicator when its owner leaves it. Thread:
 * the owner. */
bool weft_progress_is_needed(const weft_comm_state_t *state);

/* Wakes the thread: work was left behind. A system call only if the thread sleeps. Thread: any. */
void weft_progress_kick(void);

#endif
