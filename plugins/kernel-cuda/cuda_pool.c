/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See cuda_pool.h. The kernel's device is current in all of it. */
#include "cuda_pool.h"

#include <stdio.h>

#include "cuda_buffers.h"
#include "cuda_errors.h"
#include "cuda_kept.h"
#include "cuda_side.h"

/* What is freed stays in the pool: to unmap memory and map it again takes longer than a message. */
static cudaError_t cuda_pool_make(const weft_kernel_t *kernel, cudaMemPool_t *pool_p)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned};
    uint64_t all = UINT64_MAX;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = kernel->device;
    cudaError_t error = cudaMemPoolCreate(pool_p, &props);
    if (error == cudaSuccess) {
        error = cudaMemPoolSetAttribute(*pool_p, cudaMemPoolAttrReleaseThreshold, &all);
    }
    return error;
}

/* That of an instance before, or a new one. NULL: the driver has none. */
static cudaError_t cuda_pool_open(weft_kernel_t *kernel)
{
    int supported = 0;
    uint64_t none = 0;
    cudaError_t error =
        cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, kernel->device);
    if (error != cudaSuccess || supported == 0) {
        return error;
    }
    kernel->pool = cuda_kept_take(kernel->device, CUDA_KEPT_POOL, &none);
    return kernel->pool != NULL ? cudaSuccess : cuda_pool_make(kernel, &kernel->pool);
}

static weft_status_t cuda_pool_ensure(weft_kernel_t *kernel)
{
    cudaError_t error = cudaSuccess;
    pthread_mutex_lock(&kernel->lock);
    if (kernel->pool_stream == NULL) {
        error = kernel->pool == NULL ? cuda_pool_open(kernel) : error;
        error = error == cudaSuccess ? cuda_stream_urgent(&kernel->pool_stream) : error;
    }
    pthread_mutex_unlock(&kernel->lock);
    return error == cudaSuccess ? WEFT_OK : cuda_failed(kernel, error, "making a pool of memory");
}

static weft_status_t cuda_pool_sync(weft_kernel_t *kernel, cudaError_t error, const char *what)
{
    error = error == cudaSuccess ? cuda_stream_settle(kernel->pool_stream, kernel->host) : error;
    return error == cudaSuccess ? WEFT_OK : cuda_side_failed(kernel, error, what);
}

weft_status_t cuda_device_alloc(weft_kernel_t *kernel, uint64_t bytes, void **memory_p)
{
    char what[64];
    void *memory = NULL;
    weft_status_t status = cuda_pool_ensure(kernel);
    if (status != WEFT_OK || kernel->pool == NULL) {
        return status != WEFT_OK ? status : cuda_buffers.alloc(kernel, bytes, memory_p);
    }
    snprintf(what, sizeof what, "allocating %llu bytes for a plan", (unsigned long long)bytes);
    cudaError_t error = cudaMallocFromPoolAsync(&memory, bytes, kernel->pool, kernel->pool_stream);
    status = cuda_pool_sync(kernel, error, what);
    if (status == WEFT_OK) {
        *memory_p = memory;
    } else if (error == cudaSuccess) {
        cuda_device_free(kernel, memory);
    }
    return status;
}

void cuda_device_free(weft_kernel_t *kernel, void *memory)
{
    cudaError_t error = cudaSuccess;
    if (memory != NULL && kernel->pool == NULL) {
        cuda_buffers.free(kernel, memory);
    } else if (memory != NULL) {
        error = cudaFreeAsync(memory, kernel->pool_stream);
    }
    (void)error;
}

void cuda_pool_release(weft_kernel_t *kernel, void *memory)
{
    weft_status_t status = cuda_pool_ensure(kernel);
    if (status == WEFT_OK) {
        status = cuda_pool_sync(kernel, cudaFreeAsync(memory, kernel->pool_stream),
                                "freeing memory of a pool");
    }
    if (status != WEFT_OK) {
        kernel->host->log(
            kernel->host, WEFT_LOG_WARN,
            "memory of another process's pool stays open at %p: that process has to keep it "
            "until this one has ended",
            memory);
    }
}

static weft_status_t cuda_pool_copy(weft_kernel_t *kernel, void *to, const void *from,
                                    uint64_t bytes, enum cudaMemcpyKind way)
{
    weft_status_t status = cuda_pool_ensure(kernel);
    return status != WEFT_OK
               ? status
               : cuda_pool_sync(kernel, cudaMemcpyAsync(to, from, bytes, way, kernel->pool_stream),
                                way == cudaMemcpyHostToDevice ? "copying to the device"
                                                              : "copying from the device");
}

weft_status_t cuda_device_write(weft_kernel_t *kernel, void *to, const void *from, uint64_t bytes)
{
    return cuda_pool_copy(kernel, to, from, bytes, cudaMemcpyHostToDevice);
}

weft_status_t cuda_device_read(weft_kernel_t *kernel, void *to, const void *from, uint64_t bytes)
{
    return cuda_pool_copy(kernel, to, from, bytes, cudaMemcpyDeviceToHost);
}

weft_status_t cuda_device_zero(weft_kernel_t *kernel, void *at, uint64_t bytes)
{
    weft_status_t status = cuda_pool_ensure(kernel);
    return status != WEFT_OK
               ? status
               : cuda_pool_sync(kernel, cudaMemsetAsync(at, 0, bytes, kernel->pool_stream),
                                "clearing device memory");
}

/* What was given back is back when the instance is gone, unless a kernel that waits is in front of
 * it: a pool is good for the next instance, and may be destroyed, before that. */
void cuda_pool_close(weft_kernel_t *kernel)
{
    if (kernel->pool_stream != NULL) {
        (void)cuda_stream_settle(kernel->pool_stream, kernel->host);
        (void)cudaStreamDestroy(kernel->pool_stream);
        kernel->pool_stream = NULL;
    }
    if (kernel->pool != NULL) {
        cuda_kept_put(kernel->device, CUDA_KEPT_POOL, kernel->pool, 0);
        kernel->pool = NULL;
    }
}
