/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Functions of the .cu files that the C files call. */
#ifndef KERNEL_CUDA_LAUNCH_H
#define KERNEL_CUDA_LAUNCH_H

#include <stdbool.h>

#include <cuda_runtime_api.h>

#include <weft/plugin/draft/lanes.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CUDA_THREADS_MAX 512 /* most threads of a block; the compiler allots registers for it */

/* Launches a combination on the current device. All operands are memory that the device can access.
 * Copies *c and its scalar. Blocking: no. */
cudaError_t cuda_launch_combine(weft_dtype_t dtype, weft_op_t op, const weft_combine_t *c,
                                uint32_t blocks, cudaStream_t stream);

struct lanes_launch; /* device/run.h */

/* Launches runs on the current device, one block per lane. `remote`: in the domain of memory
 * synchronisation for kernels that talk to other devices, if the device has several. Copies
 * *launch, but not what it points to. Blocking: no. */
cudaError_t cuda_launch_lanes(const struct lanes_launch *launch, uint32_t threads, bool remote,
                              cudaStream_t stream);

struct lanes_host_wait; /* device/device_host_wait.h */

/* Enqueues a host wait into the stream. Blocking: no. */
cudaError_t cuda_launch_host_wait(struct lanes_host_wait *wait, uint64_t number,
                                  cudaStream_t stream);

/* Stores how many blocks of runs are resident on one multiprocessor of the current device. */
cudaError_t cuda_launch_lanes_max(uint32_t threads, int *blocks_p);

/* Returns cudaErrorNoKernelImageForDevice if this build has no code for the current device. */
cudaError_t cuda_launch_usable(void);

#ifdef __cplusplus
}
#endif
#endif
