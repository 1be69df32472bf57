/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Puts into windows of peers, signals, and waits for them. As with NCCL 2.30 a peer's signals are
 * one number: there is signal 0 of context 0 only. */
#include "bindings/nccl/calls.h"
#include "bindings/nccl/functions.h"
#include "bindings/nccl/group.h"

static ncclResult_t one_sided_check(const char *call, int signal, int context, unsigned flags)
{
    if (signal != 0 || context != 0) {
        return nccl_fail(ncclInvalidArgument, "%s: %s is %d, there is 0 only", call,
                         signal != 0 ? "sigIdx" : "ctx", signal != 0 ? signal : context);
    }
    return flags == 0
               ? ncclSuccess
               : nccl_fail(ncclInvalidArgument, "%s: flags are 0x%x, there are none", call, flags);
}

/* What each of the three has. */
static nccl_call_t one_sided_call(const char *name, nccl_end_t end, int peer, cudaStream_t stream)
{
    return (nccl_call_t){
        .name = name, .coll = WEFT_SEND_RECV, .end = end, .root = (uint32_t)peer, .stream = stream};
}

NCCL_EXPORT ncclResult_t ncclPutSignal(const void *local, size_t count, ncclDataType_t dtype,
                                       int peer, ncclWindow_t window, size_t offset, int signal,
                                       int context, unsigned flags, ncclComm_t comm,
                                       cudaStream_t stream)
{
    nccl_call_t call = one_sided_call(__func__, NCCL_END_PUT, peer, stream);
    ncclResult_t result = one_sided_check(__func__, signal, context, flags);
    call.send = local;
    call.count = count;
    call.window = window;
    call.offset = offset;
    return result == ncclSuccess ? nccl_calls_put(&call, dtype, ncclSum, comm, NULL)
                                 : nccl_group_fail(result);
}
NCCL_TWIN(ncclPutSignal);

NCCL_EXPORT ncclResult_t ncclSignal(int peer, int signal, int context, unsigned flags,
                                    ncclComm_t comm, cudaStream_t stream)
{
    const nccl_call_t call = one_sided_call(__func__, NCCL_END_SIGNAL, peer, stream);
    ncclResult_t result = one_sided_check(__func__, signal, context, flags);
    return result == ncclSuccess ? nccl_calls_put(&call, ncclUint8, ncclSum, comm, NULL)
                                 : nccl_group_fail(result);
}
NCCL_TWIN(ncclSignal);

static ncclResult_t wait_put(const char *name, const ncclWaitSignalDesc_t *wait, ncclComm_t comm,
                             cudaStream_t stream)
{
    nccl_call_t call = one_sided_call(name, NCCL_END_WAIT, wait->peer, stream);
    ncclResult_t result = one_sided_check(name, wait->sigIdx, wait->ctx, 0);
    if (result == ncclSuccess && wait->opCnt <= 0) {
        result =
            nccl_fail(ncclInvalidArgument, "%s: opCnt is %d, it is 1 at least", name, wait->opCnt);
    }
    call.count = result == ncclSuccess ? (uint64_t)wait->opCnt : 0;
    return result == ncclSuccess ? nccl_calls_put(&call, ncclUint8, ncclSum, comm, NULL)
                                 : nccl_group_fail(result);
}

NCCL_EXPORT ncclResult_t ncclWaitSignal(int count, ncclWaitSignalDesc_t *waits, ncclComm_t comm,
                                        cudaStream_t stream)
{
    if (count <= 0 || waits == NULL) {
        return nccl_group_fail(
            nccl_fail(ncclInvalidArgument, "%s: %s", __func__,
                      count <= 0 ? "nDesc is 1 at least" : "signalDescs is NULL"));
    }
    ncclResult_t result = ncclSuccess;
    nccl_group_start();
    for (int i = 0; i < count && result == ncclSuccess; i++) {
        result = wait_put(__func__, &waits[i], comm, stream);
    }
    ncclResult_t ended = nccl_group_end(__func__);
    return result != ncclSuccess ? result : ended;
}
NCCL_TWIN(ncclWaitSignal);
