/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plugin's instance, the choice of its device, and the conversion of CUDA errors. All C files
 * of the plugin include this header. */
#ifndef KERNEL_CUDA_KERNEL_CUDA_H
#define KERNEL_CUDA_KERNEL_CUDA_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <weft/plugin/draft/lanes.h>

#include "launch.h"

typedef struct cuda_config {
    const char *device; /* "auto", a number, or "modulo:" and a number */
    int64_t threads;
    int64_t channels;
    bool share;
} cuda_config_t;

typedef struct cuda_range cuda_range_t; /* cuda_memory.c */
typedef struct cuda_block cuda_block_t;
typedef struct cuda_words cuda_words_t;
typedef struct cuda_buffer cuda_buffer_t; /* cuda_buffers.c */

struct weft_kernel {
    const weft_host_t *host;
    int device;
    int processors; /* multiprocessors of the device */
    int major, minor;
    bool pageable;     /* the device accesses all memory of the process */
    bool same_address; /* registered host memory has the same address on the device */
    bool rdma_ordered; /* the device sees writes of adapters as soon as the host does */
    uint32_t threads;
    uint32_t max_blocks; /* most blocks that are resident on the device at once */
    uint32_t channels;
    bool share;             /* other ranks may write to memory of the device */
    pthread_mutex_t lock;   /* of the lists below: communicators of a family share the instance */
    cuda_range_t *ranges;   /* registered host memory */
    cuda_block_t *blocks;   /* page-locked host memory */
    cuda_words_t *words;    /* blocks that are cut into words */
    cuda_buffer_t *buffers; /* buffers of the caller; freed ones are reused */
    cudaStream_t alloc_stream;       /* for memory of the device; NULL: not needed so far */
    weft_lanes_queue_t *deferred;    /* queues closed before streams had reached all their work */
    _Atomic uint64_t ends;           /* endpoints opened so far */
    _Atomic uint64_t launches, runs; /* of plans, for the log */
};

/* Chooses the device and fills in its properties.
 * Errors: ERR_UNSUPPORTED (the text says what is missing and what helps), ERR_CONFIG (the option is
 * no number, or there is no such device). */
weft_status_t cuda_device_open(weft_kernel_t *kernel, const cuda_config_t *config);

/* cuda_device_set() makes the kernel's device current and returns the previous one;
 * cuda_device_restore() makes that one current again. The caller's choice stays unchanged. */
cudaError_t cuda_device_set(const weft_kernel_t *kernel, int *previous_p);
void cuda_device_restore(int previous);

/* Sets the device and relaxes the capture mode of the thread. While the application captures a
 * graph, CUDA refuses calls of other threads that could invalidate the capture. The calls of this
 * plugin cannot: they use streams of its own, or only query. */
typedef struct cuda_guard {
    int device;
    enum cudaStreamCaptureMode mode;
} cuda_guard_t;

/* Errors: ERR_SYSTEM. */
weft_status_t cuda_guard_enter(const weft_kernel_t *kernel, cuda_guard_t *guard);
void cuda_guard_leave(const cuda_guard_t *guard);

/* Records an error of the CUDA runtime; the text names its cause and what helps. `what` says what
 * was tried. Returns ERR_RESOURCE (no memory), ERR_STATE (not possible while a graph is captured),
 * ERR_ARG (no such stream), ERR_UNSUPPORTED (refused by the device or its owner), else
 * ERR_SYSTEM. */
weft_status_t cuda_failed(const weft_kernel_t *kernel, cudaError_t error, const char *what);

/* Returns the function of cuda_combine.c, or NULL. */
weft_combine_fn_t cuda_combine_function(weft_dtype_t dtype, weft_op_t op);

#endif
