/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The way of an operation into the communicator: blocking, asynchronous, in a stream, in a
 * group. */
#include "core/comm/call.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/prefetch.h"
#include "core/comm/args_check.h"
#include "core/comm/engine.h"
#include "core/comm/group.h"
#include "core/comm/handle.h"
#include "core/comm/p2p.h"
#include "core/comm/progress.h"
#include "core/comm/put_signature.h"
#include "core/comm/stream_prepare.h"
#include "core/comm/streams.h"

/* Short calls fetch the beginnings of their buffers ahead (decision 144). Copies of less than
 * CALL_FETCH_LEAST have their few misses at once; behind CALL_FETCH_BYTES the processor's own
 * prefetcher has seen the stream. An output of CALL_FETCH_MOST and more may be written by its peers
 * (core/exec/landing.h). */
#define CALL_FETCH_LEAST 512u
#define CALL_FETCH_MOST (8u << 10)
#define CALL_FETCH_BYTES 1024u

weft_status_t weft_api_error(const char *object, weft_status_t status)
{
    weft_log(WEFT_LOG_ERROR, object, "%s: %s", weft_status_name(status), weft_error_record()->text);
    return status;
}

static bool call_is_patient(const weft_call_t *call)
{
    return call->patience > 0 && call->request_p != NULL;
}

/* Begins an operation and waits for it as long as its call allows: a caller that has to look after
 * something else from time to time pays for the progress thread, and for the reader of a queue,
 * only where it waits long. Where there can be no such thread, it waits like a blocking call. */
static weft_status_t call_run_patiently(weft_comm_state_t *state, const weft_call_t *call,
                                        weft_request_t *request)
{
    weft_completion_state_t *queue = weft_async_leave_queue(request->async);
    weft_submit(state, request);
    weft_engine_drive_async(state, request->async, weft_os_deadline(call->patience));
    if (!weft_async_is_done(request->async) && weft_progress_attach(state) == WEFT_OK) {
        weft_async_rejoin_queue(request->async, queue);
        return WEFT_OK;
    }
    weft_engine_drive(state, request);
    weft_async_give_up_queue(request->async, queue);
    return weft_request_end(call->request_p);
}

static weft_status_t call_start_async(weft_comm_state_t *state, const weft_args_t *args,
                                      const weft_call_t *call)
{
    weft_request_t *request = NULL;
    bool patient = call_is_patient(call);
    weft_status_t status = patient ? WEFT_OK : weft_progress_attach(state);
    status = status == WEFT_OK ? weft_submit_open(state, args) : status;
    if (status == WEFT_OK) {
        status = weft_request_create(&state->self, args, call, &request);
    }
    if (status == WEFT_OK) {
        weft_request_begin(request, weft_os_clock_ns());
        if (call->request_p != NULL) {
            *call->request_p = request;
        }
        if (patient) {
            return call_run_patiently(state, call, request);
        }
        weft_submit(state, request);
    }
    return status;
}

/* Runs an operation that its caller waits for. */
static void call_run(weft_comm_state_t *state, weft_request_t *request)
{
    weft_submit_number(state, request);
    if (request->args.coll != WEFT_SEND_RECV || !weft_p2p_run_at_once(state, request)) {
        weft_submit_insert(state, request);
        weft_engine_drive(state, request);
    }
}

static weft_status_t call_run_blocking(weft_comm_state_t *state, const weft_args_t *args,
                                       const weft_call_t *call)
{
    weft_request_t request;
    weft_status_t status = weft_request_fill(&state->self, &request, args, call);
    status = status == WEFT_OK ? weft_submit_open(state, args) : status;
    if (status != WEFT_OK) {
        return status;
    }
    call_run(state, &request);
    weft_os_free(request.vectors);
    return request.status;
}

static weft_status_t call_start_in_stream(weft_comm_state_t *state, const weft_args_t *args,
                                          const weft_call_t *call)
{
    weft_request_t *request = NULL;
    weft_status_t status = weft_progress_attach(state);
    status = status == WEFT_OK ? weft_streams_open(state) : status;
    status = status == WEFT_OK ? weft_submit_open(state, args) : status;
    if (status == WEFT_OK) {
        status = weft_request_create(&state->self, args, call, &request);
    }
    if (status != WEFT_OK) {
        return status;
    }
    weft_stream_prepare(state, request);
    status = weft_streams_put(state, call->stream, request);
    if (status != WEFT_OK) {
        weft_request_free(request);
    }
    return status;
}

static uint64_t call_fetch_bytes(uint64_t bytes)
{
    return bytes < CALL_FETCH_BYTES ? bytes : CALL_FETCH_BYTES;
}

