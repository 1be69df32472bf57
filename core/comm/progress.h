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

/* Wakes the thread: work was added. Thread: any. */
void weft_progress_kick(void);

#endif
