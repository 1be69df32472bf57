/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The way of one collective through the communicator, blocking or asynchronous, and requests. */
#include "core/comm/call.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"

weft_status_t weft_api_error(const char *call, weft_status_t status)
{
    weft_log(WEFT_LOG_ERROR, call, "%s: %s", weft_status_name(status), weft_error_record()->text);
    return status;
}

static bool is_async(const weft_call_t *call)
{
    return call != NULL && call->request_p != NULL;
}

static void request_init(weft_comm_state_t *state, weft_request_t *request, const weft_args_t *args,
                         const weft_call_t *call)
{
    request->handle = state->handle;
    request->args = *args;
    request->state = WEFT_OP_QUEUED;
    request->status = WEFT_IN_PROGRESS;
    request->sequence = ++state->sequence;
    request->timeout = state->settings.exec.op_timeout;
    if (call != NULL && call->timeout != 0) {
        request->timeout = call->timeout;
    }
    /* A blocking call that never waits pays for no clock reading: look_around sets both. */
    request->deadline = WEFT_NEVER;
    request->started = 0;
    atomic_store_explicit(&request->done, 0, memory_order_relaxed);
    if (call != NULL && call->scalar != NULL) {
        memcpy(request->scalar, call->scalar, weft_dtype_size(args->dtype));
    }
}

static weft_status_t start_async(weft_comm_state_t *state, const weft_args_t *args,
                                 const weft_call_t *call)
{
    weft_request_t *request = weft_os_alloc(sizeof *request, 0);
    if (request == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot start an asynchronous call");
    }
    weft_status_t status = weft_progress_attach(state);
    if (status != WEFT_OK) {
        weft_os_free(request);
        return status;
    }
    request_init(state, request, args, call);
    request->started = weft_os_clock_ns();
    request->deadline = weft_os_deadline(request->timeout);
    weft_engine_append(state, request);
    *call->request_p = request;
    return WEFT_OK;
}

static weft_status_t run_blocking(weft_comm_state_t *state, const weft_args_t *args,
                                  const weft_call_t *call)
{
    weft_request_t request;
    request_init(state, &request, args, call);
    weft_engine_append(state, &request);
    weft_engine_drive(state, &request);
    return request.status;
}

weft_status_t weft_comm_call(weft_comm_t *comm, const weft_args_t *args, const weft_call_t *call)
{
    weft_comm_state_t *state;
    const char *name = weft_coll_name(args->coll);
    weft_status_t status = weft_comm_enter(comm, name, &state);
    if (status != WEFT_OK) {
        return weft_api_error("comm", status);
    }
    if (weft_comm_has_failed(state)) {
        status = weft_comm_failure(state); /* logged when it happened */
        weft_comm_leave(state);
        return status;
    }
    status = weft_args_check(state, args, call);
    if (status != WEFT_OK) {
        weft_comm_leave(state);
        return weft_api_error("comm", status);
    }
    bool async = is_async(call);
    status = async ? start_async(state, args, call) : run_blocking(state, args, call);
    bool logged = weft_comm_has_failed(state);
    weft_comm_leave(state);
    if (async && status == WEFT_OK) {
        weft_progress_kick();
    }
    return status == WEFT_OK || logged ? status : weft_api_error("comm", status);
}

/* Requests ----------------------------------------------------------------------------------------- */

/* The request is done: its error becomes the thread's, and it is gone. */
static weft_status_t request_end(weft_comm_state_t *state, weft_request_t **request_p)
{
    weft_status_t status = (*request_p)->status;
    if (status < 0 && weft_comm_has_failed(state)) {
        weft_comm_failure(state);
    }
    weft_os_free(*request_p);
    *request_p = NULL;
    return status;
}

static weft_status_t request_enter(weft_request_t **request_p, const char *call,
                                   weft_comm_state_t **state_p)
{
    if (request_p == NULL || *request_p == NULL) {
        return weft_api_error(call, weft_fail(WEFT_ERR_ARG, 0, "%s: the request is NULL", call));
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
