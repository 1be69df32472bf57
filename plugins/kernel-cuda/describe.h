/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the devices of this machine are. */
#ifndef KERNEL_CUDA_DESCRIBE_H
#define KERNEL_CUDA_DESCRIBE_H

#include <weft/plugin/describe.h>

#include "kernel_cuda.h"

extern const weft_kernel_describe_t cuda_describe;

#endif
