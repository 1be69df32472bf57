/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Threads with devices and streams. */
#include "tests/bindings/nccl/job.h"

#include <stdlib.h>

#include <cuda_runtime_api.h>

enum { JOB_DEVICES = 4 };

typedef struct job_thread {
    job_rank_t rank;
    void (*work)(job_rank_t *rank);
    bool bare;
    pthread_t thread;
} job_thread_t;

static void *job_thread(void *arg)
{
    job_thread_t *own = arg;
    job_rank_t *rank = &own->rank;
    cudaSetDevice(rank->rank % JOB_DEVICES);
    cudaStreamCreateWithFlags(&rank->stream, cudaStreamNonBlocking);
    if (!own->bare) {
        NEED_OK(ncclCommInitRank(&rank->comm, rank->nranks, rank->id, rank->rank));
    }
    if (own->bare || rank->comm != NULL) {
        own->work(rank);
    }
    if (!own->bare) {
        NEED_OK(ncclCommDestroy(rank->comm));
    }
    cudaStreamDestroy(rank->stream);
    return NULL;
}

static int job_threads(int nranks, void (*work)(job_rank_t *rank), bool bare)
{
    job_thread_t *threads = calloc((size_t)nranks, sizeof *threads);
    ncclUniqueId id;
    pthread_barrier_t meeting;
    int wrong = ncclGetUniqueId(&id) != ncclSuccess;
    pthread_barrier_init(&meeting, NULL, (unsigned)nranks);
    for (int i = 0; i < nranks && wrong == 0; i++) {
        threads[i].rank = (job_rank_t){.id = id, .rank = i, .nranks = nranks, .meeting = &meeting};
        threads[i].work = work;
        threads[i].bare = bare;
        pthread_create(&threads[i].thread, NULL, job_thread, &threads[i]);
    }
    for (int i = 0; i < nranks && threads[i].work != NULL; i++) {
        pthread_join(threads[i].thread, NULL);
        wrong += threads[i].rank.wrong;
    }
    pthread_barrier_destroy(&meeting);
    free(threads);
    return wrong;
}

void job_meet(const job_rank_t *rank)
{
    pthread_barrier_wait(rank->meeting);
}

int job_run(int nranks, void (*work)(job_rank_t *rank))
{
    return job_threads(nranks, work, false);
}

int job_run_bare(int nranks, void (*work)(job_rank_t *rank))
{
    return job_threads(nranks, work, true);
}

/* The streams of a job do not wait for the legacy one, in which the copy is. */
void *job_device_copy(const void *bytes, size_t n)
{
    void *device = NULL;
    if (cudaMalloc(&device, n) != cudaSuccess ||
        cudaMemcpy(device, bytes, n, cudaMemcpyHostToDevice) != cudaSuccess ||
        cudaStreamSynchronize(cudaStreamLegacy) != cudaSuccess) {
        abort();
    }
    return device;
}

void job_wait(cudaStream_t stream)
{
    if (cudaStreamSynchronize(stream) != cudaSuccess) {
        abort();
    }
}

void job_device_take(job_rank_t *rank, void *device, void *bytes, size_t n)
{
    job_wait(rank->stream);
    NEED(cudaMemcpy(bytes, device, n, cudaMemcpyDeviceToHost) == cudaSuccess);
    cudaFree(device);
}

void job_need_sum(job_rank_t *rank, ncclComm_t comm, int value, int want)
{
    void *device = job_device_copy(&value, sizeof value);
    NEED_OK(ncclAllReduce(device, device, 1, ncclInt32, ncclSum, comm, rank->stream));
    job_device_take(rank, device, &value, sizeof value);
    NEED(value == want);
}
