/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Entry points of collectives, vector collectives, sends and receives. */
#include "core/comm/call.h"

/* Collectives ---------------------------------------------------------------------------------- */

weft_status_t weft_all_reduce(const void *send, void *recv, uint64_t count, weft_dtype_t dtype,
                              weft_op_t op, weft_comm_t *comm, const weft_call_t *call)
{
    weft_args_t args = {.send = send,
                        .recv = recv,
                        .count = count,
                        .coll = WEFT_ALL_REDUCE,
                        .dtype = dtype,
                        .op = op};
    return weft_comm_call(comm, &args, call);
}

weft_status_t weft_reduce_scatter(const void *send, void *recv, uint64_t count, weft_dtype_t dtype,
                                  weft_op_t op, weft_comm_t *comm, const weft_call_t *call)
{
    weft_args_t args = {.send = send,
                        .recv = recv,
                        .count = count,
                        .coll = WEFT_REDUCE_SCATTER,
                        .dtype = dtype,
                        .op = op};
    return weft_comm_call(comm, &args, call);
}

weft_status_t weft_all_gather(const void *send, void *recv, uint64_t count, weft_dtype_t dtype,
                              weft_comm_t *comm, const weft_call_t *call)
{
    weft_args_t args = {
        .send = send, .recv = recv, .count = count, .coll = WEFT_ALL_GATHER, .dtype = dtype};
    return weft_comm_call(comm, &args, call);
}

weft_status_t weft_broadcast(const void *send, void *recv, uint64_t count, weft_dtype_t dtype,
                             uint32_t root, weft_comm_t *comm, const weft_call_t *call)
{
    weft_args_t args = {.send = send,
                        .recv = recv,
                        .count = count,
                        .coll = WEFT_BROADCAST,
                        .dtype = dtype,
                        .root = root};
    return weft_comm_call(comm, &args, call);
}

weft_status_t weft_reduce(const void *send, void *recv, uint64_t count, weft_dtype_t dtype,
                          weft_op_t op, uint32_t root, weft_comm_t *comm, const weft_call_t *call)
{
    weft_args_t args = {.send = send,
                        .recv = recv,
                        .count = count,
                        .coll = WEFT_REDUCE,
                        .dtype = dtype,
                        .op = op,
                        .root = root};
    return weft_comm_call(comm, &args, call);
}

weft_status_t weft_barrier(weft_comm_t *comm, const weft_call_t *call)
{
    weft_args_t args = {.coll = WEFT_BARRIER, .dtype = WEFT_UINT8};
    return weft_comm_call(comm, &args, call);
}

weft_status_t weft_all_to_all(const void *send, void *recv, uint64_t count, weft_dtype_t dtype,
                              weft_comm_t *comm, const weft_call_t *call)
{
    weft_args_t args = {
        .send = send, .recv = recv, .count = count, .coll = WEFT_ALL_TO_ALL, .dtype = dtype};
    return weft_comm_call(comm, &args, call);
}

weft_status_t weft_gather(const void *send, void *recv, uint64_t count, weft_dtype_t dtype,
                          uint32_t root, weft_comm_t *comm, const weft_call_t *call)
{
    weft_args_t args = {.send = send,
                        .recv = recv,
                        .count = count,
                        .coll = WEFT_GATHER,
                        .dtype = dtype,
                        .root = root};
    return weft_comm_call(comm, &args, call);
}

weft_status_t weft_scatter(const void *send, void *recv, uint64_t count, weft_dtype_t dtype,
                           uint32_t root, weft_comm_t *comm, const weft_call_t *call)
{
    weft_args_t args = {.send = send,
                        .recv = recv,
                        .count = count,
                        .coll = WEFT_SCATTER,
                        .dtype = dtype,
                        .root = root};
    return weft_comm_call(comm, &args, call);
}

/* Vector collectives --------------------------------------------------------------------------- */

weft_status_t weft_all_gather_v(const void *send, void *recv, const uint64_t *recv_counts,
                                const uint64_t *recv_displs, weft_dtype_t dtype, weft_comm_t *comm,
                                const weft_call_t *call)
{
    weft_blocks_t blocks = {.counts = recv_counts, .displs = recv_displs};
    weft_args_t args = {.send = send,
                        .recv = recv,
                        .coll = WEFT_ALL_GATHER_V,
                        .dtype = dtype,
                        .out_blocks = &blocks};
    return weft_comm_call(comm, &args, call);
}

weft_status_t weft_reduce_scatter_v(const void *send, void *recv, const uint64_t *counts,
                                    const uint64_t *send_displs, weft_dtype_t dtype, weft_op_t op,
                                    weft_comm_t *comm, const weft_call_t *call)
{
    weft_blocks_t blocks = {.counts = counts, .displs = send_displs};
    weft_args_t args = {.send = send,
                        .recv = recv,
                        .coll = WEFT_REDUCE_SCATTER_V,
                        .dtype = dtype,
                        .op = op,
                        .in_blocks = &blocks};
    return weft_comm_call(comm, &args, call);
}

weft_status_t weft_all_to_all_v(const void *send, const weft_blocks_t *send_blocks, void *recv,
                                const weft_blocks_t *recv_blocks, weft_dtype_t dtype,
                                weft_comm_t *comm, const weft_call_t *call)
{
    weft_args_t args = {.send = send,
                        .recv = recv,
                        .coll = WEFT_ALL_TO_ALL_V,
                        .dtype = dtype,
                        .in_blocks = send_blocks,
                        .out_blocks = recv_blocks};
    return weft_comm_call(comm, &args, call);
}

weft_status_t weft_gather_v(const void *send, uint64_t send_count, void *recv,
                            const weft_blocks_t *recv_blocks, weft_dtype_t dtype, uint32_t root,
                            weft_comm_t *comm, const weft_call_t *call)
{
    weft_args_t args = {.send = send,
                        .recv = recv,
                        .count = send_count,
                        .coll = WEFT_GATHER_V,
                        .dtype = dtype,
                        .root = root,
                        .out_blocks = recv_blocks};
    return weft_comm_call(comm, &args, call);
}

weft_status_t weft_scatter_v(const void *send, const weft_blocks_t *send_blocks, void *recv,
                             uint64_t recv_count, weft_dtype_t dtype, uint32_t root,
                             weft_comm_t *comm, const weft_call_t *call)
{
    weft_args_t args = {.send = send,
                        .recv = recv,
                        .count = recv_count,
                        .coll = WEFT_SCATTER_V,
                        .dtype = dtype,
                        .root = root,
                        .in_blocks = send_blocks};
    return weft_comm_call(comm, &args, call);
}

/* Point to point ------------------------------------------------------------------------------- */

weft_status_t weft_send(const void *send, uint64_t count, weft_dtype_t dtype, uint32_t peer,
                        weft_comm_t *comm, const weft_call_t *call)
{
    weft_args_t args = {.send = send,
                        .count = count,
                        .coll = WEFT_SEND_RECV,
                        .dtype = dtype,
                        .root = peer,
                        .sends = true};
    return weft_comm_call(comm, &args, call);
}

weft_status_t weft_recv(void *recv, uint64_t count, weft_dtype_t dtype, uint32_t peer,
                        weft_comm_t *comm, const weft_call_t *call)
{
    weft_args_t args = {
        .recv = recv, .count = count, .coll = WEFT_SEND_RECV, .dtype = dtype, .root = peer};
    return weft_comm_call(comm, &args, call);
}
