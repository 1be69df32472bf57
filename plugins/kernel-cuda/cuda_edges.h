/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What slices between two devices and launches cost, for the cost model of the core. */
#ifndef KERNEL_CUDA_CUDA_EDGES_H
#define KERNEL_CUDA_CUDA_EDGES_H

#include "cuda_instance.h"

/* Fills edges and launch of the kernel's device. Blocking: no. Thread: [any]. */
void cuda_edges_fill(const weft_kernel_t *kernel, weft_kernel_props_t *props);

#endif
