/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Entry points for windows. */
#include "core/base/error.h"
#include "core/comm/call.h"
#include "core/comm/comm_window.h"
#include "core/comm/group.h"
#include "core/comm/handle.h"
#include "core/comm/progress.h"

static weft_status_t window_check_memory(const char *call, const void *memory, uint64_t bytes,
                                         weft_window_t *const *window_p)
{
    if (memory == NULL || window_p == NULL || bytes == 0) {
        return weft_fail(WEFT_ERR_ARG, 0, "%s: %s", call,
                         memory == NULL     ? "the memory is NULL"
                         : window_p == NULL ? "the place for the window is NULL"
                                            : "a window has at least 1 byte");
    }
    if (weft_memory_wraps(memory, bytes)) {
        return weft_fail(WEFT_ERR_ARG, 0, "%s: the memory wraps around the address space", call);
    }
    return WEFT_OK;
}

/* Makes a window of either kind. Puts may come at any time, which the progress thread takes while
 * nobody else does. */
static weft_status_t window_open(weft_comm_state_t *state, bool local, void *memory, uint64_t bytes,
                                 weft_window_t **window_p)
{
    bool full = !local && weft_window_table_is_full(&state->windows); /* on all ranks */
    weft_status_t status = weft_progress_attach(state);
    if (status == WEFT_OK) {
        status = local ? weft_window_create_local(&state->windows, memory, bytes, window_p)
                       : weft_comm_open_window(state, memory, bytes, window_p);
    }
    bool own = status == WEFT_ERR_RESOURCE || status == WEFT_ERR_SYSTEM;
    if (own && !local && !full && state->self.nranks > 1 && !weft_comm_has_failed(state)) {
        weft_comm_fail(state, -1); /* the others would wait */
        status = weft_comm_failure(state);
    }
    return status;
}

static weft_status_t window_register(const char *call, bool local, weft_comm_t *comm, void *memory,
                                     uint64_t bytes, weft_window_t **window_p)
{
    weft_comm_state_t *state;
    weft_status_t status = window_check_memory(call, memory, bytes, window_p);
    if (status == WEFT_OK) {
        status = weft_group_refuse(call);
    }
    if (status == WEFT_OK) {
        status = weft_comm_enter(comm, call, &state);
    }
    if (status != WEFT_OK) {
        return weft_api_error("window", status);
    }
    bool logged = weft_comm_has_failed(state);
    if (logged) {
        status = weft_comm_failure(state);
    } else {
        status = window_open(state, local, memory, bytes, window_p);
        logged = weft_comm_has_failed(state);
    }
    weft_comm_leave(state);
    return status == WEFT_OK || logged ? status : weft_api_error("window", status);
}

weft_status_t weft_window_register(weft_comm_t *comm, void *memory, uint64_t bytes,
                                   weft_window_t **window_p)
{
    return window_register("weft_window_register", false, comm, memory, bytes, window_p);
}

weft_status_t weft_window_register_local(weft_comm_t *comm, void *memory, uint64_t bytes,
                                         weft_window_t **window_p)
{
    return window_register("weft_window_register_local", true, comm, memory, bytes, window_p);
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
    bool logged = weft_comm_has_failed(state);
    if (window != NULL && !weft_window_is_known(&state->windows, window)) {
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
