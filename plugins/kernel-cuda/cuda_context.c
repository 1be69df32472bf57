/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See cuda_context.h. */
#include "cuda_context.h"

#include <string.h>

#include "cuda_driver.h"

void cuda_context_find_driver(cuda_context_driver_t *driver)
{
    void *current = cuda_driver_function("cuCtxGetCurrent", 4000);
    void *set = cuda_driver_function("cuCtxSetCurrent", 4000);
    memcpy(&driver->current, &current, sizeof current); /* ISO C has no cast between them */
    memcpy(&driver->set, &set, sizeof set);
}

/* Returns false where the driver does not tell. */
static bool cuda_context_current(const cuda_context_driver_t *driver, CUcontext *context_p)
{
    return driver->current != NULL && driver->set != NULL &&
           driver->current(context_p) == CUDA_SUCCESS;
}

/* What a failure to go back would mean, the caller's next call tells. */
static void cuda_context_go_back(const cuda_context_t *saved)
{
    if (saved->device < 0) {
        saved->driver->set(saved->caller);
    } else {
        cudaSetDevice(saved->device);
    }
}

/* Clears what the calls inside left, so that a later call does not tell of it. */
static void cuda_context_forget_error(const cuda_context_t *saved)
{
    if (saved->clean) {
        cudaGetLastError();
    }
}

cudaError_t cuda_context_enter(const cuda_context_driver_t *driver, int device,
                               cuda_context_t *saved)
{
    *saved = (cuda_context_t){
        .driver = driver, .device = -1, .clean = cudaPeekAtLastError() == cudaSuccess};
    cudaError_t error = cudaSuccess;
    if (!cuda_context_current(driver, &saved->caller)) {
        error = cudaGetDevice(&saved->device);
    }
    if (error == cudaSuccess) {
        error = cudaSetDevice(device);
    }
    if (error != cudaSuccess) {
        cuda_context_forget_error(saved);
        return error;
    }
    saved->mode = cudaStreamCaptureModeRelaxed;
    if (cudaThreadExchangeStreamCaptureMode(&saved->mode) != cudaSuccess) {
        saved->mode = cudaStreamCaptureModeGlobal;
    }
    return cudaSuccess;
}

void cuda_context_leave(const cuda_context_t *saved)
{
    enum cudaStreamCaptureMode mode = saved->mode;
    cudaError_t error = cudaThreadExchangeStreamCaptureMode(&mode);
    (void)error;
    cuda_context_go_back(saved);
    cuda_context_forget_error(saved);
}
