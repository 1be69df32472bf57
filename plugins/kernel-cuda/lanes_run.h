/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans that the device runs itself: the table of the extension draft.weft.kernel.lanes/0. */
#ifndef KERNEL_CUDA_LANES_RUN_H
#define KERNEL_CUDA_LANES_RUN_H

#include <weft/plugin/draft/lanes.h>

extern const weft_kernel_lanes_t cuda_lanes;

#endif
