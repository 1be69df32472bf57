/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of the device that other ranks of this host write to: extension weft.kernel.share/1. */
#ifndef KERNEL_CUDA_SHARE_H
#define KERNEL_CUDA_SHARE_H

#include <weft/plugin/share.h>

#include "kernel_cuda.h"

extern const weft_kernel_share_t cuda_share;

/* Frees what the kernel exported; what another kernel of the process still has open goes with that. */
void cuda_share_close(weft_kernel_t *kernel);

#endif
