/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One measured call: which buffers, and which function of weft. Buffers move on with the
 * iterations, so that small messages do not stay in the cache. */
#include "tools/perf_call.h"

#include "core/base/coll.h"
#include "tools/perf_data.h"
#include "tools/perf_job.h"
#include "tools/perf_layout.h"

perf_buffers_t perf_call_buffers(const perf_rank_t *rank, const perf_case_t *test, uint64_t i)
{
    size_t element = weft_dtype_size(test->dtype);
    uint64_t steps = test->stride > 0 ? rank->span / test->stride : 0;
    uint64_t shift = steps > 1 ? i % steps * test->stride : 0;
    shift += (uint64_t)rank->options->unalign * element;
    uint8_t *send = rank->send + shift;
    uint8_t *recv = rank->recv + shift;
    uint64_t place = test->layout->place * element;
    if (!test->in_place) {
        return (perf_buffers_t){send, recv};
    }
    switch (test->coll) {
    case WEFT_ALL_GATHER:
    case WEFT_ALL_GATHER_V:
        return (perf_buffers_t){recv + place, recv};
    case WEFT_REDUCE_SCATTER:
    case WEFT_REDUCE_SCATTER_V:
        return (perf_buffers_t){send, send + place};
    case WEFT_GATHER:
    case WEFT_GATHER_V:
        return (perf_buffers_t){rank->rank == test->root ? recv + place : send, recv};
    case WEFT_SCATTER:
    case WEFT_SCATTER_V:
        return (perf_buffers_t){send, rank->rank == test->root ? send + place : recv};
    default:
        return (perf_buffers_t){recv, recv};
    }
}

/* To the next rank and from the one before, in one group. */
static weft_status_t perf_call_shift_ring(perf_rank_t *rank, const perf_case_t *test,
                                          perf_buffers_t b, weft_call_t *call)
{
    uint32_t n = rank->nranks;
    weft_call_t second = *call;
    second.request_p = call->request_p != NULL ? call->request_p + 1 : NULL;
    weft_status_t status = weft_group_start();
    if (status != WEFT_OK) {
        return status;
    }
    status = weft_send(b.send, test->count, test->dtype, (rank->rank + 1) % n, rank->comm, call);
    if (status == WEFT_OK) {
        status = weft_recv(b.recv, test->count, test->dtype, (rank->rank + n - 1) % n, rank->comm,
                           &second);
    }
    weft_status_t ended = weft_group_end();
    return status != WEFT_OK ? status : ended;
}

static weft_status_t call_vector(perf_rank_t *rank, const perf_case_t *test, perf_buffers_t b,
                                 const weft_call_t *call)
{
    const perf_layout_t *l = test->layout;
    const weft_blocks_t send = {l->send_counts, l->send_displs};
    const weft_blocks_t recv = {l->recv_counts, l->recv_displs};
    weft_op_t op = test->op == WEFT_OP_USER ? rank->user_op : test->op;
    switch (test->coll) {
    case WEFT_ALL_GATHER_V:
        return weft_all_gather_v(b.send, b.recv, recv.counts, recv.displs, test->dtype, rank->comm,
                                 call);
    case WEFT_REDUCE_SCATTER_V:
        return weft_reduce_scatter_v(b.send, b.recv, send.counts, send.displs, test->dtype, op,
                                     rank->comm, call);
    case WEFT_GATHER_V:
        return weft_gather_v(b.send, l->send_count, b.recv, &recv, test->dtype, test->root,
                             rank->comm, call);
    case WEFT_SCATTER_V:
        return weft_scatter_v(b.send, &send, b.recv, l->recv_count, test->dtype, test->root,
                              rank->comm, call);
    default:
        return weft_all_to_all_v(b.send, &send, b.recv, &recv, test->dtype, rank->comm, call);
    }
}

static weft_status_t call_fixed(perf_rank_t *rank, const perf_case_t *test, perf_buffers_t b,
                                const weft_call_t *call)
{
    weft_comm_t *comm = rank->comm;
    weft_op_t op = test->op == WEFT_OP_USER ? rank->user_op : test->op;
    switch (test->coll) {
    case WEFT_ALL_REDUCE:
        return weft_all_reduce(b.send, b.recv, test->count, test->dtype, op, comm, call);
    case WEFT_REDUCE_SCATTER:
        return weft_reduce_scatter(b.send, b.recv, test->count, test->dtype, op, comm, call);
    case WEFT_ALL_GATHER:
        return weft_all_gather(b.send, b.recv, test->count, test->dtype, comm, call);
    case WEFT_BROADCAST:
        return weft_broadcast(b.send, b.recv, test->count, test->dtype, test->root, comm, call);
    case WEFT_REDUCE:
        return weft_reduce(b.send, b.recv, test->count, test->dtype, op, test->root, comm, call);
    case WEFT_ALL_TO_ALL:
        return weft_all_to_all(b.send, b.recv, test->count, test->dtype, comm, call);
    case WEFT_GATHER:
        return weft_gather(b.send, b.recv, test->count, test->dtype, test->root, comm, call);
    case WEFT_SCATTER:
        return weft_scatter(b.send, b.recv, test->count, test->dtype, test->root, comm, call);
    default:
        return weft_barrier(comm, call);
    }
}

weft_status_t perf_call_issue(perf_rank_t *rank, const perf_case_t *test, uint64_t i,
                              weft_request_t **request_p)
{
    uint64_t scalar = 0;
    perf_buffers_t buffers = perf_call_buffers(rank, test, i);
    weft_call_t call = {.size = sizeof call,
                        .request_p = request_p,
                        .timeout = rank->options->timeout,
                        .stream = rank->device.streams != NULL ? &rank->device.stream : NULL};
    if (test->op == WEFT_PREMULSUM) {
        perf_data_scalar(test->dtype, rank->rank, &scalar);
        call.scalar = &scalar;
    }
    if (test->coll == WEFT_SEND_RECV) {
        return perf_call_shift_ring(rank, test, buffers, &call);
    }
    return weft_coll_has_vectors(test->coll) ? call_vector(rank, test, buffers, &call)
                                             : call_fixed(rank, test, buffers, &call);
}
