/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory and time of the device for the programs in this folder. With GPU_CHECK_ON_HOST it is all the
 * host's: so the programs themselves are tested where there is no device. */
#ifndef TESTS_GPU_DEVICE_H
#define TESTS_GPU_DEVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if !defined(GPU_CHECK_ON_HOST)
#include <cuda_runtime_api.h>
#endif

static inline double device_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#if defined(GPU_CHECK_ON_HOST)

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

static inline void device_name(char *text, size_t bytes)
{
    snprintf(text, bytes, "the host");
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

static inline void device_name(char *text, size_t bytes)
{
    static struct cudaDeviceProp props;
    int driver = 0;
    bool known = cudaGetDeviceProperties(&props, 0) == cudaSuccess &&
                 cudaDriverGetVersion(&driver) == cudaSuccess;
    snprintf(text, bytes, "%s, %d processors, CUDA %d.%d", known ? props.name : "unknown",
             known ? props.multiProcessorCount : 0, driver / 1000, driver % 1000 / 10);
}

#endif
#endif
