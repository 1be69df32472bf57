/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Buffers of the application in device memory: extension weft.kernel.memory/1. */
#ifndef KERNEL_CUDA_CUDA_BUFFERS_H
#define KERNEL_CUDA_CUDA_BUFFERS_H

#include <weft/plugin/memory.h>

extern const weft_kernel_memory_t cuda_buffers;

/* Returns all buffers to the driver, when the instance is destroyed. */
void cuda_buffers_close(weft_kernel_t *kernel);

#endif
