/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Buffers of the caller in the device's memory: extension weft.kernel.memory/1. */
#include "buffers.h"

#include <cuda_runtime_api.h>

#include "kernel_cuda.h"

/* The stream of the calling thread: nobody else's work is waited for. */
#define BUFFERS_STREAM cudaStreamPerThread

static weft_status_t no_memory(const weft_kernel_t *kernel, cudaError_t error, uint64_t bytes)
{
    size_t free_bytes = 0, all = 0;
    if (error != cudaErrorMemoryAllocation || cudaMemGetInfo(&free_bytes, &all) != cudaSuccess) {
        return cuda_failed(kernel, error, "allocating memory");
    }
    return kernel->host->set_error(
        kernel->host, WEFT_ERR_RESOURCE, 0,
        "cannot allocate %llu bytes on CUDA device %d, which has %llu of "
        "%llu free; free some, or use smaller buffers",
        (unsigned long long)bytes, kernel->device, (unsigned long long)free_bytes,
        (unsigned long long)all);
}

static weft_status_t buffers_alloc(weft_kernel_t *kernel, uint64_t bytes, void **memory_p)
{
    int previous;
    void *memory = NULL;
    cudaError_t error = cuda_device_enter(kernel, &previous);
    if (error != cudaSuccess) {
        return cuda_failed(kernel, error, "making the device current");
    }
    error = cudaMalloc(&memory, bytes > 0 ? bytes : 1);
    weft_status_t status = error == cudaSuccess ? WEFT_OK : no_memory(kernel, error, bytes);
    if (error == cudaSuccess) {
        error = cudaMemsetAsync(memory, 0, bytes > 0 ? bytes : 1, BUFFERS_STREAM);
        error = error == cudaSuccess ? cudaStreamSynchronize(BUFFERS_STREAM) : error;
        if (error != cudaSuccess) {
            cudaFree(memory);
            status = cuda_failed(kernel, error, "clearing memory");
        }
    }
    cuda_device_leave(previous);
    *memory_p = status == WEFT_OK ? memory : *memory_p;
    return status;
}

static void buffers_free(weft_kernel_t *kernel, void *memory)
{
    int previous;
    if (cuda_device_enter(kernel, &previous) == cudaSuccess) {
        cudaFree(memory);
        cuda_device_leave(previous);
    }
}

static weft_status_t buffers_copy(weft_kernel_t *kernel, void *dst, const void *src, uint64_t bytes)
{
    int previous;
    cudaError_t error = cuda_device_enter(kernel, &previous);
    if (error != cudaSuccess) {
        return cuda_failed(kernel, error, "making the device current");
    }
    error = dst == src ? cudaSuccess
                       : cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDefault, BUFFERS_STREAM);
    error = error == cudaSuccess ? cudaStreamSynchronize(BUFFERS_STREAM) : error;
    cuda_device_leave(previous);
    return error == cudaSuccess ? WEFT_OK : cuda_failed(kernel, error, "copying memory");
}

const weft_kernel_memory_t cuda_buffers = {
    .size = sizeof(weft_kernel_memory_t),
    .alloc = buffers_alloc,
    .free = buffers_free,
    .copy = buffers_copy,
};
