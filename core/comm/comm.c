/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What every operation may do to its communicator: fail it, open its device's queue, poll its
 * transports. */
#include "core/comm/comm.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/base/error.h"

void weft_comm_fail(weft_comm_state_t *state, int32_t peer)
{
    weft_error_t *error = weft_error_record();
    weft_assert_owner(state);
    if (peer >= 0) {
        error->peer = peer;
        snprintf(error->transport, sizeof error->transport, "%s",
                 weft_links_transport(state->links, (uint32_t)peer));
    }
    if (error->sequence == 0) {
        const weft_queue_t *queue = &state->queue;
        error->sequence = queue->first != NULL ? queue->first->sequence : queue->sequence;
    }
    weft_failure_set(&state->failure, &state->self, error, true);
}

void weft_comm_mismatch(weft_comm_state_t *state, uint32_t peer, const weft_signature_t *mine,
                        const weft_signature_t *theirs)
{
    char field[128];
    weft_signature_diff(mine, theirs, field, sizeof field);
    weft_fail(WEFT_ERR_MISMATCH, 0,
              "operation %" PRIu32 " differs between rank %u (here) and rank %u (there): %s",
              mine->sequence, state->self.rank, peer, field);
    weft_error_record()->sequence = mine->sequence;
    weft_comm_fail(state, (int32_t)peer);
}

weft_status_t weft_comm_open_device_queue(weft_comm_state_t *state)
{
    const weft_family_kernel_t *kernel = &state->self.family->kernel;
    weft_assert_owner(state);
    return kernel->lanes == NULL || state->device_queue != NULL
               ? WEFT_OK
               : kernel->lanes->queue_open(kernel->instance, &state->device_queue);
}

weft_status_t weft_comm_poll_transports(weft_comm_state_t *state, bool *moved_p)
{
    weft_assert_owner(state);
    if (!weft_links_have_messages(state->links)) {
        return WEFT_OK;
    }
    weft_status_t status = weft_links_poll(state->links);
    return status == WEFT_OK ? weft_links_flush(state->links, moved_p) : status;
}
