/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From NCCL's arguments to weft's. */
#include "bindings/nccl/call.h"

#include "bindings/nccl/cuda.h"
#include "bindings/nccl/tables.h"
#include "bindings/nccl/window.h"

static bool call_reduces(weft_coll_t coll)
{
    return coll == WEFT_ALL_REDUCE || coll == WEFT_REDUCE || coll == WEFT_REDUCE_SCATTER;
}

static ncclResult_t call_set_op(nccl_call_t *call, ncclDataType_t dtype, ncclRedOp_t op)
{
    if (!call_reduces(call->coll)) {
        return ncclSuccess;
    }
    if ((int)op < (int)ncclNumOps) {
        return nccl_table_op(call->name, op, &call->op);
    }
    call->op = WEFT_PREMULSUM;
    return nccl_factor_get(call->name, call->comm, op, dtype, &call->factor);
}

ncclResult_t nccl_call_prepare(nccl_call_t *call, ncclDataType_t dtype, ncclRedOp_t op,
                               ncclComm_t comm)
{
    ncclResult_t result = nccl_comm_enter(call->name, comm);
    if (result != ncclSuccess) {
        return result;
    }
    call->comm = comm;
    result = nccl_comm_check_usable(call->name, comm);
    result = result == ncclSuccess ? nccl_table_dtype(call->name, dtype, &call->dtype) : result;
    result = result == ncclSuccess ? call_set_op(call, dtype, op) : result;
    if (result == ncclSuccess && call->root >= (uint32_t)comm->nranks) {
        result = nccl_fail(ncclInvalidArgument, "%s: no rank %d, there are 0 to %d", call->name,
                           (int)call->root, comm->nranks - 1);
    }
    if (result == ncclSuccess && call->end == NCCL_END_PUT) {
        result = nccl_window_hold(call->name, comm, call->window);
    }
    if (result != ncclSuccess) {
        nccl_comm_release(comm);
    }
    return result;
}

void nccl_call_release(const nccl_call_t *call)
{
    nccl_window_release(call->window);
    nccl_comm_release(call->comm);
}

static weft_status_t call_dispatch_to_peer(const nccl_call_t *c, const weft_call_t *options)
{
    weft_comm_t *comm = c->comm->weft;
    switch (c->end) {
    case NCCL_END_PUT:
        return weft_put_signal(c->send, c->count, c->dtype, c->root, nccl_window_of_weft(c->window),
                               c->offset, comm, options);
    case NCCL_END_SIGNAL:
        return weft_signal(c->root, comm, options);
    case NCCL_END_WAIT:
        return weft_wait_signal(c->root, c->count, comm, options);
    case NCCL_END_RECV:
        return weft_recv(c->recv, c->count, c->dtype, c->root, comm, options);
    default:
        return weft_send(c->send, c->count, c->dtype, c->root, comm, options);
    }
}

static weft_status_t call_dispatch(const nccl_call_t *c, const weft_call_t *options)
{
    weft_comm_t *comm = c->comm->weft;
    switch (c->coll) {
    case WEFT_ALL_REDUCE:
        return weft_all_reduce(c->send, c->recv, c->count, c->dtype, c->op, comm, options);
    case WEFT_REDUCE_SCATTER:
        return weft_reduce_scatter(c->send, c->recv, c->count, c->dtype, c->op, comm, options);
    case WEFT_REDUCE:
        return weft_reduce(c->send, c->recv, c->count, c->dtype, c->op, c->root, comm, options);
    case WEFT_ALL_GATHER:
        return weft_all_gather(c->send, c->recv, c->count, c->dtype, comm, options);
    case WEFT_BROADCAST:
        return weft_broadcast(c->send, c->recv, c->count, c->dtype, c->root, comm, options);
    case WEFT_ALL_TO_ALL:
        return weft_all_to_all(c->send, c->recv, c->count, c->dtype, comm, options);
    case WEFT_GATHER:
        return weft_gather(c->send, c->recv, c->count, c->dtype, c->root, comm, options);
    case WEFT_SCATTER:
        return weft_scatter(c->send, c->recv, c->count, c->dtype, c->root, comm, options);
    default:
        return call_dispatch_to_peer(c, options);
    }
}

ncclResult_t nccl_call_start(const nccl_call_t *call)
{
    void *stream = call->stream;
    weft_call_t options = {.size = sizeof options};
    if (call->window != NULL && nccl_window_of_weft(call->window) == NULL) {
        return nccl_fail(ncclInvalidArgument,
                         "%s: the window was deregistered before the end of the group", call->name);
    }
    if (call->comm->streams) {
        options.stream = &stream;
    } else {
        ncclResult_t result = nccl_cuda_settle(call->name, call->stream);
        if (result != ncclSuccess) {
            return result;
        }
    }
    if (call->op == WEFT_PREMULSUM) {
        options.scalar = call->factor.at != NULL ? call->factor.at : call->factor.bytes;
        options.scalar_read = call->factor.at != NULL ? WEFT_SCALAR_AT_RUN : WEFT_SCALAR_AT_CALL;
    }
    return nccl_report(call->name, call_dispatch(call, &options), call->comm->weft);
}

ncclResult_t nccl_call_predict(const nccl_call_t *call, nccl_price_t *price)
{
    double seconds = 0;
    if (call->end == NCCL_END_WAIT) {
        return ncclSuccess;
    }
    weft_status_t status = weft_comm_predict(call->comm->weft, call->coll, call->count, call->dtype,
                                             call->op, call->root, &seconds);
    if (call->coll != WEFT_SEND_RECV) {
        price->collectives += seconds;
    } else if (call->end == NCCL_END_RECV) {
        price->receives += seconds;
    } else {
        price->sends += seconds;
    }
    return nccl_report(call->name, status, call->comm->weft);
}
