/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of the CUDA runtime for tests share, and what kernels need of it. */
#ifndef TESTS_CUDA_FAKE_H
#define TESTS_CUDA_FAKE_H

#include <pthread.h>

#include "tests/cuda/fake_cuda.h"

/* What the call of this name fails with now. */
cudaError_t fake_answer(const char *name);
/* The device that is current in this thread. */
int fake_device(void);

/* Threads (fake_crew.c) ---------------------------------------------------------------------------- */

/* Runs on a thread of its own; there are as many as are needed at once. */
void fake_crew_run(void (*run)(void *arg), void *arg);
/* Joins all; they must have nothing to do. */
void fake_crew_end(void);

/* Streams (fake_streams.c) ------------------------------------------------------------------------- */

/* Of everything that changes in streams and events. */
extern pthread_mutex_t fake_lock;
/* Under the lock: everybody who waits looks again. */
void fake_changed(void);
/* Under the lock: until something changes. Ends the process when nothing has for long: `what` then never
 * comes. */
void fake_wait(const char *what);

/* A point in a stream: what is before it has been done, or not yet. */
typedef struct fake_point {
    uint32_t users;
    bool passed;
    double seconds; /* when it was passed */
} fake_point_t;

fake_point_t *fake_point_new(void);
fake_point_t *fake_point_share(fake_point_t *point);
void fake_point_drop(fake_point_t *point);

/* What a stream does: all of it on one thread, in the order in which it was put there. */
typedef struct fake_step {
    struct fake_step *next;
    fake_point_t *after; /* or NULL: first wait until it is passed */
    void (*work)(const void *arg);
    fake_point_t *mark; /* or NULL: then pass it */
    _Alignas(16) uint8_t arg[];
} fake_step_t;

struct CUstream_st {
    struct CUstream_st *next;
    int device;
    fake_step_t *first, **last;
    uint64_t put, done; /* steps so far */
    bool working;       /* a thread is at it */
    bool destroyed;     /* freed when it has done everything */
};

/* Under the lock: the stream of a handle, the special ones too; NULL: there is none. */
cudaStream_t fake_stream_of(cudaStream_t handle);

/* Under the lock: puts a copy of the step, with a copy of its argument, into the stream. */
void fake_stream_put(cudaStream_t stream, const fake_step_t *step, const void *arg, size_t bytes);

/* Puts a call of `work` with a copy of the argument into the stream. */
cudaError_t fake_put(cudaStream_t stream, void (*work)(const void *arg), const void *arg,
                     size_t bytes);
/* The same for a kernel, which wants the current device to be the stream's. */
cudaError_t fake_launch(cudaStream_t stream, void (*grid)(const void *arg), const void *arg,
                        size_t bytes);
/* Waits for all that has been put into the stream. */
cudaError_t fake_stream_settle(cudaStream_t stream);

/* Of a grid: runs block(arg, 0) to block(arg, n − 1) all at once, and returns when all have ended. */
void fake_blocks(void (*block)(const void *arg, uint32_t number), const void *arg, uint32_t n);

#endif
