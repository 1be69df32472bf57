/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of the application's pools (cudaMallocFromPoolAsync) for other processes. Two things open
 * it: a handle of the pool, and what the driver says of the pointer. Who imported it has to free it
 * before its owner does, and the driver does not count how often it was imported. */
#ifndef KERNEL_CUDA_CUDA_POOLED_H
#define KERNEL_CUDA_CUDA_POOLED_H

#include "cuda_offers.h"

/* Whether the memory at that address is of a pool. */
bool cuda_pooled_have(const void *memory);

/* Packs the range, which all must be of one allocation. On failure *why_p says why there is no
 * handle. */
bool cuda_pooled_pack(const void *memory, uint64_t bytes, cuda_parcel_t *parcel,
                      const char **why_p);

/* An allocation of another process; the range begins behind `offset` bytes. */
typedef struct cuda_pooled {
    void *base;
    uint64_t bytes, offset;
} cuda_pooled_t;

/* Opens the allocation of a parcel of that process, any contents of which are legal. Instances of
 * this process share it. On failure *why_p says what was refused. Blocking: briefly. */
bool cuda_pooled_open(weft_kernel_t *kernel, const cuda_parcel_t *parcel, uint64_t process,
                      cuda_pooled_t *pooled, const char **why_p);

/* Ends one use of it; after the last one the process has it no more when this returns. Blocking:
 * briefly. */
void cuda_pooled_close(weft_kernel_t *kernel, void *base);

#endif
