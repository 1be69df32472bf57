/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Buffers of the caller in the device's memory. */
#ifndef KERNEL_CUDA_BUFFERS_H
#define KERNEL_CUDA_BUFFERS_H

#include <weft/plugin/memory.h>

extern const weft_kernel_memory_t cuda_buffers;

/* Gives all buffers back to the driver. */
void cuda_buffers_close(weft_kernel_t *kernel);

#endif
