/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Handles of memory that other kernels import: what a process writes for its own memory, and what
 * another one opens by it. Memory of cudaMalloc() has IPC handles of the driver, that of
 * cuMemCreate() has descriptors or handles of the fabric, that of pools has one of its pool
 * (cuda_offers.h). */
#ifndef KERNEL_CUDA_CUDA_IPC_HANDLE_H
#define KERNEL_CUDA_CUDA_IPC_HANDLE_H

#include <weft/plugin/draft/ipc.h>

#include "cuda_offers.h"

#define CUDA_UNSEEN "this process does not see that device; look at CUDA_VISIBLE_DEVICES"
#define CUDA_NOT_GRANTED                                                                           \
    "the application did not give this device access to it (cuMemSetAccess, "                      \
    "cudaMemPoolSetAccess)"

/* How another process opens the memory. */
typedef enum cuda_ipc_way {
    CUDA_IPC_NO = 0,       /* the driver gives no handle */
    CUDA_IPC_LEGACY = 1,   /* by cudaIpcOpenMemHandle() */
    CUDA_IPC_SEGMENTS = 2, /* by an offer of its segments (cuda_segments.h) */
    CUDA_IPC_PRIVATE = 3,  /* it was made for one process */
    CUDA_IPC_POOL = 4,     /* by an offer of its pool (cuda_pooled.h) */
} cuda_ipc_way_t;

typedef struct cuda_ipc_handle {
    uint64_t process;
    uint64_t at; /* in that process */
    char bus[CUDA_BUS_BYTES];
    uint64_t offset;    /* in the allocation of the IPC handle */
    uint32_t way;       /* cuda_ipc_way_t */
    uint32_t is_marked; /* 1: nobody uses the memory yet, and a mark is at its begin */
    uint64_t mark;
    union {
        cudaIpcMemHandle_t legacy;
        cuda_offer_address_t offer;
    };
} cuda_ipc_handle_t;

_Static_assert(sizeof(cuda_ipc_handle_t) <= WEFT_IPC_HANDLE_BYTES, "fits the handle");

/* What a handle of another process opened. */
typedef struct cuda_ipc_mapping {
    cuda_ipc_way_t way;
    void *memory;   /* the range */
    void *base;     /* the allocation, or the mapping of all segments */
    uint64_t bytes; /* of all segments or of the pool's allocation; else 0 */
    int device;     /* that has it, as this process counts; −1: one that it does not see */
} cuda_ipc_mapping_t;

/* Records that something cannot be done with memory of another device. Returns ERR_UNSUPPORTED. */
weft_status_t cuda_ipc_handle_refuse(const weft_kernel_t *kernel, const char *why);

/* Whether the current device may access that memory of another one. */
bool cuda_ipc_handle_grants(const void *memory);

/* Writes device and way of such memory; false: it is not all memory of the kernel's device. What it
 * offers ends with cuda_ipc_handle_end(). Says at INFO why other processes cannot open it. */
bool cuda_ipc_handle_fill(const weft_kernel_t *kernel, const void *memory, uint64_t bytes,
                          cuda_ipc_handle_t *handle);
void cuda_ipc_handle_end(const cuda_ipc_handle_t *handle);

/* Opens the memory of another process. `seen`: this process sees its device. Any value of the
 * handle is legal. Errors: ERR_UNSUPPORTED, ERR_SYSTEM. Blocking: briefly, at most two seconds. */
weft_status_t cuda_ipc_handle_open(weft_kernel_t *kernel, const cuda_ipc_handle_t *handle,
                                   uint64_t bytes, bool seen, cuda_ipc_mapping_t *mapping);

/* Ends memory of a pool, which its owner may free as soon as it likes; leaves all else to the
 * process (cuda_kept.h). */
void cuda_ipc_mapping_leave(weft_kernel_t *kernel, const cuda_ipc_mapping_t *mapping);

#endif
