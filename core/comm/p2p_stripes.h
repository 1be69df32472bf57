/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ports that the messages of a p2p queue go through. Each slice goes through the next one, in
 * turn. Devices at the other end may be at slices further on; each port has an order of its own.
 * The caller owns the communicator. */
#ifndef WEFT_COMM_P2P_STRIPES_H
#define WEFT_COMM_P2P_STRIPES_H

#include "core/comm/comm.h"

/* Returns the queue's port of the next slice, or NULL while its link is not ready. */
weft_port_t *weft_p2p_stripes_connect(weft_comm_state_t *state, weft_p2p_queue_t *queue);

/* Cuts the first message, none of which has gone through a port. ERR_RESOURCE. */
weft_status_t weft_p2p_stripes_begin(weft_comm_state_t *state, weft_p2p_queue_t *queue);
/* Asks for all stripes of the first message, which has begun: a peer's device begins when it has
 * all of them. Returns the failure of a link. */
weft_status_t weft_p2p_stripes_ask(weft_comm_state_t *state, weft_p2p_queue_t *queue);
/* Goes on to the port of the next slice, behind the one that has just gone. */
static inline void weft_p2p_stripes_next(weft_p2p_queue_t *queue)
{
    if (queue->cut.count > 1) {
        queue->stripe = (queue->stripe + 1) & (queue->cut.count - 1);
        queue->port = queue->stripes[queue->stripe];
    }
}
/* Gives the ports back to devices when all slices of the first message have gone. */
void weft_p2p_stripes_end(weft_p2p_queue_t *queue);

/* Returns port i of the first message, which has begun; NULL: not connected. */
static inline weft_port_t *weft_p2p_stripes_port(const weft_p2p_queue_t *queue, uint32_t i)
{
    return queue->cut.count > 1 ? queue->stripes[i] : queue->port;
}

#endif
