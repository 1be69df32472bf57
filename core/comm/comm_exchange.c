/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See comm_exchange.h. */
#include "core/comm/comm_exchange.h"

#include "core/comm/engine.h"

weft_status_t weft_comm_exchange(weft_comm_state_t *state, uint32_t root, const void *mine,
                                 uint64_t bytes, void *all)
{
    weft_request_t request = {.handle = state->self.handle,
                              .args = {.send = mine,
                                       .recv = all,
                                       .count = bytes,
                                       .coll = WEFT_ALL_GATHER,
                                       .dtype = WEFT_UINT8,
                                       .root = root},
                              .state = WEFT_OP_QUEUED,
                              .status = WEFT_IN_PROGRESS,
                              .deadline = WEFT_NEVER,
                              .timeout = state->self.family->settings.boot.init_timeout};
    weft_submit(state, &request);
    weft_engine_drive(state, &request);
    return request.status;
}
