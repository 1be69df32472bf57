/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The program's CUDA: looked up when it is needed, because this library is built and loaded
 * without. The runtime comes first, which is a library of the program's choice; a program that has
 * it linked in statically is served through the driver. */
#ifndef BINDINGS_NCCL_CUDA_H
#define BINDINGS_NCCL_CUDA_H

#include "bindings/nccl/types.h"

/* Whether the process has loaded CUDA. */
bool nccl_cuda_loaded(void);
/* The current device of this thread; 0 if there is none. */
int nccl_cuda_device(void);
/* How many devices there are; 0 if there are none, or no CUDA. */
int nccl_cuda_device_count(void);
/* Waits for all that is in the stream, for calls that the host computes. Without a driver or a
 * device there is nothing. */
ncclResult_t nccl_cuda_settle(const char *call, cudaStream_t stream);
/* Memory of the current device. */
ncclResult_t nccl_cuda_alloc(void **memory_p, size_t bytes);
ncclResult_t nccl_cuda_free(void *memory);

#endif
