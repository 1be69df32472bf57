/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The way of one collective through the communicator, blocking or asynchronous, and requests. */
#include "core/comm/call.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/comm/streams.h"

weft_status_t weft_api_error(const char *call, weft_status_t status)
{
    weft_log(WEFT_LOG_ERROR, call, "%s: %s", weft_status_name(status), weft_error_record()->text);
    return status;
}

void weft_request_free(weft_request_t *request)
{
    weft_os_free(request->vectors);
    weft_os_free(request);
}

weft_status_t weft_request_fill(weft_comm_state_t *state, weft_request_t *request,
                                const weft_args_t *args, const weft_call_t *call)
{
    request->handle = state->handle;
    request->args = *args;
    request->state = WEFT_OP_QUEUED;
    request->status = WEFT_IN_PROGRESS;
    request->timeout = state->family->settings.exec.op_timeout;
    if (call != NULL && call->timeout != 0) {
        request->timeout = call->timeout;
    }
    /* A blocking call that never waits pays for no clock reading: the first look sets both. */
    request->deadline = WEFT_NEVER;
    request->started = 0;
    request->late_scalar = NULL;
    request->vectors = NULL;
    request->appended = false;
    request->in_stream = false;
    request->sends = args->coll == WEFT_SEND_RECV && args->sends;
    atomic_store_explicit(&request->done, 0, memory_order_relaxed);
    if (call != NULL && call->scalar != NULL && call->scalar_read == WEFT_SCALAR_AT_RUN) {
        request->late_scalar = call->scalar;
    } else if (call != NULL && call->scalar != NULL) {
        memcpy(request->scalar, call->scalar, weft_dtype_size(args->dtype));
    }
    return weft_coll_has_vectors(args->coll) ? weft_vectors_bind(state, args, &request->vectors)
                                             : WEFT_OK;
}

weft_status_t weft_request_create(weft_comm_state_t *state, const weft_args_t *args,
                                  const weft_call_t *call, weft_request_t **request_p)
{
    weft_request_t *request = weft_os_alloc(sizeof *request, 0);
    if (request == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot allocate an operation");
    }
    weft_status_t status = weft_request_fill(state, request, args, call);
    if (status != WEFT_OK) {
        weft_os_free(request);
        return status;
    }
    *request_p = request;
    return WEFT_OK;
}

static weft_status_t start_async(weft_comm_state_t *state, const weft_args_t *args,
                                 const weft_call_t *call)
{
    weft_request_t *request = NULL;
    weft_status_t status = weft_progress_attach(state);
    if (status == WEFT_OK && args->coll == WEFT_SEND_RECV) {
        status = weft_p2p_open(state);
    }
    if (status == WEFT_OK) {
        status = weft_request_create(state, args, call, &request);
    }
    if (status == WEFT_OK) {
        request->started = weft_os_clock_ns();
        request->deadline = weft_os_deadline(request->timeout);
        weft_engine_append(state, request);
        *call->request_p = request;
    }
    return status;
}

static weft_status_t run_blocking(weft_comm_state_t *state, const weft_args_t *args,
                                  const weft_call_t *call)
{
    weft_request_t request;
    weft_status_t status = weft_request_fill(state, &request, args, call);
    if (status == WEFT_OK && args->coll == WEFT_SEND_RECV) {
        status = weft_p2p_open(state);
    }
    if (status != WEFT_OK) {
        return status;
    }
    weft_engine_append(state, &request);
    weft_engine_drive(state, &request);
    weft_os_free(request.vectors);
    return request.status;
}

weft_status_t weft_comm_exchange(weft_comm_state_t *state, uint32_t root, const void *mine,
                                 uint64_t bytes, void *all)
{
    weft_request_t request = {.handle = state->handle,
                              .args = {.send = mine,
                                       .recv = all,
                                       .count = bytes,
                                       .coll = WEFT_ALL_GATHER,
                                       .dtype = WEFT_UINT8,
                                       .root = root},
                              .state = WEFT_OP_QUEUED,
                              .status = WEFT_IN_PROGRESS,
                              .deadline = WEFT_NEVER,
                              .timeout = state->family->settings.boot.init_timeout};
    weft_engine_append(state, &request);
    weft_engine_drive(state, &request);
    return request.status;
}

static weft_status_t start_in_stream(weft_comm_state_t *state, const weft_args_t *args,
                                     const weft_call_t *call)
{
    weft_request_t *request = NULL;
    weft_status_t status = weft_stream_open(state);
    if (status == WEFT_OK && args->coll == WEFT_SEND_RECV) {
        status = weft_p2p_open(state);
    }
    if (status == WEFT_OK) {
        status = weft_request_create(state, args, call, &request);
    }
    if (status != WEFT_OK) {
        return status;
    }
    status = weft_stream_put(state, call->stream, request);
    if (status != WEFT_OK) {
        weft_request_free(request);
    }
    return status;
}

/* Notes the operation in the thread's group, or runs it. */
static weft_status_t dispatch(weft_comm_state_t *state, const weft_args_t *args,
                              const weft_call_t *call)
{
    if (weft_group_is_open()) {
        return weft_group_note(state, args, call);
    }
    if (weft_call_in_stream(call)) {
        return start_in_stream(state, args, call);
    }
    return weft_call_is_async(call) ? start_async(state, args, call)
                                    : run_blocking(state, args, call);
}

static weft_status_t check(const weft_comm_state_t *state, weft_args_t *args,
                           const weft_call_t *call)
{
    weft_status_t status = weft_args_check(state, args, call);
    if (status == WEFT_OK && args->coll == WEFT_SEND_RECV) {
        status = weft_p2p_check(state, args, weft_call_is_async(call) || weft_group_is_open());
    }
    return status;
}

/* The caller's options in today's size: what an older program does not know is zero. */
static const weft_call_t *complete(const weft_call_t *call, weft_call_t *full)
{
    if (call == NULL || call->size < WEFT_CALL_LEAST || call->size >= sizeof *full) {
        return call;
    }
    memset(full, 0, sizeof *full);
    memcpy(full, call, call->size);
    return full;
}

weft_status_t weft_comm_call(weft_comm_t *comm, weft_args_t *args, const weft_call_t *given)
{
    weft_comm_state_t *state;
    weft_call_t full;
    const weft_call_t *call = complete(given, &full);
    const char *name = weft_coll_name(args->coll);
    weft_status_t status = weft_comm_enter(comm, name, &state);
    if (status != WEFT_OK) {
        return weft_group_fail(weft_api_error("comm", status));
    }
    if (weft_comm_has_failed(state)) {
        status = weft_comm_failure(state); /* logged when it happened */
        weft_comm_leave(state);
        return weft_group_fail(status);
    }
    status = check(state, args, call);
    if (status != WEFT_OK) {
        weft_comm_leave(state);
        return weft_group_fail(weft_api_error("comm", status));
    }
    status = dispatch(state, args, call);
    bool logged = weft_comm_has_failed(state);
    weft_comm_leave(state);
    bool left_behind = weft_call_is_async(call) || weft_call_in_stream(call);
    if (status == WEFT_OK && left_behind && !weft_group_is_open()) {
        weft_progress_kick();
    }
    return status == WEFT_OK || logged ? status : weft_group_fail(weft_api_error("comm", status));
}

/* Requests ----------------------------------------------------------------------------------------- */

/* The request is done: its error becomes the thread's, and it is gone. */
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
