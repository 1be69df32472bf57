/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Around calls of the CUDA runtime: the device's primary context is current inside; afterwards the
 * caller's context is current again, and his thread's last error is as it was. The context is
 * saved, not the number of its device: cudaSetDevice() of a device that the caller never used would
 * make a primary context there, of some hundred megabytes, and a caller may have a context of his
 * own.
 *
 * Inside, the capture mode of the thread is relaxed. While the application captures a graph, CUDA
 * refuses calls of other threads that could invalidate the capture. The calls of this plugin
 * cannot: they use streams of its own, or only query. */
#ifndef KERNEL_CUDA_CUDA_CONTEXT_H
#define KERNEL_CUDA_CUDA_CONTEXT_H

#include <stdbool.h>

#include <cuda.h>
#include <cuda_runtime_api.h>

/* Functions of the driver; NULL where it does not have them. */
typedef struct cuda_context_driver {
    CUresult (*current)(CUcontext *context);
    CUresult (*set)(CUcontext context);
} cuda_context_driver_t;

typedef struct cuda_context {
    const cuda_context_driver_t *driver;
    CUcontext caller; /* the caller's context; NULL: none was current */
    int device;       /* the caller's, where the driver tells no contexts; else −1 */
    bool clean;       /* the caller had no last error */
    enum cudaStreamCaptureMode mode;
} cuda_context_t;

void cuda_context_find_driver(cuda_context_driver_t *driver);

/* Makes the device current. On failure nothing has changed. `driver` lives until the leave. */
cudaError_t cuda_context_enter(const cuda_context_driver_t *driver, int device,
                               cuda_context_t *saved);
void cuda_context_leave(const cuda_context_t *saved);

#endif
