/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of the driver's virtual memory interface (cuMemCreate, cuMemMap): a range of addresses made of
 * segments, each an allocation of its own, as frameworks grow their heaps. IPC handles know nothing of
 * it; a file descriptor for each segment does. */
#ifndef KERNEL_CUDA_CUDA_SEGMENTS_H
#define KERNEL_CUDA_CUDA_SEGMENTS_H

#include "cuda_instance.h"

#define CUDA_SEGMENTS_MOST 64u /* of a range that other processes open */

/* A range in consecutive segments. The descriptors are of this process. */
typedef struct cuda_segments {
    uint32_t n;
    uint64_t offset; /* of the range in the first */
    uint64_t bytes[CUDA_SEGMENTS_MOST];
    int fd[CUDA_SEGMENTS_MOST];
} cuda_segments_t;

/* Whether the memory at that address is of cuMemCreate(). */
bool cuda_segments_have(const void *memory);

/* Opens a descriptor for each segment of the range, which all must be memory of this device. The
 * caller closes them by cuda_segments_close(). On failure *why_p says what is wrong with them. */
bool cuda_segments_open(const weft_kernel_t *kernel, const void *memory, uint64_t bytes,
                        cuda_segments_t *segments, const char **why_p);
void cuda_segments_close(cuda_segments_t *segments);

/* Maps the segments of another process one behind the other for this device, and closes the
 * descriptors in any case. The mapping has *bytes_p bytes. */
bool cuda_segments_map(const weft_kernel_t *kernel, cuda_segments_t *segments, void **base_p,
                       uint64_t *bytes_p);
cudaError_t cuda_segments_unmap(void *base, uint64_t bytes);

#endif
