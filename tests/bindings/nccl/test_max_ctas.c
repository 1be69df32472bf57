/* SPDX-License-Identifier: BSD-3-Clause
 *
 * maxCTAs of a config, the first argument (0: none), in one all-reduce of a communicator and one of its
 * split, whose own config says one less. The log has the channels: CMakeLists.txt compares them. */
#include <stdlib.h>

#include <cuda_runtime_api.h>

#include "tests/bindings/nccl/job.h"

enum { COUNT = 4096 };

static int most;

static ncclConfig_t config_with(int ctas)
{
    ncclConfig_t config = job_config_without_waiting();
    config.blocking = 1;
    config.maxCTAs = ctas > 0 ? ctas : NCCL_CONFIG_UNDEF_INT;
    return config;
}

static void add(job_rank_t *rank, ncclComm_t comm)
{
    int *values = calloc(COUNT, sizeof *values);
    for (int i = 0; i < COUNT; i++) {
        values[i] = i;
    }
    void *device = job_device_copy(values, COUNT * sizeof *values);
    NEED_OK(ncclAllReduce(device, device, COUNT, ncclInt32, ncclSum, comm, rank->stream));
    job_device_take(rank, device, values, COUNT * sizeof *values);
    NEED(values[COUNT - 1] == rank->nranks * (COUNT - 1));
    free(values);
}

static void work(job_rank_t *rank)
{
    ncclConfig_t config = config_with(most), fewer = config_with(most - 1);
    ncclComm_t child = NULL;
    NEED_OK(ncclCommInitRankConfig(&rank->comm, rank->nranks, rank->id, rank->rank, &config));
    add(rank, rank->comm);
    if (most > 0) {
        NEED_OK(ncclCommSplit(rank->comm, 0, rank->rank, &child, &fewer));
        add(rank, child);
        NEED_OK(ncclCommDestroy(child));
    }
    NEED_OK(ncclCommDestroy(rank->comm));
}

int main(int argc, char **argv)
{
    most = argc > 1 ? atoi(argv[1]) : 0;
    return job_run_bare(2, work) != 0;
}
