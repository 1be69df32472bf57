/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the plugin does not use any more and the driver still has. Giving it back waits for all
 * kernels of the process, and those may wait for the rank that gives back. So it is kept for the
 * process: for the next one of its kind, and until no kernel is there that waits for a rank. */
#ifndef KERNEL_CUDA_CUDA_KEPT_H
#define KERNEL_CUDA_CUDA_KEPT_H

#include "cuda_instance.h"

typedef enum cuda_kept_kind {
    CUDA_KEPT_DEVICE,  /* memory of cudaMalloc() */
    CUDA_KEPT_EXPORT,  /* the same, which other processes may still have imported */
    CUDA_KEPT_HOST,    /* of cudaHostAlloc(), portable and mapped */
    CUDA_KEPT_ALIAS,   /* a registered mapping (cuda_alias.h) */
    CUDA_KEPT_IMPORT,  /* of cudaIpcOpenMemHandle() */
    CUDA_KEPT_MAPPING, /* of cuda_segments_map() */
    CUDA_KEPT_POOL,    /* of cudaMemPoolCreate(), all of whose memory is given back; 0 bytes */
    CUDA_KEPT_IMPORTED_POOL, /* of another process, the same */
} cuda_kept_kind_t;

/* Takes over memory that this process does not use any more and its driver has for that device. Any
 * thread; the driver is not called. */
void cuda_kept_put(int device, cuda_kept_kind_t kind, void *memory, uint64_t bytes);

/* Returns memory of the device that was put there and has *bytes_p or more, but no more
 * than twice as much, and its size; or NULL. Its contents are any. Any thread. */
void *cuda_kept_take(int device, cuda_kept_kind_t kind, uint64_t *bytes_p);

/* Gives everything back to the driver, unless a kernel of the process may wait for a rank. Returns
 * whether there was anything to give back, and it went. Says once when much is kept. Blocking:
 * where the application's own kernels run, until they have ended. Not under a lock that a launch
 * takes. */
bool cuda_kept_end(weft_kernel_t *kernel);

#endif
