/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What slices between two devices and launches cost, for the cost model of the core. */
#ifndef KERNEL_CUDA_CUDA_EDGES_H
#define KERNEL_CUDA_CUDA_EDGES_H

#include "cuda_instance.h"

/* Fills edges and launch of a device whose memory has that bandwidth in bytes per second; 0: not
 * known. Blocking: no. Thread: [any]. */
void cuda_edges_fill(const cuda_travel_t *travel, uint64_t memory, weft_kernel_props_t *props);

#endif
