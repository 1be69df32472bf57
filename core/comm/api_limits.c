/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Entry points of limits. */
#include "core/base/error.h"
#include "core/comm/call.h"
#include "core/comm/handle.h"

weft_status_t weft_comm_set_channels(weft_comm_t *comm, uint32_t most)
{
    weft_comm_state_t *state;
    weft_status_t status = weft_comm_enter(comm, "weft_comm_set_channels", &state);
    if (status != WEFT_OK) {
        return weft_api_error("comm", status);
    }
    const bool called = state->queue.sequence > state->queue.made;
    if (called || state->programs.prepared > state->programs.made) {
        status = weft_fail(
            WEFT_ERR_STATE, 0,
            "weft_comm_set_channels: %s before, and the plans stay; set it first, or make another "
            "communicator",
            called ? "operations were called"
                   : "weft_comm_explain() or weft_comm_predict() made plans");
    } else {
        state->programs.most = most;
    }
    weft_comm_leave(state);
    return status == WEFT_OK ? status : weft_api_error("comm", status);
}
