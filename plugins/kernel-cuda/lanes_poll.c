/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The state of runs. It is read from memory that host and device see, so that no call waits for a
 * stream. */
#include "lanes_poll.h"

#include "cuda_device.h"
#include "cuda_errors.h"
#include "lanes_order.h"
#include "lanes_retained.h"

#define QUIET_NS 2000000u /* nothing moved for so long: ask whether the device is well */

bool lanes_poll_idle(const weft_lanes_handle_t *handle)
{
    const lanes_image_t *image = &handle->image;
    return handle->broken || (lanes_image_ended(image, handle->visible) >= handle->started &&
                              !lanes_image_in_graph(image, handle->visible));
}

static weft_status_t poll_look(weft_lanes_handle_t *handle, uint64_t run, weft_lanes_state_t *state)
{
    weft_status_t status = lanes_image_poll(&handle->image, handle->visible, run, state);
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
static weft_status_t poll_ask_stream(weft_lanes_handle_t *handle, uint64_t run,
                                     weft_lanes_state_t *state)
{
    const weft_kernel_t *kernel = handle->kernel;
    cuda_guard_t guard;
    weft_status_t status = cuda_guard_enter(kernel, &guard);
    if (status != WEFT_OK) {
        return status;
    }
    cudaError_t error = lanes_order_query(handle->queue);
    cuda_guard_leave(&guard);
    if (error == cudaErrorNotReady || (error == cudaSuccess && run == 0)) {
        return WEFT_IN_PROGRESS;
    }
    /* It may have ended since the last look. */
    status = poll_look(handle, run, state);
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

weft_status_t lanes_poll(weft_lanes_handle_t *handle, uint64_t run, weft_lanes_state_t *state)
{
    const weft_host_t *host = handle->kernel->host;
    if (run > handle->started || (run == 0 && !handle->captured)) {
        return host->set_error(host, WEFT_ERR_STATE, 0, "this plan has no run %llu",
                               (unsigned long long)run);
    }
    weft_status_t status = poll_look(handle, run, state);
    if (status != WEFT_IN_PROGRESS) {
        lanes_retained_reclaim(handle);
        return status;
    }
    const uint64_t now = host->clock_ns(host);
    if (state->moved != handle->moved) {
        handle->moved = state->moved;
        handle->asked_ns = now;
    } else if (now - handle->asked_ns > QUIET_NS) {
        handle->asked_ns = now;
        return poll_ask_stream(handle, run, state);
    }
    return WEFT_IN_PROGRESS;
}

/* Without runs to be told, the word would stop the next one. */
void lanes_abort(weft_lanes_handle_t *handle)
{
    if (handle->captured || !lanes_poll_idle(handle)) {
        handle->aborted = true;
        lanes_image_abort(&handle->image, handle->visible);
    }
}
