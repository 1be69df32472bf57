/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the C files of this plugin share: the instance, the choice of its device, and the words for what
 * goes wrong. */
#ifndef KERNEL_CUDA_KERNEL_CUDA_H
#define KERNEL_CUDA_KERNEL_CUDA_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <weft/plugin/lanes.h>

#include "launch.h"

typedef struct cuda_config {
    const char *device; /* "auto", a number, or "modulo:" and a number */
    int64_t threads;
    int64_t channels;
    bool share;
} cuda_config_t;

typedef struct cuda_range cuda_range_t; /* memory.c */
typedef struct cuda_block cuda_block_t;
typedef struct cuda_words cuda_words_t;
typedef struct cuda_buffer cuda_buffer_t; /* buffers.c */

struct weft_kernel {
    const weft_host_t *host;
    int device;
    int processors; /* of the device */
    int major, minor;
    bool pageable; /* the device reaches all memory of the process */
    bool same;     /* registered host memory has the same address on the device */
    bool ordered;  /* the device sees what adapters wrote when the host does */
    uint32_t threads;
    uint32_t holds; /* blocks that the device has room for at once */
    uint32_t channels;
    bool share;               /* other ranks may write to memory of the device */
    pthread_mutex_t lock;     /* of what follows: communicators of a family share the instance */
    cuda_range_t *ranges;     /* registered host memory */
    cuda_block_t *blocks;     /* host memory of the driver */
    cuda_words_t *words;      /* … cut into words */
    cuda_buffer_t *buffers;   /* freed ones, for the next of their size */
    cudaStream_t side;        /* for memory of the device; NULL: not needed so far */
    weft_lanes_queue_t *left; /* closed before streams had done all of them */
    _Atomic uint64_t ends;    /* opened so far */
    _Atomic uint64_t launches, runs; /* of plans, for the log */
};

/* What: chooses the device and fills in what is known of it. Failure: ERR_UNSUPPORTED, saying what is
 * missing and what helps; ERR_CONFIG for a device that is no number or not there. */
weft_status_t cuda_device_open(weft_kernel_t *kernel, const cuda_config_t *config);

/* Makes the kernel's device current and back again: the caller's choice is nobody else's business. */
cudaError_t cuda_device_enter(const weft_kernel_t *kernel, int *previous_p);
void cuda_device_leave(int previous);

/* The same for work beside that of an application which may be recording a graph: calls of other threads
 * that could spoil it are refused else. Ours cannot: they touch streams of ours, or ask. ERR_SYSTEM. */
typedef struct cuda_visit {
    int device;
    enum cudaStreamCaptureMode mode;
} cuda_visit_t;

weft_status_t cuda_visit_begin(const weft_kernel_t *kernel, cuda_visit_t *visit);
void cuda_visit_end(const cuda_visit_t *visit);

/* What: records a failure of the CUDA runtime with words for its cause and what helps. Returns
 * ERR_RESOURCE for memory, ERR_STATE while a graph is recorded, ERR_ARG for a stream that is not there,
 * ERR_UNSUPPORTED for what the device or its owner refuses, ERR_SYSTEM for all else. */
weft_status_t cuda_failed(const weft_kernel_t *kernel, cudaError_t error, const char *what);

/* The function of combine.c, or NULL. */
weft_combine_fn_t cuda_combine_function(weft_dtype_t dtype, weft_op_t op);

#endif
