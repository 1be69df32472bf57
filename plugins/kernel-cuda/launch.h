/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the .cu files offer to the C files of this plugin. */
#ifndef KERNEL_CUDA_LAUNCH_H
#define KERNEL_CUDA_LAUNCH_H

#include <cuda_runtime_api.h>

#include <weft/plugin/lanes.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CUDA_THREADS_MAX 512 /* of a block; registers are allotted for it */

/* What: starts a combination on the current device and returns at once. Every operand must be memory
 * that the device can reach; *c and its scalar are copied. */
cudaError_t cuda_launch_combine(weft_dtype_t dtype, weft_op_t op, const weft_combine_t *c,
                                uint32_t blocks, cudaStream_t stream);

struct lanes_launch; /* device/run.h */

/* What: starts runs on the current device, one block per lane, and returns at once. *launch is copied,
 * what it points to is not. */
cudaError_t cuda_launch_lanes(const struct lanes_launch *launch, uint32_t threads,
                              cudaStream_t stream);

struct lanes_gate; /* device/gate.h */

/* What: puts a gate into the stream, and returns at once. */
cudaError_t cuda_launch_gate(struct lanes_gate *gate, uint64_t number, cudaStream_t stream);

/* What: how many blocks of runs one processor of the current device holds. */
cudaError_t cuda_launch_lanes_most(uint32_t threads, int *blocks_p);

/* What: answers whether this build has code for the current device; cudaErrorNoKernelImageForDevice. */
cudaError_t cuda_launch_usable(void);

#ifdef __cplusplus
}
#endif
#endif
