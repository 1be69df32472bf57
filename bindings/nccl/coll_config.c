/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The collectives with a config for one call. */
#include "bindings/nccl/calls.h"
#include "bindings/nccl/functions.h"

NCCL_EXPORT ncclResult_t ncclAllReduceConfig(const void *send, void *recv, size_t count,
                                             ncclDataType_t dtype, ncclRedOp_t op, ncclComm_t comm,
                                             cudaStream_t stream, const ncclCollConfig_t *config)
{
    const nccl_call_t call =
        nccl_calls_collective(__func__, WEFT_ALL_REDUCE, send, recv, count, 0, stream);
    return nccl_calls_put(&call, dtype, op, comm, config);
}
NCCL_TWIN(ncclAllReduceConfig);

NCCL_EXPORT ncclResult_t ncclReduceConfig(const void *send, void *recv, size_t count,
                                          ncclDataType_t dtype, ncclRedOp_t op, int root,
                                          ncclComm_t comm, cudaStream_t stream,
                                          const ncclCollConfig_t *config)
{
    const nccl_call_t call =
        nccl_calls_collective(__func__, WEFT_REDUCE, send, recv, count, root, stream);
    return nccl_calls_put(&call, dtype, op, comm, config);
}
NCCL_TWIN(ncclReduceConfig);

NCCL_EXPORT ncclResult_t ncclBroadcastConfig(const void *send, void *recv, size_t count,
                                             ncclDataType_t dtype, int root, ncclComm_t comm,
                                             cudaStream_t stream, const ncclCollConfig_t *config)
{
    const nccl_call_t call =
        nccl_calls_collective(__func__, WEFT_BROADCAST, send, recv, count, root, stream);
    return nccl_calls_put(&call, dtype, ncclSum, comm, config);
}
NCCL_TWIN(ncclBroadcastConfig);

NCCL_EXPORT ncclResult_t ncclReduceScatterConfig(const void *send, void *recv, size_t count,
                                                 ncclDataType_t dtype, ncclRedOp_t op,
                                                 ncclComm_t comm, cudaStream_t stream,
                                                 const ncclCollConfig_t *config)
{
    const nccl_call_t call =
        nccl_calls_collective(__func__, WEFT_REDUCE_SCATTER, send, recv, count, 0, stream);
    return nccl_calls_put(&call, dtype, op, comm, config);
}
NCCL_TWIN(ncclReduceScatterConfig);

NCCL_EXPORT ncclResult_t ncclAllGatherConfig(const void *send, void *recv, size_t count,
                                             ncclDataType_t dtype, ncclComm_t comm,
                                             cudaStream_t stream, const ncclCollConfig_t *config)
{
    const nccl_call_t call =
        nccl_calls_collective(__func__, WEFT_ALL_GATHER, send, recv, count, 0, stream);
    return nccl_calls_put(&call, dtype, ncclSum, comm, config);
}
NCCL_TWIN(ncclAllGatherConfig);

NCCL_EXPORT ncclResult_t ncclAlltoAllConfig(const void *send, void *recv, size_t count,
                                            ncclDataType_t dtype, ncclComm_t comm,
                                            cudaStream_t stream, const ncclCollConfig_t *config)
{
    const nccl_call_t call =
        nccl_calls_collective(__func__, WEFT_ALL_TO_ALL, send, recv, count, 0, stream);
    return nccl_calls_put(&call, dtype, ncclSum, comm, config);
}
NCCL_TWIN(ncclAlltoAllConfig);

NCCL_EXPORT ncclResult_t ncclGatherConfig(const void *send, void *recv, size_t count,
                                          ncclDataType_t dtype, int root, ncclComm_t comm,
                                          cudaStream_t stream, const ncclCollConfig_t *config)
{
    const nccl_call_t call =
        nccl_calls_collective(__func__, WEFT_GATHER, send, recv, count, root, stream);
    return nccl_calls_put(&call, dtype, ncclSum, comm, config);
}
NCCL_TWIN(ncclGatherConfig);

NCCL_EXPORT ncclResult_t ncclScatterConfig(const void *send, void *recv, size_t count,
                                           ncclDataType_t dtype, int root, ncclComm_t comm,
                                           cudaStream_t stream, const ncclCollConfig_t *config)
{
    const nccl_call_t call =
        nccl_calls_collective(__func__, WEFT_SCATTER, send, recv, count, root, stream);
    return nccl_calls_put(&call, dtype, ncclSum, comm, config);
}
NCCL_TWIN(ncclScatterConfig);
