/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A profiler in NCCL's manner, loaded before the library, that gets it wrong: sums become maxima.
 * The programs of others must notice. */
#include "bindings/nccl/types.h"

#include "bindings/nccl/functions.h"

NCCL_EXPORT __typeof__(ncclAllReduce) pncclAllReduce;

ncclResult_t ncclAllReduce(const void *send, void *recv, size_t count, ncclDataType_t dtype,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
    return pncclAllReduce(send, recv, count, dtype, op == ncclSum ? ncclMax : op, comm, stream);
}
