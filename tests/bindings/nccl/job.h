/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks as threads, each with a device of the runtime of threads, over NCCL's API. */
#ifndef TESTS_BINDINGS_NCCL_JOB_H
#define TESTS_BINDINGS_NCCL_JOB_H

#include <pthread.h>
#include <stdio.h>

#include "bindings/nccl/types.h"

#include "bindings/nccl/functions.h"

typedef struct job_rank {
    ncclUniqueId id;
    ncclComm_t comm;
    cudaStream_t stream;
    int rank, nranks;
    int wrong; /* what the rank found */
    pthread_barrier_t *meeting;
} job_rank_t;

/* Runs `work` on every rank of a communicator, in a stream of the rank's own; returns what is
 * wrong. */
int job_run(int nranks, void (*work)(job_rank_t *rank));
/* The same, but the ranks make their communicators themselves, of the id. */
int job_run_bare(int nranks, void (*work)(job_rank_t *rank));

/* Returns when all ranks of the job have called it: an end of one then disturbs no call before
 * it. */
void job_meet(const job_rank_t *rank);

/* Memory of the current device with a copy of these bytes. */
void *job_device_copy(const void *bytes, size_t n);
/* Waits for the stream and copies from the device's memory; frees that. */
void job_device_take(job_rank_t *rank, void *device, void *bytes, size_t n);
void job_wait(cudaStream_t stream);

/* Adds one number of each rank with the communicator, in the rank's stream; the sum must be
 * `want`. */
void job_need_sum(job_rank_t *rank, ncclComm_t comm, int value, int want);

/* Counts what is not so; `rank` is a variable of the caller. */
#define NEED(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: rank %d: %s (%s)\n", __FILE__, __LINE__, rank->rank,           \
                    #condition, ncclGetLastError(NULL));                                           \
            rank->wrong++;                                                                         \
        }                                                                                          \
    } while (0)
#define NEED_OK(call) NEED((call) == ncclSuccess)

#endif
