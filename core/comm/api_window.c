/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Entry points for windows. */
#include "core/base/error.h"
#include "core/comm/call.h"
#include "core/comm/comm_window.h"
#include "core/comm/group.h"
#include "core/comm/handle.h"

static weft_status_t window_check_memory(const void *memory, uint64_t bytes,
                                         weft_window_t **window_p)
{
    if (memory == NULL || window_p == NULL || bytes == 0) {
        return weft_fail(WEFT_ERR_ARG, 0, "weft_window_register: %s",
                         memory == NULL     ? "the memory is NULL"
                         : window_p == NULL ? "the place for the window is NULL"
                                            : "a window has at least 1 byte");
    }
    if (weft_memory_wraps(memory, bytes)) {
        return weft_fail(WEFT_ERR_ARG, 0,
                         "weft_window_register: the memory wraps around the address space");
    }
    return WEFT_OK;
}

weft_status_t weft_window_register(weft_comm_t *comm, void *memory, uint64_t bytes,
                                   weft_window_t **window_p)
{
    weft_comm_state_t *state;
    weft_status_t status = window_check_memory(memory, bytes, window_p);
    if (status == WEFT_OK) {
        status = weft_group_refuse("weft_window_register");
    }
    if (status == WEFT_OK) {
        status = weft_comm_enter(comm, "weft_window_register", &state);
    }
    if (status != WEFT_OK) {
        return weft_api_error("window", status);
    }
    bool logged = weft_comm_has_failed(state);
    if (logged) {
        status = weft_comm_failure(state);
    } else {
        status = weft_comm_open_window(state, memory, bytes, window_p);
        logged = weft_comm_has_failed(state);
    }
    weft_comm_leave(state);
    return status == WEFT_OK || logged ? status : weft_api_error("window", status);
}

weft_status_t weft_window_deregister(weft_comm_t *comm, weft_window_t *window)
{
    weft_comm_state_t *state;
    weft_status_t status = weft_group_refuse("weft_window_deregister");
    if (status == WEFT_OK) {
        status = weft_comm_enter(comm, "weft_window_deregister", &state);
    }
    if (status != WEFT_OK) {
        return weft_api_error("window", status);
    }
    uint32_t number = window != NULL ? weft_window_find(&state->windows, window) : 0;
    bool logged = weft_comm_has_failed(state);
    if (window != NULL && number == WEFT_LANES_WINDOWS) {
        status = weft_fail(WEFT_ERR_ARG, 0,
                           "weft_window_deregister: no window of this communicator, or ended "
                           "before");
    } else if (window != NULL) {
        status = weft_comm_close_window(state, window);
        logged = weft_comm_has_failed(state);
    }
    weft_comm_leave(state);
    return status == WEFT_OK || logged ? status : weft_api_error("window", status);
}
