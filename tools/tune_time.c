/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See tune_time.h. */
#include "tools/tune_time.h"

#include <stdlib.h>

#include "core/base/coll.h"
#include "core/base/error.h"
#include "core/os/os.h"
#include "tools/tune_race.h"

static weft_status_t time_call(const tune_rank_t *rank, weft_comm_t *comm, const weft_args_t *args)
{
    const weft_dtype_t dtype = args->dtype;
    const uint64_t count = args->count;
    switch (args->coll) {
    case WEFT_ALL_REDUCE:
        return weft_all_reduce(rank->send, rank->recv, count, dtype, WEFT_SUM, comm, NULL);
    case WEFT_REDUCE_SCATTER:
        return weft_reduce_scatter(rank->send, rank->recv, count, dtype, WEFT_SUM, comm, NULL);
    case WEFT_ALL_GATHER:
        return weft_all_gather(rank->send, rank->recv, count, dtype, comm, NULL);
    case WEFT_BROADCAST:
        return weft_broadcast(rank->send, rank->recv, count, dtype, 0, comm, NULL);
    case WEFT_REDUCE:
        return weft_reduce(rank->send, rank->recv, count, dtype, WEFT_SUM, 0, comm, NULL);
    case WEFT_ALL_TO_ALL:
        return weft_all_to_all(rank->send, rank->recv, count, dtype, comm, NULL);
    case WEFT_GATHER:
        return weft_gather(rank->send, rank->recv, count, dtype, 0, comm, NULL);
    case WEFT_SCATTER:
        return weft_scatter(rank->send, rank->recv, count, dtype, 0, comm, NULL);
    default:
        return weft_fail(WEFT_ERR_UNSUPPORTED, 0, "%s is not tuned", weft_coll_name(args->coll));
    }
}

/* Seconds of a call, of `calls` in a row on the slowest rank. */
static weft_status_t time_row(const tune_rank_t *rank, weft_comm_t *comm, const weft_args_t *args,
                              uint32_t calls, double *seconds_p)
{
    weft_status_t status = weft_barrier(rank->comm, NULL);
    const uint64_t begin = weft_os_clock_ns();
    for (uint32_t i = 0; i < calls && status == WEFT_OK; i++) {
        status = time_call(rank, comm, args);
    }
    const double mine = (double)(weft_os_clock_ns() - begin) * 1e-9 / calls;
    return status != WEFT_OK
               ? status
               : weft_all_reduce(&mine, seconds_p, 1, WEFT_FP64, WEFT_MAX, rank->comm, NULL);
}

/* True if data goes from the root to the others. */
static bool time_goes_down(weft_coll_t coll)
{
    return coll == WEFT_BROADCAST || coll == WEFT_SCATTER;
}

/* The root of a call that goes down begins when all others have come to it. Else the others begin
 * when the root tells them. Not by collectives, in whose algorithms ranks would leave in other
 * orders. */
static weft_status_t time_meet(const tune_rank_t *rank, bool down)
{
    uint8_t word = 0;
    weft_status_t status = WEFT_OK;
    if (rank->rank != 0) {
        return down ? weft_send(&word, 1, WEFT_UINT8, 0, rank->comm, NULL)
                    : weft_recv(&word, 1, WEFT_UINT8, 0, rank->comm, NULL);
    }
    for (uint32_t r = 1; r < rank->nranks && status == WEFT_OK; r++) {
        status = down ? weft_recv(&word, 1, WEFT_UINT8, r, rank->comm, NULL)
                      : weft_send(&word, 1, WEFT_UINT8, r, rank->comm, NULL);
    }
    return status;
}

/* Seconds of a call, of `calls` that are begun apart: from when the root begins until the last rank
 * has ended, or from when the others begin, in the mean, until the root has ended. */
static weft_status_t time_apart(const tune_rank_t *rank, weft_comm_t *comm, const weft_args_t *args,
                                uint32_t calls, double *seconds_p)
{
    const bool root = rank->rank == 0, down = time_goes_down(args->coll);
    uint64_t zero = weft_os_clock_ns();
    double *begins = calloc(calls, 2 * sizeof *begins);
    if (begins == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for the times of %u calls", calls);
    }
    double *ends = begins + calls;
    weft_status_t status = weft_broadcast(&zero, &zero, 1, WEFT_UINT64, 0, rank->comm, NULL);
    zero -= (uint64_t)rank->clock;
    for (uint32_t i = 0; i < calls && status == WEFT_OK; i++) {
        status = time_meet(rank, down);
        const double begin = (double)(int64_t)(weft_os_clock_ns() - zero) * 1e-9;
        status = status != WEFT_OK ? status : time_call(rank, comm, args);
        const double end = (double)(int64_t)(weft_os_clock_ns() - zero) * 1e-9;
        begins[i] = root != down ? 0 : down ? begin : begin / (rank->nranks - 1);
        ends[i] = root || down ? end : 0;
    }
    status = status != WEFT_OK
                 ? status
                 : weft_all_reduce(begins, begins, calls, WEFT_FP64, WEFT_SUM, rank->comm, NULL);
    status = status != WEFT_OK
                 ? status
                 : weft_all_reduce(ends, ends, calls, WEFT_FP64, WEFT_MAX, rank->comm, NULL);
    for (uint32_t i = 0; i < calls && status == WEFT_OK; i++) {
        ends[i] -= begins[i];
    }
    if (status == WEFT_OK) {
        const double middle = tune_race_middle_of(ends, calls);
        *seconds_p = middle > 0 ? middle : 0; /* two clocks are never quite one */
    }
    free(begins);
    return status;
}

weft_status_t tune_time(const tune_rank_t *rank, weft_comm_t *comm, const weft_args_t *args,
                        uint32_t calls, double *seconds_p)
{
    return weft_coll_is_rooted(args->coll) ? time_apart(rank, comm, args, calls, seconds_p)
                                           : time_row(rank, comm, args, calls, seconds_p);
}
