/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory, streams and time of the device for the programs in this folder. Without GPU_DEVICE it is
 * all the host's: so the programs themselves are tested where there is no device. */
#ifndef TESTS_GPU_DEVICE_H
#define TESTS_GPU_DEVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(GPU_DEVICE)
#include <cuda_runtime_api.h>
#endif

static inline double device_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#if !defined(GPU_DEVICE)

static inline void *device_alloc(size_t bytes)
{
    return aligned_alloc(256, (bytes + 256) / 256 * 256);
}

static inline void device_free(void *at)
{
    free(at);
}

static inline bool device_copy(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
    return true;
}

static inline bool device_wait(void)
{
    return true;
}

/* A kernel that does nothing, until it has ended. */
static inline bool device_launch(void)
{
    return true;
}

static inline bool device_stream_open(void **stream_p)
{
    *stream_p = NULL;
    return true;
}

static inline bool device_stream_wait(void *stream)
{
    (void)stream;
    return true;
}

static inline void device_stream_close(void *stream)
{
    (void)stream;
}

#else

static inline void *device_alloc(size_t bytes)
{
    void *at = NULL;
    return cudaMalloc(&at, bytes) == cudaSuccess ? at : NULL;
}

static inline void device_free(void *at)
{
    cudaError_t error = cudaFree(at);
    (void)error;
}

/* Between any two places; has not always ended on return if both are the device's. */
static inline bool device_copy(void *to, const void *from, size_t bytes)
{
    return cudaMemcpy(to, from, bytes, cudaMemcpyDefault) == cudaSuccess;
}

static inline bool device_wait(void)
{
    return cudaDeviceSynchronize() == cudaSuccess;
}

cudaError_t launch_nothing(void); /* nothing.cu */

static inline bool device_launch(void)
{
    return launch_nothing() == cudaSuccess && device_wait();
}

static inline bool device_stream_open(void **stream_p)
{
    cudaStream_t stream = NULL;
    cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    *stream_p = stream;
    return error == cudaSuccess;
}

static inline bool device_stream_wait(void *stream)
{
    return cudaStreamSynchronize((cudaStream_t)stream) == cudaSuccess;
}

static inline void device_stream_close(void *stream)
{
    cudaError_t error = cudaStreamDestroy((cudaStream_t)stream);
    (void)error;
}

#endif
#endif
