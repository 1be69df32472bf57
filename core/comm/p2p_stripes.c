/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See p2p_stripes.h. */
#include "core/comm/p2p_stripes.h"

#include <errno.h>

#include "core/base/error.h"

/* Stripe 0 may still be a device's, whose messages come before the first of the queue; others are
 * asked for when that has begun. */
static weft_port_t *p2p_stripes_port(weft_comm_state_t *state, const weft_p2p_queue_t *queue,
                                     uint32_t stripe)
{
    weft_port_t *port = weft_links_port(
        state->links, queue->peer, weft_stripe_link(stripe, queue->channel), queue->sends != 0);
    if (port != NULL && stripe > 0) {
        weft_port_fetch(port); /* a device may have used it before */
    }
    return port;
}

weft_port_t *weft_p2p_stripes_connect(weft_comm_state_t *state, weft_p2p_queue_t *queue)
{
    if (queue->port == NULL) {
        queue->port = p2p_stripes_port(state, queue, queue->stripe);
        if (queue->stripes != NULL) {
            queue->stripes[queue->stripe] = queue->port;
        }
    }
    return queue->port;
}

weft_status_t weft_p2p_stripes_ask_all(weft_comm_state_t *state, weft_p2p_queue_t *queue)
{
    if (queue->connected >= queue->cut.count) {
        return WEFT_OK;
    }
    for (uint32_t i = queue->connected; i < queue->cut.count; i++) {
        if (queue->stripes[i] == NULL) {
            queue->stripes[i] = p2p_stripes_port(state, queue, i);
        }
        queue->connected += queue->connected == i && queue->stripes[i] != NULL;
    }
    queue->port = queue->stripes[queue->stripe];
    return queue->connected < queue->cut.count ? weft_links_progress(state->links) : WEFT_OK;
}

static weft_status_t p2p_stripes_allocate(const weft_comm_state_t *state, weft_p2p_queue_t *queue)
{
    uint32_t most = state->self.family->kernel.stripes;
    queue->stripes = weft_os_alloc(most * sizeof(weft_port_t *), 0);
    if (queue->stripes == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate %u stripes to rank %u", most,
                         queue->peer);
    }
    queue->stripes[0] = queue->port;
    return WEFT_OK;
}

weft_status_t weft_p2p_stripes_begin_all(weft_comm_state_t *state, weft_p2p_queue_t *queue)
{
    if (queue->stripes == NULL) {
        weft_status_t status = p2p_stripes_allocate(state, queue);
        if (status != WEFT_OK) {
            queue->cut.count = 1;
            return status;
        }
    }
    for (uint32_t i = 0; i < queue->cut.count; i++) {
        if (queue->stripes[i] != NULL) {
            weft_port_fetch(queue->stripes[i]);
        }
    }
    return weft_p2p_stripes_ask_all(state, queue);
}

void weft_p2p_stripes_end_all(weft_p2p_queue_t *queue)
{
    for (uint32_t i = 0; i < queue->cut.count; i++) {
        if (queue->stripes[i] != NULL) {
            weft_port_store(queue->stripes[i]);
        }
    }
    queue->stripe = 0;
    queue->port = queue->stripes[0];
}
