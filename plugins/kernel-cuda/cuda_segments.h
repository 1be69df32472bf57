/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of the driver's virtual memory interface (cuMemCreate, cuMemMap): a range of addresses
 * made of segments, each an allocation of its own, as frameworks grow their heaps. IPC handles know
 * nothing of it; a file descriptor or a fabric handle for each segment does. */
#ifndef KERNEL_CUDA_CUDA_SEGMENTS_H
#define KERNEL_CUDA_CUDA_SEGMENTS_H

#include "cuda_offers.h"

#define CUDA_FABRIC 8 /* CU_MEM_HANDLE_TYPE_FABRIC, which headers have from CUDA 12.3 on */
#define CUDA_FABRIC_BYTES 64

/* Whether the memory at that address is of cuMemCreate(). */
bool cuda_segments_have(const void *memory);

/* Packs a handle of each segment of the range, which all must be memory of this device: up to
 * CUDA_PARCEL_DESCRIPTORS. On failure *why_p says what is wrong with them. */
bool cuda_segments_pack(const weft_kernel_t *kernel, const void *memory, uint64_t bytes,
                        cuda_parcel_t *parcel, const char **why_p);

/* A mapping of segments of another process; the range begins behind `offset` bytes. */
typedef struct cuda_segments {
    void *base;
    uint64_t bytes, offset;
} cuda_segments_t;

/* Maps the segments of a parcel one behind the other for this device. Any contents are legal. */
bool cuda_segments_map(const weft_kernel_t *kernel, const cuda_parcel_t *parcel,
                       cuda_segments_t *segments);
cudaError_t cuda_segments_unmap(void *base, uint64_t bytes);

#endif
