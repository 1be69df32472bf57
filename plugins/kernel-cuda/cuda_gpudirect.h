/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of the device that network adapters read and write: extension
 * draft.weft.kernel.gpudirect/0. */
#ifndef KERNEL_CUDA_CUDA_GPUDIRECT_H
#define KERNEL_CUDA_CUDA_GPUDIRECT_H

#include <weft/plugin/draft/gpudirect.h>

extern const weft_kernel_gpudirect_t cuda_gpudirect;

#endif
