/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Buffers of the caller in the device's memory: extension weft.kernel.memory/1.
 *
 * A buffer that is freed is kept for the next one of about its size: the driver's cudaFree() waits
 * for every kernel of the device, and those may wait for the rank that frees. When the driver has
 * no memory left, and when the kernel ends, they are left to the process (cuda_kept.h). */
#include "cuda_buffers.h"

#include <cuda_runtime_api.h>

#include "cuda_device.h"
#include "cuda_errors.h"
#include "cuda_kept.h"
#include "cuda_side.h"

struct cuda_buffer {
    cuda_buffer_t *next;
    void *memory;
    uint64_t bytes;
    bool used;
};

/* The smallest buffer that was freed and fits without waste, or NULL. */
static void *cuda_buffers_buffer_reuse(weft_kernel_t *kernel, uint64_t bytes)
{
    cuda_buffer_t *best = NULL;
    pthread_mutex_lock(&kernel->lock);
    for (cuda_buffer_t *b = kernel->buffers; b != NULL; b = b->next) {
        if (!b->used && b->bytes >= bytes && b->bytes / 2 <= bytes &&
            (best == NULL || b->bytes < best->bytes)) {
            best = b;
        }
    }
    if (best != NULL) {
        best->used = true;
    }
    pthread_mutex_unlock(&kernel->lock);
    return best != NULL ? best->memory : NULL;
}

/* Leaves what nobody uses, or all, to the process. */
static void buffers_leave(weft_kernel_t *kernel, bool all)
{
    pthread_mutex_lock(&kernel->lock);
    for (cuda_buffer_t **at = &kernel->buffers; *at != NULL;) {
        cuda_buffer_t *b = *at;
        if (b->used && !all) {
            at = &b->next;
            continue;
        }
        *at = b->next;
        cuda_kept_put(kernel->device, CUDA_KEPT_DEVICE, b->memory, b->bytes);
        kernel->host->free(kernel->host, b);
    }
    pthread_mutex_unlock(&kernel->lock);
}

void cuda_buffers_close(weft_kernel_t *kernel)
{
    buffers_leave(kernel, true);
}

static cudaError_t cuda_buffers_buffer_add(weft_kernel_t *kernel, uint64_t bytes, void **memory_p)
{
    cuda_buffer_t *b = kernel->host->alloc(kernel->host, sizeof *b, 0);
    if (b == NULL) {
        return cudaErrorMemoryAllocation;
    }
    *b = (cuda_buffer_t){.bytes = bytes, .used = true};
    b->memory = cuda_kept_take(kernel->device, CUDA_KEPT_DEVICE, &b->bytes);
    cudaError_t error = b->memory == NULL ? cudaMalloc(&b->memory, bytes) : cudaSuccess;
    if (error == cudaErrorMemoryAllocation) {
        buffers_leave(kernel, false);
        error = cuda_kept_end(kernel) ? cudaMalloc(&b->memory, bytes) : error;
    }
    if (error != cudaSuccess) {
        kernel->host->free(kernel->host, b);
        return error;
    }
    *memory_p = b->memory;
    pthread_mutex_lock(&kernel->lock);
    b->next = kernel->buffers;
    kernel->buffers = b;
    pthread_mutex_unlock(&kernel->lock);
    return cudaSuccess;
}

static void buffers_free(weft_kernel_t *kernel, void *memory)
{
    pthread_mutex_lock(&kernel->lock);
    for (cuda_buffer_t *b = kernel->buffers; b != NULL; b = b->next) {
        b->used = b->used && b->memory != memory;
    }
    pthread_mutex_unlock(&kernel->lock);
}

static weft_status_t cuda_buffers_no_memory(const weft_kernel_t *kernel, cudaError_t error,
                                            uint64_t bytes)
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

static weft_status_t buffers_clear(const weft_kernel_t *kernel, void *memory, uint64_t bytes)
{
    cuda_side_t *side = NULL;
    cudaError_t error = cuda_side_take(kernel->device, kernel->host, &side);
    error = error == cudaSuccess ? cudaMemsetAsync(memory, 0, bytes, side->stream) : error;
    return cuda_side_settle(kernel, side, error, "clearing memory");
}

/* What is cleared late is nobody's until the kernel ends. */
static weft_status_t buffers_alloc(weft_kernel_t *kernel, uint64_t bytes, void **memory_p)
{
    cuda_guard_t guard;
    const uint64_t most = bytes > 0 ? bytes : 1;
    weft_status_t status = cuda_guard_enter(kernel, &guard);
    if (status != WEFT_OK) {
        return status;
    }
    void *memory = cuda_buffers_buffer_reuse(kernel, most);
    if (memory == NULL) {
        cudaError_t error = cuda_buffers_buffer_add(kernel, most, &memory);
        status = error == cudaSuccess ? WEFT_OK : cuda_buffers_no_memory(kernel, error, bytes);
    }
    if (status == WEFT_OK) {
        status = buffers_clear(kernel, memory, most);
        if (status != WEFT_OK && status != WEFT_ERR_TIMEOUT) {
            buffers_free(kernel, memory);
        }
    }
    cuda_guard_leave(&guard);
    *memory_p = status == WEFT_OK ? memory : *memory_p;
    return status;
}

static weft_status_t buffers_copy(weft_kernel_t *kernel, void *dst, const void *src, uint64_t bytes)
{
    cuda_guard_t guard;
    cuda_side_t *side = NULL;
    weft_status_t status = dst != src ? cuda_guard_enter(kernel, &guard) : WEFT_OK;
    if (status != WEFT_OK || dst == src) {
        return status;
    }
    cudaError_t error = cuda_side_take(kernel->device, kernel->host, &side);
    error = error == cudaSuccess ? cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDefault, side->stream)
                                 : error;
    status = cuda_side_settle(kernel, side, error, "copying memory");
    cuda_guard_leave(&guard);
    return status;
}

const weft_kernel_memory_t cuda_buffers = {
    .size = sizeof(weft_kernel_memory_t),
    .alloc = buffers_alloc,
    .free = buffers_free,
    .copy = buffers_copy,
};
