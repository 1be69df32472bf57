/* SPDX-License-Identifier: BSD-3-Clause
 *
 * maxCTAs of a config, the first argument (0: none), in one all-reduce of a communicator and one of
 * each that is made of it: a split without a config, which has its parent's, and others whose
 * config says one less. The log has the channels: CMakeLists.txt compares them. */
#include <stdlib.h>

#include <cuda_runtime_api.h>

#include "tests/bindings/nccl/config.h"
#include "tests/bindings/nccl/job.h"

enum { COUNT = 4096, RANKS = 3, FEWER = 2 };

static int most;
static ncclUniqueId further; /* from the rank that makes it to the one that waits at the meeting */

static ncclConfig_t config_with(int ctas)
{
    ncclConfig_t config = config_without_waiting();
    config.blocking = 1;
    config.maxCTAs = ctas > 0 ? ctas : NCCL_CONFIG_UNDEF_INT;
    return config;
}

static void add(job_rank_t *rank, ncclComm_t comm)
{
    int nranks = 0;
    int *values = calloc(COUNT, sizeof *values);
    for (int i = 0; i < COUNT; i++) {
        values[i] = i;
    }
    void *device = job_device_copy(values, COUNT * sizeof *values);
    NEED_OK(ncclAllReduce(device, device, COUNT, ncclInt32, ncclSum, comm, rank->stream));
    job_device_take(rank, device, values, COUNT * sizeof *values);
    NEED_OK(ncclCommCount(comm, &nranks));
    NEED(values[COUNT - 1] == nranks * (COUNT - 1));
    free(values);
}

static void split(job_rank_t *rank, ncclConfig_t *config)
{
    ncclComm_t child = NULL;
    NEED_OK(ncclCommSplit(rank->comm, 0, rank->rank, &child, config));
    add(rank, child);
    NEED_OK(ncclCommDestroy(child));
}

/* The last rank leaves, and comes back. */
static void shrink_and_grow(job_rank_t *rank, ncclConfig_t *config)
{
    ncclComm_t shrunk = NULL, grown = NULL;
    int last = FEWER;
    if (rank->rank < FEWER) {
        NEED_OK(ncclCommShrink(rank->comm, &last, 1, &shrunk, config, NCCL_SHRINK_DEFAULT));
        add(rank, shrunk);
    }
    if (rank->rank == 0) {
        NEED_OK(ncclCommGetUniqueId(shrunk, &further));
    }
    job_meet(rank);
    if (rank->rank < FEWER) {
        NEED_OK(ncclCommGrow(shrunk, RANKS, rank->rank == 0 ? &further : NULL, -1, &grown, config));
    } else {
        NEED_OK(ncclCommGrow(NULL, RANKS, &further, rank->rank, &grown, config));
    }
    add(rank, grown);
    NEED_OK(ncclCommDestroy(grown));
    NEED_OK(ncclCommDestroy(shrunk));
}

static void work(job_rank_t *rank)
{
    ncclConfig_t config = config_with(most), fewer = config_with(most - 1);
    NEED_OK(ncclCommInitRankConfig(&rank->comm, rank->nranks, rank->id, rank->rank, &config));
    add(rank, rank->comm);
    if (most > 0) {
        split(rank, NULL);
        split(rank, &fewer);
        shrink_and_grow(rank, &fewer);
    }
    NEED_OK(ncclCommDestroy(rank->comm));
}

int main(int argc, char **argv)
{
    most = argc > 1 ? atoi(argv[1]) : 0;
    return job_run_bare(RANKS, work) != 0;
}
