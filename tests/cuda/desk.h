/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a rank works with in tests from the user's call down to the CUDA runtime of threads: two
 * streams with a call into each, and two buffers of the device. */
#ifndef WEFT_TEST_CUDA_DESK_H
#define WEFT_TEST_CUDA_DESK_H

#include "tests/cuda/fake_cuda.h"
#include "tests/support/ranks.h"

typedef struct desk {
    weft_comm_t *comm;
    uint32_t rank, n;
    cudaStream_t stream[2];
    weft_call_t call[2];
    int32_t *in, *out; /* of the device */
} desk_t;

/* Returns how much was wrong. */
typedef int (*desk_work_t)(desk_t *desk);

/* The work of a rank for ranks_run_threads(): `arg` is a desk_job_t. */
typedef struct desk_job {
    size_t bytes; /* of each buffer */
    desk_work_t work;
} desk_job_t;

int desk_run(weft_comm_t *comm, uint32_t rank, uint32_t n, void *arg);

/* Runs first calls as processes where streams share a hardware queue, and all that may wait for
 * kernels does. Returns how many ranks failed. */
int desk_run_in_one_queue(const ranks_job_t *job);

/* Waits until both streams are done: whether they ended well. */
bool desk_settle(const desk_t *desk);

/* "kernel-cuda.share=…" of the tests. TSan does not know that two mappings of a FIFO's heads are
 * one, and sees payloads that are ordered by them only where those have one address: in memory that
 * the ranks share. */
#ifdef WEFT_TSAN
#define DESK_SHARE "kernel-cuda.share=no"
#else
#define DESK_SHARE "kernel-cuda.share=yes"
#endif

#endif
