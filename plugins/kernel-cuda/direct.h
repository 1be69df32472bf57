/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of the device that network adapters read and write: extension weft.kernel.direct/1. */
#ifndef KERNEL_CUDA_DIRECT_H
#define KERNEL_CUDA_DIRECT_H

#include <weft/plugin/direct.h>

extern const weft_kernel_direct_t cuda_direct;

#endif