/* Fetches the beginnings of the buffers of a short call while it is prepared and waits for its
 * peers. */
static void call_fetch_buffers(const weft_comm_state_t *state, const weft_args_t *args)
{
    if (args->send_bytes < CALL_FETCH_LEAST && args->recv_bytes < CALL_FETCH_LEAST) {
        return;
    }
    if (state->self.family->kernel.memory != NULL) {
        return; /* the buffers may be in a device */
    }
    if (args->send_bytes <= CALL_FETCH_MOST) {
        weft_prefetch_to_read(args->send, call_fetch_bytes(args->send_bytes));
    }
    if (args->recv_bytes < CALL_FETCH_MOST) {
        weft_prefetch_to_write(args->recv, call_fetch_bytes(args->recv_bytes));
    }
}

/* Notes the operation in the thread's group, or runs it. */
static weft_status_t call_dispatch(weft_comm_state_t *state, const weft_args_t *args,
                                   const weft_call_t *call, bool grouped)
{
    /* A rank that waits for signals without a window is one to which others may put, too. */
    weft_status_t status =
        args->one_sided != WEFT_ONE_SIDED_NONE ? weft_progress_attach(state) : WEFT_OK;
    if (status != WEFT_OK) {
        return status;
    }
    if (grouped) {
        return weft_group_note(state, args, call);
    }
    if (weft_call_in_stream(call)) {
        return call_start_in_stream(state, args, call);
    }
    return weft_call_is_async(call) ? call_start_async(state, args, call)
                                    : call_run_blocking(state, args, call);
}

/* True if a message of this rank to itself meets its other end. */
static bool call_may_meet_itself(const weft_comm_state_t *state, const weft_args_t *args,
                                 const weft_call_t *call, bool grouped)
{
    return grouped || weft_call_is_async(call) ||
           ((args->root == state->self.rank || args->root == WEFT_ANY_RANK) &&
            weft_p2p_has_other_end(&state->p2p, state->self.rank, args->sends));
}

/* The target judges the length: windows of two ranks may differ. */
static weft_status_t call_check_one_sided(const weft_comm_state_t *state, weft_args_t *args,
                                          const weft_call_t *call)
{
    weft_status_t status = weft_args_check_one_sided(&state->self, args, call);
    if (status != WEFT_OK || args->one_sided == WEFT_ONE_SIDED_WAIT ||
        (args->window == NULL && args->count == 0)) {
        return status;
    }
    if (args->window == NULL || !weft_window_is_known(&state->windows, args->window)) {
        return weft_fail(WEFT_ERR_ARG, 0, "weft_put_signal: %s",
                         args->window == NULL
                             ? "the window is NULL"
                             : "no window of this communicator, or deregistered before");
    }
    if (args->offset > WEFT_PUT_OFFSET_MOST) {
        return weft_fail(WEFT_ERR_ARG, 0,
                         "weft_put_signal: an offset of %" PRIu64 " bytes is beyond every window",
                         args->offset);
    }
    args->target = args->window->name;
    return WEFT_OK;
}

static weft_status_t call_check(weft_comm_state_t *state, weft_args_t *args,
                                const weft_call_t *call, bool grouped)
{
    if (args->one_sided != WEFT_ONE_SIDED_NONE) {
        return call_check_one_sided(state, args, call);
    }
    weft_status_t status =
        weft_args_check(&state->self, &state->user_ops, state->queue.checked, args, call);
    if (status == WEFT_OK && args->coll == WEFT_SEND_RECV) {
        status = weft_args_check_peer(&state->self, args, call,
                                      call_may_meet_itself(state, args, call, grouped));
    }
    return status;
}

/* Brings the caller's options to today's size: fields that an older program does not know are
 * zero. */
static const weft_call_t *call_fill_options(const weft_call_t *call, weft_call_t *full)
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
    const weft_call_t *call = call_fill_options(given, &full);
    weft_status_t status = weft_comm_enter(comm, weft_args_call(args), &state);
    if (status != WEFT_OK) {
        return weft_group_fail(weft_api_error("comm", status));
    }
    if (weft_comm_has_failed(state)) {
        status = weft_comm_failure(state); /* logged when it happened */
        weft_comm_leave(state);
        return weft_group_fail(status);
    }
    bool grouped = weft_group_is_open();
    status = call_check(state, args, call, grouped);
    if (status != WEFT_OK) {
        weft_comm_leave(state);
        return weft_group_fail(weft_api_error("comm", status));
    }
    call_fetch_buffers(state, args);
    status = call_dispatch(state, args, call, grouped);
    bool logged = weft_comm_has_failed(state);
    weft_comm_leave(state);
    return status == WEFT_OK || logged ? status : weft_group_fail(weft_api_error("comm", status));
}
