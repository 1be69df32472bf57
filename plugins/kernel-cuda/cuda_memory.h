/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Host memory that the device accesses, either pages registered with the driver or page-locked
 * blocks. */
#ifndef KERNEL_CUDA_CUDA_MEMORY_H
#define KERNEL_CUDA_CUDA_MEMORY_H

#include "cuda_instance.h"

/* Registers the pages of a range, so that the device loads and stores them: shared pages at another
 * address, which is *shift_p behind theirs (cuda_alias.h), private ones at the same, *shift_p = 0.
 * The latter are registered once if they have several users, and the end of their registration
 * waits for kernels. It ends with cuda_pages_unregister() with the same arguments.
 * Errors: ERR_RESOURCE, ERR_SYSTEM, ERR_UNSUPPORTED. */
weft_status_t cuda_pages_register(weft_kernel_t *kernel, const void *at, uint64_t bytes,
                                  ptrdiff_t *shift_p);
void cuda_pages_unregister(weft_kernel_t *kernel, const void *at, uint64_t bytes, ptrdiff_t shift);

/* Allocates page-locked host memory that host and device access at the same address, aligned to
 * 128. Freed blocks are kept for the next user: the driver could wait for all kernels of the
 * process before it frees one, and those kernels may wait for this thread. Returns NULL, error
 * recorded, on failure. */
void *cuda_mapped_alloc(weft_kernel_t *kernel, uint64_t bytes);
void cuda_mapped_free(weft_kernel_t *kernel, void *memory);

/* Allocates a word in a cache line of its own, in such memory, with the value 0. Returns NULL,
 * error recorded, on failure. */
uint64_t *cuda_word_alloc(weft_kernel_t *kernel);
void cuda_word_free(weft_kernel_t *kernel, uint64_t *word);

/* Leaves all of this memory, and that of cuda_pool.h, to the process (cuda_kept.h), when the
 * instance is destroyed. */
void cuda_memory_close(weft_kernel_t *kernel);

#endif
