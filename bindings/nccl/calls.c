/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives, sends and receives. */
#include "bindings/nccl/calls.h"

#include "bindings/nccl/config.h"
#include "bindings/nccl/functions.h"
#include "bindings/nccl/group.h"

ncclResult_t nccl_calls_put(const nccl_call_t *what, ncclDataType_t dtype, ncclRedOp_t op,
                            ncclComm_t comm, const ncclCollConfig_t *config)
{
    nccl_call_t call = *what;
    ncclResult_t result = nccl_coll_config_read(call.name, config);
    result = result == ncclSuccess ? nccl_call_prepare(&call, dtype, op, comm) : result;
    return result == ncclSuccess ? nccl_group_call(&call) : nccl_group_fail(result);
}

NCCL_EXPORT ncclResult_t ncclAllReduce(const void *send, void *recv, size_t count,
                                       ncclDataType_t dtype, ncclRedOp_t op, ncclComm_t comm,
                                       cudaStream_t stream)
{
    const nccl_call_t call =
        nccl_calls_collective(__func__, WEFT_ALL_REDUCE, send, recv, count, 0, stream);
    return nccl_calls_put(&call, dtype, op, comm, NULL);
}
NCCL_TWIN(ncclAllReduce);

NCCL_EXPORT ncclResult_t ncclReduce(const void *send, void *recv, size_t count,
                                    ncclDataType_t dtype, ncclRedOp_t op, int root, ncclComm_t comm,
                                    cudaStream_t stream)
{
    const nccl_call_t call =
        nccl_calls_collective(__func__, WEFT_REDUCE, send, recv, count, root, stream);
    return nccl_calls_put(&call, dtype, op, comm, NULL);
}
NCCL_TWIN(ncclReduce);

NCCL_EXPORT ncclResult_t ncclBroadcast(const void *send, void *recv, size_t count,
                                       ncclDataType_t dtype, int root, ncclComm_t comm,
                                       cudaStream_t stream)
{
    const nccl_call_t call =
        nccl_calls_collective(__func__, WEFT_BROADCAST, send, recv, count, root, stream);
    return nccl_calls_put(&call, dtype, ncclSum, comm, NULL);
}
NCCL_TWIN(ncclBroadcast);

NCCL_EXPORT ncclResult_t ncclReduceScatter(const void *send, void *recv, size_t count,
                                           ncclDataType_t dtype, ncclRedOp_t op, ncclComm_t comm,
                                           cudaStream_t stream)
{
    const nccl_call_t call =
        nccl_calls_collective(__func__, WEFT_REDUCE_SCATTER, send, recv, count, 0, stream);
    return nccl_calls_put(&call, dtype, op, comm, NULL);
}
NCCL_TWIN(ncclReduceScatter);

NCCL_EXPORT ncclResult_t ncclAllGather(const void *send, void *recv, size_t count,
                                       ncclDataType_t dtype, ncclComm_t comm, cudaStream_t stream)
{
    const nccl_call_t call =
        nccl_calls_collective(__func__, WEFT_ALL_GATHER, send, recv, count, 0, stream);
    return nccl_calls_put(&call, dtype, ncclSum, comm, NULL);
}
NCCL_TWIN(ncclAllGather);

NCCL_EXPORT ncclResult_t ncclAlltoAll(const void *send, void *recv, size_t count,
                                      ncclDataType_t dtype, ncclComm_t comm, cudaStream_t stream)
{
    const nccl_call_t call =
        nccl_calls_collective(__func__, WEFT_ALL_TO_ALL, send, recv, count, 0, stream);
    return nccl_calls_put(&call, dtype, ncclSum, comm, NULL);
}
NCCL_TWIN(ncclAlltoAll);

NCCL_EXPORT ncclResult_t ncclGather(const void *send, void *recv, size_t count,
                                    ncclDataType_t dtype, int root, ncclComm_t comm,
                                    cudaStream_t stream)
{
    const nccl_call_t call =
        nccl_calls_collective(__func__, WEFT_GATHER, send, recv, count, root, stream);
    return nccl_calls_put(&call, dtype, ncclSum, comm, NULL);
}
NCCL_TWIN(ncclGather);

NCCL_EXPORT ncclResult_t ncclScatter(const void *send, void *recv, size_t count,
                                     ncclDataType_t dtype, int root, ncclComm_t comm,
                                     cudaStream_t stream)
{
    const nccl_call_t call =
        nccl_calls_collective(__func__, WEFT_SCATTER, send, recv, count, root, stream);
    return nccl_calls_put(&call, dtype, ncclSum, comm, NULL);
}
NCCL_TWIN(ncclScatter);

/* The old form: in place. */
NCCL_EXPORT ncclResult_t ncclBcast(void *buffer, size_t count, ncclDataType_t dtype, int root,
                                   ncclComm_t comm, cudaStream_t stream)
{
    const nccl_call_t call =
        nccl_calls_collective(__func__, WEFT_BROADCAST, buffer, buffer, count, root, stream);
    return nccl_calls_put(&call, dtype, ncclSum, comm, NULL);
}
NCCL_TWIN(ncclBcast);

NCCL_EXPORT ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t dtype, int peer,
                                  ncclComm_t comm, cudaStream_t stream)
{
    const nccl_call_t call = {.name = __func__,
                              .coll = WEFT_SEND_RECV,
                              .send = send,
                              .count = count,
                              .root = (uint32_t)peer,
                              .stream = stream};
    return nccl_calls_put(&call, dtype, ncclSum, comm, NULL);
}
NCCL_TWIN(ncclSend);

NCCL_EXPORT ncclResult_t ncclRecv(void *recv, size_t count, ncclDataType_t dtype, int peer,
                                  ncclComm_t comm, cudaStream_t stream)
{
    const nccl_call_t call = {.name = __func__,
                              .coll = WEFT_SEND_RECV,
                              .end = NCCL_END_RECV,
                              .recv = recv,
                              .count = count,
                              .root = (uint32_t)peer,
                              .stream = stream};
    return nccl_calls_put(&call, dtype, ncclSum, comm, NULL);
}
NCCL_TWIN(ncclRecv);
