/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The extension weft.kernel.lanes/1 of this plugin. */
#ifndef KERNEL_CUDA_LANES_RUN_H
#define KERNEL_CUDA_LANES_RUN_H

#include "kernel_cuda.h"

extern const weft_kernel_lanes_t cuda_lanes;

#endif
