/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ports that the messages of a p2p queue go through. Each slice goes through the next one, in
 * turn. Devices at the other end may be at slices further on; each port has an order of its own.
 * The caller owns the communicator. */
#ifndef WEFT_COMM_P2P_STRIPES_H
#define WEFT_COMM_P2P_STRIPES_H

#include "core/base/dtype.h"
#include "core/comm/comm.h"
#include "core/comm/stripes_compare.h"
#include "core/exec/port_export.h"

/* Returns the queue's port of the next slice, or NULL while its link is not ready. */
weft_port_t *weft_p2p_stripes_connect(weft_comm_state_t *state, weft_p2p_queue_t *queue);

/* What messages of several stripes need beyond those of one. */
weft_status_t weft_p2p_stripes_begin_all(weft_comm_state_t *state, weft_p2p_queue_t *queue);
weft_status_t weft_p2p_stripes_ask_all(weft_comm_state_t *state, weft_p2p_queue_t *queue);
void weft_p2p_stripes_end_all(weft_p2p_queue_t *queue);

/* Cuts the first message, none of which has gone through a port, and takes the ports from devices,
 * which may have moved the message before it. The port of its first slice is connected.
 * ERR_RESOURCE. */
static inline weft_status_t weft_p2p_stripes_begin(weft_comm_state_t *state,
                                                   weft_p2p_queue_t *queue)
{
    const weft_args_t *args = &queue->first->args;
    if (args->one_sided != WEFT_ONE_SIDED_NONE) {
        queue->cut = (weft_stripes_t){.count = 1, .slice = state->self.family->slot_bytes};
        weft_port_fetch(queue->port);
        return WEFT_OK;
    }
    queue->cut = weft_comm_stripes(state, args->count * weft_dtype_bytes(args->dtype));
    if (state->self.family->kernel.stripes > 1) {
        weft_stripes_note(state, queue->first, queue->first->sequence);
    }
    if (queue->cut.count > 1) {
        return weft_p2p_stripes_begin_all(state, queue);
    }
    weft_port_fetch(queue->port);
    return WEFT_OK;
}

/* Asks for all stripes of the first message, which has begun: a peer's device begins when it has
 * all of them. Returns the failure of a link. */
static inline weft_status_t weft_p2p_stripes_ask(weft_comm_state_t *state, weft_p2p_queue_t *queue)
{
    return queue->cut.count > 1 ? weft_p2p_stripes_ask_all(state, queue) : WEFT_OK;
}

/* Goes on to the port of the next slice, behind the one that has just gone. */
static inline void weft_p2p_stripes_next(weft_p2p_queue_t *queue)
{
    if (queue->cut.count > 1) {
        queue->stripe = (queue->stripe + 1) & (queue->cut.count - 1);
        queue->port = queue->stripes[queue->stripe];
    }
}

/* Gives the ports back to devices when all slices of the first message have gone. */
static inline void weft_p2p_stripes_end(weft_p2p_queue_t *queue)
{
    if (queue->cut.count > 1) {
        weft_p2p_stripes_end_all(queue);
    } else {
        weft_port_store(queue->port);
    }
}

/* Returns port i of the first message, which has begun; NULL: not connected. */
static inline weft_port_t *weft_p2p_stripes_port(const weft_p2p_queue_t *queue, uint32_t i)
{
    return queue->cut.count > 1 ? queue->stripes[i] : queue->port;
}

#endif
