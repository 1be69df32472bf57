/* SPDX-License-Identifier: BSD-3-Clause
 *
 * weft's side of bench/compare. Ranks are forked, or joined by a launcher's variables (-l). With -w
 * the buffers are memory of weft_mem_alloc in windows. Options are "section.key=value". */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <weft/weft.h>

#include "beside.h"

static weft_comm_t *comm;
static uint32_t side_rank, side_ranks;

/* The id that rank 0 made, for the others: in the second half of the shared page. */
typedef struct side_id {
    _Atomic int ready;
    weft_unique_id_t id;
} side_id_t;

static int side_say(weft_status_t status)
{
    if (status != WEFT_OK) {
        weft_error_t error = {.size = sizeof error};
        (void)weft_last_error(&error);
        fprintf(stderr, "%s: %s\n", weft_status_name(status), error.text);
    }
    return status != WEFT_OK;
}

static int side_join_forked(const beside_job_t *job, const weft_comm_options_t *options)
{
    side_id_t *shared = (side_id_t *)((char *)job->shared + BESIDE_SHARED_BYTES / 2);
    if (job->rank == 0) {
        if (side_say(weft_unique_id_create(&shared->id, options)) != 0) {
            return 1;
        }
        atomic_store(&shared->ready, 1);
    }
    while (!atomic_load(&shared->ready)) {
        sched_yield();
    }
    return side_say(weft_comm_init_rank(&comm, (uint32_t)job->ranks, &shared->id,
                                        (uint32_t)job->rank, options));
}

static int side_join(beside_job_t *job)
{
    weft_comm_options_t options = {.size = sizeof options,
                                   .settings = job->options,
                                   .settings_count = (uint32_t)job->option_count};
    int status = job->launched ? side_say(weft_comm_init_launcher(&comm, &options))
                               : side_join_forked(job, &options);
    if (status == 0) {
        weft_comm_rank(comm, &side_rank);
        weft_comm_size(comm, &side_ranks);
        job->rank = (int)side_rank;
        job->ranks = (int)side_ranks;
    }
    return status;
}

static void *side_alloc(beside_job_t *job, size_t bytes)
{
    void *memory = NULL;
    weft_window_t *window = NULL;
    if (!job->window || side_say(weft_mem_alloc(comm, bytes, &memory)) != 0 ||
        side_say(weft_window_register(comm, memory, bytes, &window)) != 0) {
        return NULL;
    }
    return memory;
}

static weft_status_t side_ping_pong(char *send, char *recv, size_t bytes)
{
    weft_status_t status = WEFT_OK;
    if (side_rank == 0) {
        status = weft_send(send, bytes, WEFT_INT8, 1, comm, NULL);
    }
    if (status == WEFT_OK && side_rank < 2) {
        status = weft_recv(recv, bytes, WEFT_INT8, 1 - side_rank, comm, NULL);
    }
    if (status == WEFT_OK && side_rank == 1) {
        status = weft_send(send, bytes, WEFT_INT8, 0, comm, NULL);
    }
    return status;
}

static weft_status_t side_stream(char *send, char *recv, size_t bytes)
{
    int8_t answer = 0;
    if (side_rank > 1) {
        return WEFT_OK;
    }
    (void)weft_group_start();
    for (size_t i = 0; i < BESIDE_BURST; i++) {
        size_t at = i % beside_spread * bytes;
        if (side_rank == 0) {
            (void)weft_send(send + at, bytes, WEFT_INT8, 1, comm, NULL);
        } else {
            (void)weft_recv(recv + at, bytes, WEFT_INT8, 0, comm, NULL);
        }
    }
    weft_status_t status = weft_group_end();
    if (status != WEFT_OK) {
        return status;
    }
    return side_rank == 0 ? weft_recv(&answer, 1, WEFT_INT8, 1, comm, NULL)
                          : weft_send(&answer, 1, WEFT_INT8, 0, comm, NULL);
}

static weft_status_t side_collective(beside_coll_t coll, char *send, char *recv, size_t bytes)
{
    const weft_dtype_t type = WEFT_FP32;
    uint64_t whole = bytes / sizeof(float);
    uint64_t block = whole / side_ranks;
    switch (coll) {
    case BESIDE_ALL_REDUCE:
        return weft_all_reduce(send, recv, whole, type, WEFT_SUM, comm, NULL);
    case BESIDE_BROADCAST:
        return weft_broadcast(send, side_rank == 0 ? send : recv, whole, type, 0, comm, NULL);
    case BESIDE_REDUCE:
        return weft_reduce(send, recv, whole, type, WEFT_SUM, 0, comm, NULL);
    case BESIDE_ALL_GATHER:
        return weft_all_gather(send, recv, block, type, comm, NULL);
    case BESIDE_REDUCE_SCATTER:
        return weft_reduce_scatter(send, recv, block, type, WEFT_SUM, comm, NULL);
    case BESIDE_ALL_TO_ALL:
        return weft_all_to_all(send, recv, block, type, comm, NULL);
    case BESIDE_GATHER:
        return weft_gather(send, recv, block, type, 0, comm, NULL);
    case BESIDE_SCATTER:
        return weft_scatter(send, recv, block, type, 0, comm, NULL);
    case BESIDE_BARRIER:
        return weft_barrier(comm, NULL);
    case BESIDE_PING_PONG:
        return side_ping_pong(send, recv, bytes);
    case BESIDE_STREAM:
        return side_stream(send, recv, bytes);
    }
    return WEFT_ERR_ARG;
}

static int side_call(beside_coll_t coll, char *send, char *recv, size_t bytes)
{
    return side_say(side_collective(coll, send, recv, bytes));
}

static int side_barrier(void)
{
    return side_say(weft_barrier(comm, NULL));
}

static void side_leave(void)
{
    (void)weft_comm_destroy(comm);
}

int main(int argc, char **argv)
{
    static const beside_side_t side = {.forks = true,
                                       .join = side_join,
                                       .alloc = side_alloc,
                                       .call = side_call,
                                       .barrier = side_barrier,
                                       .leave = side_leave};
    return beside_main(&side, argc, argv);
}
