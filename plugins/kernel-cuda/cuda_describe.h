/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The devices of this machine: extension weft.kernel.describe/1. */
#ifndef KERNEL_CUDA_CUDA_DESCRIBE_H
#define KERNEL_CUDA_CUDA_DESCRIBE_H

#include <weft/plugin/describe.h>

#include "cuda_instance.h"

extern const weft_kernel_describe_t cuda_describe;

#endif
