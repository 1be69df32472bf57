/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the ranks of `weft perf` tell each other beside the measurement. It goes through weft's own
 * all-reduce and barrier, or through sends and receives along a binomial tree where the algorithm
 * that [plan] algo forces serves no all-reduce. */
#include "tools/perf_sync.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "tools/perf_job.h"

static weft_call_t perf_sync_call_of(const perf_rank_t *rank)
{
    return (weft_call_t){.size = sizeof(weft_call_t), .timeout = rank->options->timeout};
}

static void perf_sync_fold(double *values, const double *more, uint32_t count, weft_op_t op)
{
    for (uint32_t i = 0; i < count; i++) {
        double a = values[i];
        double b = more[i];
        values[i] = op == WEFT_SUM ? a + b : op == WEFT_MIN ? (a < b ? a : b) : (a > b ? a : b);
    }
}

/* Up: folds what the children send into `values`, then sends them to the parent. Returns the bit in
 * which this rank differs from its parent; for rank 0, the first one beyond all ranks. */
static weft_status_t perf_sync_tree_up(perf_rank_t *rank, double *values, double *room,
                                       uint32_t count, weft_op_t op, uint32_t *bit_p)
{
    weft_call_t call = perf_sync_call_of(rank);
    weft_status_t status = WEFT_OK;
    uint32_t bit = 1;
    for (; bit < rank->nranks && (rank->rank & bit) == 0 && status == WEFT_OK; bit *= 2) {
        if (rank->rank + bit < rank->nranks) {
            status = weft_recv(room, count, WEFT_FP64, rank->rank + bit, rank->comm, &call);
            perf_sync_fold(values, room, status == WEFT_OK ? count : 0, op);
        }
    }
    *bit_p = bit;
    if (rank->rank > 0 && status == WEFT_OK) {
        status = weft_send(values, count, WEFT_FP64, rank->rank - bit, rank->comm, &call);
    }
    return status;
}

static weft_status_t perf_sync_tree_down(perf_rank_t *rank, double *values, uint32_t count,
                                         uint32_t bit)
{
    weft_call_t call = perf_sync_call_of(rank);
    weft_status_t status = WEFT_OK;
    if (rank->rank > 0) {
        status = weft_recv(values, count, WEFT_FP64, rank->rank - bit, rank->comm, &call);
    }
    for (bit /= 2; bit > 0 && status == WEFT_OK; bit /= 2) {
        if (rank->rank + bit < rank->nranks) {
            status = weft_send(values, count, WEFT_FP64, rank->rank + bit, rank->comm, &call);
        }
    }
    return status;
}

static weft_status_t perf_sync_reduce_by_tree(perf_rank_t *rank, double *values, uint32_t count,
                                              weft_op_t op)
{
    uint32_t bit = 0;
    double *room = calloc((size_t)count + 1, sizeof *room);
    if (room == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for %u numbers", count);
    }
    weft_status_t status = perf_sync_tree_up(rank, values, room, count, op, &bit);
    status = status != WEFT_OK ? status : perf_sync_tree_down(rank, values, count, bit);
    free(room);
    return status;
}

weft_status_t perf_reduce(perf_rank_t *rank, double *values, uint32_t count, weft_op_t op)
{
    weft_call_t call = perf_sync_call_of(rank);
    if (rank->support.by_hand) {
        return perf_sync_reduce_by_tree(rank, values, count, op);
    }
    return weft_all_reduce(values, values, count, WEFT_FP64, op, rank->comm, &call);
}

weft_status_t perf_barrier(perf_rank_t *rank)
{
    weft_call_t call = perf_sync_call_of(rank);
    double none = 0;
    return rank->support.by_hand ? perf_sync_reduce_by_tree(rank, &none, 0, WEFT_SUM)
                                 : weft_barrier(rank->comm, &call);
}

weft_status_t perf_combine(perf_rank_t *rank, double *values, uint32_t count, int64_t average)
{
    static const weft_op_t ops[] = {WEFT_SUM, WEFT_SUM, WEFT_MIN, WEFT_MAX};
    for (uint32_t i = 0; i < count; i++) {
        values[i] = average == 0 && rank->rank != 0 ? 0 : values[i];
    }
    weft_status_t status = perf_reduce(rank, values, count, ops[average]);
    for (uint32_t i = 0; i < count; i++) {
        values[i] /= average == 1 ? rank->nranks : 1;
    }
    return status;
}

/* Where the others' bytes are 0, the sum is everybody's. */
static weft_status_t perf_sync_collect(perf_rank_t *rank, const void *mine, uint32_t bytes,
                                       uint8_t *all)
{
    weft_call_t call = perf_sync_call_of(rank);
    uint64_t total = (uint64_t)bytes * rank->nranks;
    memset(all, 0, total);
    memcpy(all + (uint64_t)bytes * rank->rank, mine, bytes);
    return weft_all_reduce(all, all, total, WEFT_UINT8, WEFT_SUM, rank->comm, &call);
}

weft_status_t perf_collect(perf_rank_t *rank, const void *mine, uint32_t bytes, void *all)
{
    const uint8_t *from = mine;
    uint8_t *to = all;
    uint32_t total = bytes * rank->nranks;
    if (!rank->support.by_hand) {
        return perf_sync_collect(rank, mine, bytes, all);
    }
    double *numbers = calloc(total, sizeof *numbers);
    if (numbers == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for a list of %u ranks",
                         rank->nranks);
    }
    for (uint32_t i = 0; i < bytes; i++) {
        numbers[rank->rank * bytes + i] = from[i];
    }
    weft_status_t status = perf_reduce(rank, numbers, total, WEFT_SUM);
    for (uint32_t i = 0; i < total && status == WEFT_OK; i++) {
        to[i] = (uint8_t)numbers[i];
    }
    free(numbers);
    return status;
}
