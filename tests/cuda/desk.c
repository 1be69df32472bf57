/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See desk.h. */
#include "tests/cuda/desk.h"

static int desk_open(desk_t *desk, size_t bytes)
{
    uint32_t rank = desk->rank;
    int wrong = 0;
    for (int i = 0; i < 2; i++) {
        NEED(cudaStreamCreateWithFlags(&desk->stream[i], cudaStreamNonBlocking) == cudaSuccess);
        desk->call[i] =
            (weft_call_t){.size = sizeof desk->call[i], .stream = (void *const *)&desk->stream[i]};
    }
    NEED(weft_mem_alloc_device(desk->comm, bytes, (void **)&desk->in) == WEFT_OK);
    NEED(weft_mem_alloc_device(desk->comm, bytes, (void **)&desk->out) == WEFT_OK);
    return wrong;
}

bool desk_settle(const desk_t *desk)
{
    return cudaStreamSynchronize(desk->stream[0]) == cudaSuccess &&
           cudaStreamSynchronize(desk->stream[1]) == cudaSuccess;
}

int desk_run(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg)
{
    const desk_job_t *job = arg;
    desk_t desk = {.comm = comm, .rank = rank, .n = n};
    int wrong = desk_open(&desk, job->bytes);
    if (wrong == 0) {
        wrong += job->work(&desk);
    }
    NEED(desk_settle(&desk));
    for (int i = 0; i < 2; i++) {
        NEED(cudaStreamDestroy(desk.stream[i]) == cudaSuccess);
    }
    return wrong;
}

int desk_run_in_one_queue(const ranks_job_t *job)
{
    const fake_strict_t strict = fake_cuda.strict;
    fake_cuda.strict.connections = 1;
    fake_cuda.strict.waits = FAKE_WAITS_ALL;
    const int wrong = ranks_run_processes(job, 120, -1);
    fake_cuda.strict = strict;
    return wrong;
}
