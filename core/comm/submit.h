/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The way of an operation into its queue. The caller owns the communicator. */
#ifndef WEFT_COMM_SUBMIT_H
#define WEFT_COMM_SUBMIT_H

#include "core/comm/comm.h"

/* Idle steps between two looks at the clock: a look costs about as much as a step. */
#define WEFT_STEPS_PER_LOOK 64u

/* Gives the operation its sequence number. weft_p2p_open() has been called for messages. */
void weft_submit_number(weft_comm_state_t *state, weft_request_t *request);
/* Lets a numbered operation progress, in the order of the numbers. */
void weft_submit_insert(weft_comm_state_t *state, weft_request_t *request);
/* Does both. */
void weft_submit(weft_comm_state_t *state, weft_request_t *request);

/* Makes the next idle step look at the clock. */
static inline void weft_submit_look_soon(weft_comm_state_t *state)
{
    state->queue.steps |= WEFT_STEPS_PER_LOOK - 1;
    state->p2p.steps |= WEFT_STEPS_PER_LOOK - 1;
}

#endif
