/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Prepared programs: their memory and their release. */
#include "lanes_handle.h"

#include <string.h>
#include <time.h>

#include "cuda_device.h"
#include "cuda_memory.h"
#include "cuda_pool.h"
#include "lanes_types.h"
#include "lanes_poll.h"
#include "lanes_retained.h"
#include "lanes_seeks.h"

#define RELEASE_NS 100000000u /* for runs under way to end */

/* Memory --------------------------------------------------------------------------------------- */

static void handle_free(weft_lanes_handle_t *handle)
{
    weft_kernel_t *kernel = handle->kernel;
    lanes_seeks_remove(handle);
    lanes_retained_release_all(handle);
    cuda_device_free(kernel, handle->device);
    cuda_device_free(kernel, handle->run.tmp);
    cuda_device_free(kernel, handle->run.ports);
    if (handle->visible != NULL) {
        cuda_mapped_free(kernel, handle->visible);
    }
    kernel->host->free(kernel->host, handle->aimed);
    kernel->host->free(kernel->host, handle);
}

/* The program, and zeros behind it. */
static weft_status_t handle_upload(weft_lanes_handle_t *handle, const weft_lanes_program_t *program)
{
    const lanes_image_t *image = &handle->image;
    const weft_host_t *host = handle->kernel->host;
    uint8_t *fixed = host->alloc(host, image->fixed_bytes, 128);
    if (fixed == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    lanes_image_write(image, program, fixed);
    weft_status_t status = cuda_device_zero(handle->kernel, handle->device, image->device_bytes);
    if (status == WEFT_OK) {
        status = cuda_device_write(handle->kernel, handle->device, fixed, image->fixed_bytes);
    }
    host->free(host, fixed);
    return status;
}

/* Prepare -------------------------------------------------------------------------------------- */

/* All lanes of all ranks must be on the device at once: they wait for each other. */
static weft_status_t handle_check_lanes(weft_kernel_t *kernel, const weft_lanes_program_t *program)
{
    uint32_t sharers;
    const uint32_t most = cuda_device_blocks(kernel, &sharers);
    return (uint64_t)program->channels * program->nlanes <= most
               ? WEFT_OK
               : kernel->host->set_error(
                     kernel->host, WEFT_ERR_UNSUPPORTED, 0,
                     "a plan of %u lanes on %u channels: CUDA device %d holds %u blocks of %u "
                     "threads at once, and %u ranks share it; lower plan.channels",
                     program->nlanes, program->channels, kernel->device, kernel->facts.max_blocks,
                     kernel->threads, sharers);
}

static weft_status_t handle_fill(weft_lanes_handle_t *handle, const weft_lanes_program_t *program)
{
    weft_kernel_t *kernel = handle->kernel;
    const lanes_image_t *image = &handle->image;
    void *device = NULL;
    handle->aimed = kernel->host->alloc(
        kernel->host, (lanes_image_nports(program) + 1) * sizeof *handle->aimed, 0);
    handle->visible = cuda_mapped_alloc(kernel, image->visible_bytes);
    if (handle->aimed == NULL || handle->visible == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    memset(handle->visible, 0, image->visible_bytes);
    lanes_image_reset(image, handle->visible);
    weft_status_t status = cuda_device_alloc(kernel, image->device_bytes, &device);
    handle->device = device;
    if (status == WEFT_OK) {
        lanes_image_bind(image, &handle->run, handle->device, handle->visible);
        status = handle_upload(handle, program);
    }
    if (status == WEFT_OK) {
        lanes_seeks_add(handle);
    }
    return status;
}

static weft_status_t handle_make(weft_kernel_t *kernel, const weft_lanes_program_t *program,
                                 weft_lanes_handle_t **handle_p)
{
    char why[160];
    weft_status_t status = handle_check_lanes(kernel, program);
    if (status != WEFT_OK) {
        return status;
    }
    weft_lanes_handle_t *handle = kernel->host->alloc(kernel->host, sizeof *handle, 0);
    if (handle == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    handle->kernel = kernel;
    handle->slot_bytes = UINT64_MAX;
    if (!lanes_image_plan(&handle->image, program, why, sizeof why)) {
        kernel->host->free(kernel->host, handle);
        return kernel->host->set_error(kernel->host, WEFT_ERR_UNSUPPORTED, 0,
                                       "kernel-cuda cannot run this plan: %s", why);
    }
    status = handle_fill(handle, program);
    if (status != WEFT_OK) {
        handle_free(handle);
        return status;
    }
    *handle_p = handle;
    return WEFT_OK;
}

weft_status_t lanes_prepare(weft_kernel_t *kernel, const weft_lanes_program_t *program,
                            weft_lanes_handle_t **handle_p)
{
    cuda_guard_t guard;
    if (!kernel->facts.same_address) {
        return kernel->host->set_error(kernel->host, WEFT_ERR_UNSUPPORTED, 0,
                                       "CUDA device %d sees registered host memory at another "
                                       "address; plans run on the host",
                                       kernel->device);
    }
    weft_status_t status = cuda_guard_enter(kernel, &guard);
    if (status == WEFT_OK) {
        status = handle_make(kernel, program, handle_p);
        cuda_guard_leave(&guard);
    }
    return status;
}

/* End ------------------------------------------------------------------------------------------ */

/* Runs that wait behind others see the word when they begin. */
static bool handle_end_runs(weft_lanes_handle_t *handle)
{
    const weft_host_t *host = handle->kernel->host;
    const struct timespec nap = {.tv_nsec = 50000};
    const uint64_t begin = host->clock_ns(host);
    lanes_image_abort(&handle->image, handle->visible);
    while (!lanes_poll_idle(handle) && host->clock_ns(host) - begin < RELEASE_NS) {
        weft_lanes_state_t state = {.size = sizeof state};
        weft_status_t status = lanes_poll(handle, handle->started, &state);
        (void)status; /* that the device failed is noted */
        nanosleep(&nap, NULL);
    }
    return lanes_poll_idle(handle);
}

void lanes_release(weft_lanes_handle_t *handle)
{
    cuda_guard_t guard;
    if (handle == NULL) {
        return;
    }
    weft_kernel_t *kernel = handle->kernel;
    if (!handle_end_runs(handle)) {
        /* It may wait behind work of the application; what it will touch cannot be freed. */
        kernel->host->log(kernel->host, WEFT_LOG_WARN,
                          "a plan on CUDA device %d does not end; its memory is left to it",
                          kernel->device);
        return;
    }
    if (cuda_guard_enter(kernel, &guard) == WEFT_OK) {
        handle_free(handle);
        cuda_guard_leave(&guard);
    }
}
