/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See fake_cuda.h. */
#include "tests/cuda/fake_cuda.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/kernel-cuda/device/lanes.h"
#include "plugins/kernel-cuda/launch.h"

#define RANGES 4096

extern fake_cuda_t fake_cuda;
__attribute__((visibility("default"))) fake_cuda_t fake_cuda = {.devices = 2, .capability = 90};

struct CUstream_st {
    _Atomic uint32_t busy; /* blocks that run */
};

/* Registered ranges: the driver refuses those that overlap. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    uintptr_t begin, end;
} ranges[RANGES];

static cudaError_t answer(const char *name)
{
    if (fake_cuda.fails != NULL && strcmp(fake_cuda.fails, name) == 0) {
        fake_cuda.fails = NULL;
        return fake_cuda.error;
    }
    return cudaSuccess;
}

/* Driver and devices ------------------------------------------------------------------------------- */

void *dlopen(const char *file, int mode)
{
    (void)file;
    (void)mode;
    return fake_cuda.no_driver ? NULL : &fake_cuda;
}

int dlclose(void *library)
{
    (void)library;
    return 0;
}

char *dlerror(void)
{
    static char text[] = "no such file";
    return text;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = fake_cuda.devices;
    return fake_cuda.no_device;
}

cudaError_t cudaGetDevice(int *device)
{
    *device = atomic_load(&fake_cuda.current);
    return answer(__func__);
}

cudaError_t cudaSetDevice(int device)
{
    atomic_store(&fake_cuda.current, device);
    return answer(__func__);
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr which, int device)
{
    (void)device;
    switch (which) {
    case cudaDevAttrMultiProcessorCount:
        *value = 16;
        break;
    case cudaDevAttrComputeCapabilityMajor:
        *value = fake_cuda.capability / 10;
        break;
    case cudaDevAttrComputeCapabilityMinor:
        *value = fake_cuda.capability % 10;
        break;
    case cudaDevAttrPageableMemoryAccess:
        *value = !fake_cuda.not_pageable;
        break;
    default:
        *value = 1;
        break;
    }
    return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    *can = device != peer && !fake_cuda.no_peers;
    return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    (void)peer;
    (void)flags;
    return answer(__func__);
}

cudaError_t cudaGetLastError(void)
{
    return cudaSuccess;
}

const char *cudaGetErrorName(cudaError_t error)
{
    return error == cudaErrorIllegalAddress ? "cudaErrorIllegalAddress" : "cudaError";
}

const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaErrorIllegalAddress ? "an illegal address" : "an error";
}

/* Memory ------------------------------------------------------------------------------------------- */

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *at, const void *pointer)
{
    memset(at, 0, sizeof *at);
    at->type = cudaMemoryTypeUnregistered;
    for (size_t i = 0; i < sizeof fake_cuda.place / sizeof fake_cuda.place[0]; i++) {
        const fake_place_t *place = &fake_cuda.place[i];
        if ((uintptr_t)pointer - (uintptr_t)place->at < place->bytes) {
            at->type = place->type;
            at->device = place->device;
            at->hostPointer = at->devicePointer = (void *)(uintptr_t)pointer;
        }
    }
    return answer(__func__);
}

