/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of the device for plans. It comes from a pool of the instance's own: that of the
 * application may be limited, replaced, or give its memory back to the driver at each
 * synchronisation. */
#ifndef KERNEL_CUDA_CUDA_POOL_H
#define KERNEL_CUDA_CUDA_POOL_H

#include "cuda_instance.h"

/* Allocates and frees memory of the device from a pool of the instance's own, in the order of a
 * stream which no kernel holds up; plain allocation may wait for every kernel of the process.
 * Nothing on the device uses memory that is freed. Where the driver has no pools, freed memory is
 * kept for the next of its size. Errors: ERR_RESOURCE, ERR_SYSTEM. Blocking: briefly. */
weft_status_t cuda_device_alloc(weft_kernel_t *kernel, uint64_t bytes, void **memory_p);
void cuda_device_free(weft_kernel_t *kernel, void *memory);

/* Frees memory of any pool; it is free on return. Blocking: briefly. */
void cuda_pool_release(weft_kernel_t *kernel, void *memory);

/* Copies host memory to memory of the device, and back; sets memory of the device to zeros. Errors:
 * ERR_SYSTEM. Blocking: briefly. */
weft_status_t cuda_device_write(weft_kernel_t *kernel, void *to, const void *from, uint64_t bytes);
weft_status_t cuda_device_read(weft_kernel_t *kernel, void *to, const void *from, uint64_t bytes);
weft_status_t cuda_device_zero(weft_kernel_t *kernel, void *at, uint64_t bytes);

/* Leaves the pool to the process (cuda_kept.h), when the instance is destroyed. */
void cuda_pool_close(weft_kernel_t *kernel);

#endif
