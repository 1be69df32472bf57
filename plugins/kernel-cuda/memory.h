/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of the host that the device sees: pages registered with the driver, and blocks of its own;
 * and memory of the device. */
#ifndef KERNEL_CUDA_MEMORY_H
#define KERNEL_CUDA_MEMORY_H

#include "kernel_cuda.h"

/* What: lets the device load and store these bytes at the same address; pages that several users need
 * are registered once. Failure: ERR_RESOURCE, ERR_SYSTEM. Ownership: until pages_drop() with the same
 * numbers. */
weft_status_t cuda_pages_take(weft_kernel_t *kernel, const void *at, uint64_t bytes);
void cuda_pages_drop(weft_kernel_t *kernel, const void *at, uint64_t bytes);

/* What: memory that both see at the same address, aligned to 128. To give a block back to the driver
 * could wait for all kernels of the process, and those for this one: they are kept for the next user.
 * Failure: NULL, error recorded. */
void *cuda_visible_take(weft_kernel_t *kernel, uint64_t bytes);
void cuda_visible_give(weft_kernel_t *kernel, void *block);

/* What: a word that both see, in a cache line of its own, 0 at first. Failure: NULL, error recorded. */
uint64_t *cuda_word_take(weft_kernel_t *kernel);
void cuda_word_give(weft_kernel_t *kernel, uint64_t *word);

/* What: memory of the device, in the order of a stream of its own that no kernel ever holds up: plain
 * allocation waits for every kernel of the process. Nothing on the device uses what is given. Failure:
 * ERR_RESOURCE, ERR_SYSTEM. Blocks: briefly. */
weft_status_t cuda_device_take(weft_kernel_t *kernel, uint64_t bytes, void **memory_p);
void cuda_device_give(weft_kernel_t *kernel, void *memory);
/* What: copies from memory of the host; all zeros. Blocks: briefly. */
weft_status_t cuda_device_fill(weft_kernel_t *kernel, void *to, const void *from, uint64_t bytes);
weft_status_t cuda_device_zero(weft_kernel_t *kernel, void *at, uint64_t bytes);

/* Gives all of it back to the driver. */
void cuda_memory_close(weft_kernel_t *kernel);

/* What: opens the way to another device's memory, if the driver knows one. Failure:
 * ERR_UNSUPPORTED (it refuses), ERR_SYSTEM. */
weft_status_t cuda_peer_open(weft_kernel_t *kernel, int other, bool *can_p);

/* What: says whether the device reaches `at`, a buffer called `name`; opens the way to another device's
 * memory. Failure: ERR_UNSUPPORTED that says why not, ERR_SYSTEM. */
weft_status_t cuda_reach(weft_kernel_t *kernel, const void *at, const char *name);
/* What: the same, for a copy that a stream makes when it comes to it: pageable memory of the host would be
 * read at once. */
weft_status_t cuda_reach_later(weft_kernel_t *kernel, const void *at, const char *name);

#endif
