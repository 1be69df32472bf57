/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The way of an operation into its queue. */
#include "core/comm/submit.h"

void weft_submit_number(weft_comm_state_t *state, weft_request_t *request)
{
    weft_assert_owner(state);
    request->sequence = request->args.coll == WEFT_SEND_RECV
                            ? weft_p2p_next_sequence(&state->p2p, request)
                            : ++state->queue.sequence;
}

void weft_submit_insert(weft_comm_state_t *state, weft_request_t *request)
{
    weft_assert_owner(state);
    request->appended = true;
    if (request->args.coll == WEFT_SEND_RECV) {
        weft_p2p_append(&state->p2p, request);
    } else {
        weft_queue_insert(&state->queue, request);
    }
}

void weft_submit(weft_comm_state_t *state, weft_request_t *request)
{
    weft_submit_number(state, request);
    weft_submit_insert(state, request);
}
