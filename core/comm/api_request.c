/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Entry points for requests of asynchronous operations. */
#include "core/base/error.h"
#include "core/comm/call.h"
#include "core/comm/engine.h"
#include "core/comm/handle.h"

/* Frees a request that is done; its error becomes the thread's. */
static weft_status_t request_end(weft_comm_state_t *state, weft_request_t **request_p)
{
    weft_status_t status = (*request_p)->status;
    if (status < 0 && weft_comm_has_failed(state)) {
        weft_comm_failure(state);
    }
    weft_request_free(*request_p);
    *request_p = NULL;
    return status;
}

static weft_status_t request_enter(weft_request_t **request_p, const char *call,
                                   weft_comm_state_t **state_p)
{
    if (request_p == NULL || *request_p == NULL) {
        return weft_api_error(call, weft_fail(WEFT_ERR_ARG, 0, "%s: the request is NULL", call));
    }
    if (!(*request_p)->appended) {
        return weft_api_error(
            call,
            weft_fail(WEFT_ERR_STATE, 0, "%s: the operation begins with weft_group_end()", call));
    }
    weft_status_t status = weft_comm_enter((*request_p)->handle, call, state_p);
    return status == WEFT_OK ? status : weft_api_error(call, status);
}

weft_status_t weft_request_test(weft_request_t **request_p)
{
    weft_comm_state_t *state;
    weft_status_t status = request_enter(request_p, "weft_request_test", &state);
    if (status != WEFT_OK) {
        return status;
    }
    if ((*request_p)->state != WEFT_OP_DONE) {
        weft_engine_step(state);
    }
    status = (*request_p)->state == WEFT_OP_DONE ? request_end(state, request_p) : WEFT_IN_PROGRESS;
    weft_comm_leave(state);
    return status;
}

weft_status_t weft_request_wait(weft_request_t **request_p)
{
    weft_comm_state_t *state;
    weft_status_t status = request_enter(request_p, "weft_request_wait", &state);
    if (status != WEFT_OK) {
        return status;
    }
    weft_engine_drive(state, *request_p);
    status = request_end(state, request_p);
    weft_comm_leave(state);
    return status;
}
