/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What can be seen of runs from here: their state comes back through memory that both see, so nothing
 * here waits for a stream. */
#include "lanes_run.h"

#define QUIET_NS 2000000u /* nothing moved for so long: ask whether the device is well */

/* Poll --------------------------------------------------------------------------------------------- */

static weft_status_t run_look(weft_lanes_handle_t *handle, uint64_t run, weft_lanes_state_t *state)
{
    weft_status_t status = lanes_image_look(&handle->image, handle->visible, run, state);
    if (run > handle->good && run <= handle->lost) {
        return WEFT_ERR_ABORTED;
    }
    if (status == WEFT_IN_PROGRESS && handle->broken) {
        return handle->kernel->host->set_error(handle->kernel->host, WEFT_ERR_SYSTEM, 0,
                                               "CUDA device %d failed in a run before",
                                               handle->kernel->device);
    }
    return status;
}

/* A device that fails tells only its stream. */
static weft_status_t stream_ask(weft_lanes_handle_t *handle, uint64_t run,
                                weft_lanes_state_t *state)
{
    const weft_kernel_t *kernel = handle->kernel;
    cuda_visit_t visit;
    weft_status_t status = cuda_visit_begin(kernel, &visit);
    if (status != WEFT_OK) {
        return status;
    }
    cudaError_t error = lanes_queue_ask(handle->queue);
    cuda_visit_end(&visit);
    if (error == cudaErrorNotReady || (error == cudaSuccess && run == 0)) {
        return WEFT_IN_PROGRESS;
    }
    /* It may have ended since the last look. */
    status = run_look(handle, run, state);
    if (status != WEFT_IN_PROGRESS) {
        return status;
    }
    handle->broken = true;
    return error != cudaSuccess
               ? cuda_failed(kernel, error, "running a plan")
               : kernel->host->set_error(kernel->host, WEFT_ERR_SYSTEM, 0,
                                         "CUDA device %d ended a plan without its last word",
                                         kernel->device);
}

static weft_status_t lanes_poll(weft_lanes_handle_t *handle, uint64_t run,
                                weft_lanes_state_t *state)
{
    const weft_host_t *host = handle->kernel->host;
    if (run > handle->started || (run == 0 && !handle->recorded)) {
        return host->set_error(host, WEFT_ERR_STATE, 0, "this plan has no run %llu",
                               (unsigned long long)run);
    }
    weft_status_t status = run_look(handle, run, state);
    if (status != WEFT_IN_PROGRESS) {
        lanes_loans_sweep(handle);
        return status;
    }
    const uint64_t now = host->clock_ns(host);
    if (state->moved != handle->moved) {
        handle->moved = state->moved;
        handle->asked_ns = now;
    } else if (now - handle->asked_ns > QUIET_NS) {
        handle->asked_ns = now;
        return stream_ask(handle, run, state);
    }
    return WEFT_IN_PROGRESS;
}

/* Without runs to be told, the word would stop the next one. */
static void lanes_abort(weft_lanes_handle_t *handle)
{
    if (handle->recorded || !lanes_handle_idle(handle)) {
        handle->aborted = true;
        lanes_image_abort(&handle->image, handle->visible);
    }
}

const weft_kernel_lanes_t cuda_lanes = {
    .size = sizeof(weft_kernel_lanes_t),
    .prepare = lanes_prepare,
    .end_open = lanes_end_open,
    .end_close = lanes_end_close,
    .end_next = lanes_end_next,
    .end_seek = lanes_end_seek,
    .queue_open = lanes_queue_open,
    .queue_close = lanes_queue_close,
    .start = lanes_start,
    .records = lanes_records,
    .poll = lanes_poll,
    .abort = lanes_abort,
    .release = lanes_release,
    .gate_put = lanes_gate_put,
    .gate_reached = lanes_gate_reached,
    .gate_pass = lanes_gate_pass,
    .gate_break = lanes_gate_break,
    .end_windows = lanes_end_windows,
};