cudaError_t cudaHostRegister(void *at, size_t bytes, unsigned flags)
{
    const uintptr_t begin = (uintptr_t)at, end = begin + bytes;
    cudaError_t error = answer(__func__);
    (void)flags;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; error == cudaSuccess && i < RANGES; i++) {
        if (ranges[i].begin < end && begin < ranges[i].end) {
            error = cudaErrorHostMemoryAlreadyRegistered;
        }
    }
    for (size_t i = 0; error == cudaSuccess && i < RANGES; i++) {
        if (ranges[i].end == 0) {
            ranges[i].begin = begin;
            ranges[i].end = end;
            atomic_fetch_add(&fake_cuda.registered, 1);
            atomic_fetch_add(&fake_cuda.registrations, 1);
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    return error;
}

cudaError_t cudaHostUnregister(void *at)
{
    cudaError_t error = cudaErrorHostMemoryNotRegistered;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < RANGES; i++) {
        if (ranges[i].end != 0 && ranges[i].begin == (uintptr_t)at) {
            ranges[i].begin = ranges[i].end = 0;
            atomic_fetch_sub(&fake_cuda.registered, 1);
            error = cudaSuccess;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    return error;
}

static cudaError_t allocate(const char *name, void **at, size_t bytes, _Atomic int *alive)
{
    cudaError_t error = answer(name);
    *at = error == cudaSuccess ? aligned_alloc(256, (bytes + 256) / 256 * 256) : NULL;
    if (*at == NULL) {
        return error == cudaSuccess ? cudaErrorMemoryAllocation : error;
    }
    memset(*at, 0xd5, bytes); /* nobody may count on zeros */
    atomic_fetch_add(alive, 1);
    return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **at, size_t bytes, unsigned flags)
{
    (void)flags;
    return allocate(__func__, at, bytes, &fake_cuda.visible);
}

cudaError_t cudaFreeHost(void *at)
{
    free(at);
    atomic_fetch_sub(&fake_cuda.visible, 1);
    return cudaSuccess;
}

cudaError_t cudaMallocAsync(void **at, size_t bytes, cudaStream_t stream)
{
    (void)stream;
    return allocate(__func__, at, bytes, &fake_cuda.allocated);
}

cudaError_t cudaFreeAsync(void *at, cudaStream_t stream)
{
    (void)stream;
    free(at);
    atomic_fetch_sub(&fake_cuda.allocated, 1);
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **at, size_t bytes)
{
    return allocate(__func__, at, bytes, &fake_cuda.allocated);
}

cudaError_t cudaFree(void *at)
{
    free(at);
    atomic_fetch_sub(&fake_cuda.allocated, 1);
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *all)
{
    *free_bytes = 1000;
    *all = 5000;
    return answer(__func__);
}

/* What is done at once here waits on a device for what is before it in its stream. */
static void settle(cudaStream_t stream)
{
    while (stream != cudaStreamPerThread && atomic_load(&stream->busy) > 0) {
        sched_yield();
    }
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    (void)kind;
    settle(stream);
    memcpy(to, from, bytes);
    return answer(__func__);
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    settle(stream);
    memset(to, value, bytes);
    return answer(__func__);
}

/* Streams ------------------------------------------------------------------------------------------ */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    cudaError_t error = answer(__func__);
    (void)flags;
    *stream = error == cudaSuccess ? calloc(1, sizeof **stream) : NULL;
    atomic_fetch_add(&fake_cuda.streams, *stream != NULL);
    return error;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    settle(stream);
    free(stream);
    atomic_fetch_sub(&fake_cuda.streams, 1);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    settle(stream);
    return answer(__func__);
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    cudaError_t error = answer(__func__);
    bool busy = stream != cudaStreamPerThread && atomic_load(&stream->busy) > 0;
    return error == cudaSuccess && busy ? cudaErrorNotReady : error;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    *mode = cudaStreamCaptureModeGlobal;
    return cudaSuccess;
}

/* Launches ----------------------------------------------------------------------------------------- */

typedef struct grid {
    lanes_launch_t launch;
    cudaStream_t stream;
    _Atomic uint32_t lane, blocks;
} grid_t;

static void *grid_block(void *arg)
{
    grid_t *grid = arg;
    cudaStream_t stream = grid->stream;
    lanes_shared_t shared;
    memset(&shared, 0xd5, sizeof shared);
    lanes_run_launch(&shared, &grid->launch, atomic_fetch_add(&grid->lane, 1));
    if (atomic_fetch_sub(&grid->blocks, 1) == 1) {
        free(grid);
    }
    atomic_fetch_sub(&stream->busy, 1);
    return NULL;
}

cudaError_t cuda_launch_lanes(const lanes_launch_t *launch, uint32_t threads, cudaStream_t stream)
{
    const uint32_t nlanes = launch->nblocks;
    cudaError_t error = answer(__func__);
    (void)threads;
    atomic_fetch_add(&fake_cuda.launches, 1);
    if (error != cudaSuccess || fake_cuda.swallow) {
        return error;
    }
    settle(stream);
    grid_t *grid = calloc(1, sizeof *grid);
    grid->launch = *launch;
    grid->stream = stream;
    atomic_init(&grid->blocks, nlanes);
    atomic_store(&stream->busy, nlanes);
    for (uint32_t lane = 0; lane < nlanes; lane++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, grid_block, grid) != 0) {
            abort(); /* blocks that wait for this one would wait for ever */
        }
        pthread_detach(thread);
    }
    return cudaSuccess;
}

cudaError_t cuda_launch_lanes_most(uint32_t threads, int *blocks_p)
{
    (void)threads;
    *blocks_p = 4;
    return answer(__func__);
}

cudaError_t cuda_launch_combine(weft_dtype_t dtype, weft_op_t op, const weft_combine_t *c,
                                uint32_t blocks, cudaStream_t stream)
{
    cudaError_t error = answer(__func__);
    (void)stream;
    atomic_fetch_add(&fake_cuda.combines, 1);
    for (uint32_t thread = 0; error == cudaSuccess && thread < blocks; thread++) {
        cuda_combine(dtype, op, c, thread, blocks);
    }
    return error;
}

cudaError_t cuda_launch_usable(void)
{
    return answer(__func__);
}
