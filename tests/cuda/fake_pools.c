/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The stream-ordered allocator: pools of memory. cudaMallocAsync() uses the device's current pool, which is
 * the application's to limit (fake_cuda.pool_full). Allocations in graphs are not modelled. */
#include <stdlib.h>

#include "tests/cuda/fake.h"

struct CUmemPoolHandle_st {
    int device;
    uint64_t threshold; /* bytes that it keeps when a stream is synchronised */
};

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *props)
{
    cudaError_t error =
        fake_cuda.no_pools ? fake_told(cudaErrorNotSupported) : fake_memory_unsafe(__func__);
    if (error != cudaSuccess || props->allocType != cudaMemAllocationTypePinned ||
        props->location.type != cudaMemLocationTypeDevice || props->location.id < 0 ||
        props->location.id >= fake_cuda.devices) {
        return error != cudaSuccess ? error : fake_told(cudaErrorInvalidValue);
    }
    *pool = calloc(1, sizeof **pool);
    (*pool)->device = props->location.id;
    atomic_fetch_add(&fake_cuda.pools, 1);
    return cudaSuccess;
}

/* What is not freed yet goes back when it is. */
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
    cudaError_t error = fake_memory_unsafe(__func__);
    if (error == cudaSuccess) {
        fake_context_wait(FAKE_WAITS_FREE, __func__);
        free(pool);
        atomic_fetch_sub(&fake_cuda.pools, 1);
    }
    return error;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr which, void *value)
{
    if (which != cudaMemPoolAttrReleaseThreshold) {
        return fake_told(cudaErrorInvalidValue);
    }
    pool->threshold = *(const uint64_t *)value;
    return fake_answer(__func__);
}

/* At once: earlier than a device would, which nobody sees who keeps the order of the stream. */
static cudaError_t pools_alloc(void **at, size_t bytes, int device, cudaStream_t stream,
                               const char *call)
{
    cudaError_t error =
        fake_stream_captured(stream) ? cudaErrorNotSupported : fake_memory_unsafe(call);
    fake_context_wait(FAKE_WAITS_ALLOC, call);
    void *real = error == cudaSuccess ? fake_memory_private(bytes) : NULL;
    *at = real != NULL ? fake_memory_apart(real, bytes, device, -1) : NULL;
    if (*at == NULL) {
        free(real);
        return error == cudaSuccess ? cudaErrorMemoryAllocation : error;
    }
    atomic_fetch_add(&fake_cuda.allocated, 1);
    return cudaSuccess;
}

cudaError_t cudaMallocAsync(void **at, size_t bytes, cudaStream_t stream)
{
    return fake_cuda.pool_full || fake_cuda.no_pools
               ? fake_told(fake_cuda.no_pools ? cudaErrorNotSupported : cudaErrorMemoryAllocation)
               : pools_alloc(at, bytes, fake_device(), stream, __func__);
}

/* A pool that keeps nothing unmaps what is freed whenever a stream is synchronised, and maps it again. */
cudaError_t cudaMallocFromPoolAsync(void **at, size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t stream)
{
    atomic_fetch_add(&fake_cuda.remaps, pool->threshold < bytes);
    return pools_alloc(at, bytes, pool->device, stream, __func__);
}

static void free_work(const void *arg)
{
    void *const *at = arg;
    if (!fake_memory_unmap(*at)) {
        fprintf(stderr, "fake_cuda: memory at %p is freed twice\n", *at);
        abort();
    }
}

/* Kernels before it in the stream still have to find it. */
cudaError_t cudaFreeAsync(void *at, cudaStream_t stream)
{
    struct cudaPointerAttributes where;
    cudaPointerGetAttributes(&where, at);
    if (fake_stream_captured(stream)) {
        return cudaErrorNotSupported;
    }
    if (where.type != cudaMemoryTypeDevice) {
        return cudaErrorInvalidValue;
    }
    atomic_fetch_sub(&fake_cuda.allocated, 1);
    return fake_put(stream, free_work, &at, sizeof at);
}
