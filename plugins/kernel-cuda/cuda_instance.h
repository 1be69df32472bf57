/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plugin's options and the instance of the kernel, which most files of the plugin read. The
 * lists belong to the files that define their entries. */
#ifndef KERNEL_CUDA_CUDA_INSTANCE_H
#define KERNEL_CUDA_CUDA_INSTANCE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <cuda_runtime_api.h>

#include <weft/plugin/draft/lanes.h>

#include "cuda_context.h"

typedef struct cuda_config {
    const char *device; /* "auto", a number, or "modulo:" and a number */
    int64_t threads;
    int64_t channels;
    bool share;
    bool whole;
    int64_t protocol; /* cuda_protocol_t */
} cuda_config_t;

/* How payloads travel between devices: lanes_protocol.h. */
typedef enum cuda_protocol {
    CUDA_PROTOCOL_AUTO = 0,
    CUDA_PROTOCOL_LL = 1,
    CUDA_PROTOCOL_LL128 = 2,
    CUDA_PROTOCOL_SIMPLE = 3
} cuda_protocol_t;

/* How data travels to other ranks, as the options say. */
typedef struct cuda_travel {
    bool share; /* they may write to memory of the device */
    bool whole; /* runs over windows may be whole */
    cuda_protocol_t protocol;
} cuda_travel_t;

typedef struct cuda_range cuda_range_t; /* cuda_memory.c */
typedef struct cuda_alias cuda_alias_t; /* cuda_alias.c */
typedef struct cuda_block cuda_block_t;
typedef struct cuda_words cuda_words_t;
typedef struct cuda_buffer cuda_buffer_t; /* cuda_buffers.c */

typedef struct cuda_counts {
    _Atomic uint64_t ends;           /* endpoints opened so far */
    _Atomic uint64_t launches, runs; /* of plans, for the log */
} cuda_counts_t;

#define CUDA_BUS_BYTES 16  /* PCI address of a device: "0000:3b:00.0" */
#define CUDA_PATHS_MOST 32 /* paths to other devices whose try is remembered */

typedef struct cuda_path {
    char bus[CUDA_BUS_BYTES];
    bool arrives; /* what is read and written over it is where it should be */
} cuda_path_t;

/* They only grow: cuda_paths.c. */
typedef struct cuda_paths {
    uint32_t n;
    cuda_path_t path[CUDA_PATHS_MOST];
} cuda_paths_t;

/* What the device is (cuda_device.c). */
typedef struct cuda_facts {
    int processors; /* multiprocessors */
    int major, minor;
    bool pageable;     /* it reads the page tables of the host: a coherent link (C2C) */
    bool same_address; /* registered host memory has the same address on it */
    bool rdma_ordered; /* it sees writes of adapters as soon as the host does */
    bool domains; /* fences wait for kernels of their own domain only, of which it has several */
    uint64_t memory_bandwidth; /* bytes per second read and written; 0: not told */
    uint32_t max_blocks;       /* most blocks that are resident at once */
} cuda_facts_t;

/* Numbers of ends that the host sets (lanes_seeks.c). */
typedef struct cuda_seeks {
    pthread_mutex_t lock;         /* held briefly, never while the driver is called */
    weft_lanes_handle_t *handles; /* all that runs may be under way of */
    uint64_t count;
} cuda_seeks_t;

/* How many a collective may have here (cuda_device.c). */
typedef struct cuda_channels {
    uint32_t count;
    uint32_t asked; /* that the option names; 0: none */
    uint32_t ranks; /* of the job, on this device; 0: not told */
} cuda_channels_t;

/* An instance, for the side streams of its device (cuda_side.c). */
typedef struct cuda_side_user {
    struct cuda_side_user *next;
    int device;
} cuda_side_user_t;

struct weft_kernel {
    const weft_host_t *host;
    cuda_context_driver_t contexts;
    int device;
    cuda_facts_t facts;
    uint32_t threads;
    cuda_channels_t channels;
    bool blocking; /* launches return when their kernels have ended */
    cuda_travel_t travel;
    _Atomic bool told_turns;  /* that processes share the device without MPS */
    pthread_mutex_t lock;     /* of the lists below: communicators of a family share the instance */
    cuda_range_t *ranges;     /* registered host memory */
    cuda_alias_t *aliases;    /* the same, mapped once more */
    cuda_block_t *blocks;     /* page-locked host memory */
    cuda_words_t *words;      /* blocks that are cut into words */
    cuda_buffer_t *buffers;   /* buffers of the caller; freed ones are reused */
    cudaStream_t pool_stream; /* for memory of the device; NULL: not needed so far */
    cudaMemPool_t pool;       /* or NULL: not needed so far, or the driver has none */
    pthread_mutex_t order;    /* of launches, and of the next list: lanes_order.c */
    weft_lanes_queue_t *queues;   /* of all communicators of the instance */
    weft_lanes_queue_t *deferred; /* queues closed before streams had reached all their work */
    cuda_paths_t paths;
    cuda_counts_t counts;
    cuda_seeks_t seeks;
    cuda_side_user_t side;
};

#endif
