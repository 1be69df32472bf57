/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams: queues of steps. While one has steps, a thread of the crew does them in order. The legacy
 * stream is an ordinary one here: no other stream waits for it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/cuda/fake.h"

#define PATIENCE_S 100 /* nothing at all changes for so long */

pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;

static cudaStream_t all;
static cudaStream_t legacy[FAKE_DEVICES];
static _Thread_local cudaStream_t per_thread[FAKE_DEVICES];
static pid_t owner; /* the process whose streams these are: they do not survive a fork */

/* Waiting ------------------------------------------------------------------------------------------ */

void fake_changed(void)
{
    pthread_cond_broadcast(&change);
}

void fake_wait(const char *what)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += PATIENCE_S;
    if (pthread_cond_timedwait(&change, &fake_lock, &end) != 0) {
        fprintf(stderr, "fake_cuda: %s has not come for %d seconds\n", what, PATIENCE_S);
        abort();
    }
}

fake_point_t *fake_point_new(void)
{
    fake_point_t *point = calloc(1, sizeof *point);
    point->users = 1;
    return point;
}

fake_point_t *fake_point_share(fake_point_t *point)
{
    if (point != NULL) {
        point->users++;
    }
    return point;
}

void fake_point_drop(fake_point_t *point)
{
    if (point != NULL && --point->users == 0) {
        free(point);
    }
}

/* Steps -------------------------------------------------------------------------------------------- */

static void step_do(const fake_step_t *step)
{
    struct timespec now;
    while (step->after != NULL && !step->after->passed) {
        fake_wait("an event that a stream waits for");
    }
    if (step->work != NULL) {
        pthread_mutex_unlock(&fake_lock);
        step->work(step->arg);
        pthread_mutex_lock(&fake_lock);
    }
    if (step->mark != NULL) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        step->mark->passed = true;
        step->mark->seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    }
    fake_changed();
}

static void step_free(fake_step_t *step)
{
    fake_point_drop(step->after);
    fake_point_drop(step->mark);
    free(step);
}

static void stream_free(cudaStream_t stream)
{
    cudaStream_t *at = &all;
    while (*at != stream) {
        at = &(*at)->next;
    }
    *at = stream->next;
    free(stream);
}

static void stream_work(void *arg)
{
    cudaStream_t stream = arg;
    pthread_mutex_lock(&fake_lock);
    while (stream->first != NULL) {
        fake_step_t *step = stream->first;
        step_do(step);
        stream->first = step->next;
        stream->last = step->next == NULL ? &stream->first : stream->last;
        stream->done++;
        step_free(step);
    }
    stream->working = false;
    if (stream->destroyed) {
        stream_free(stream);
    }
    fake_changed();
    pthread_mutex_unlock(&fake_lock);
}

void fake_stream_put(cudaStream_t stream, const fake_step_t *what, const void *arg, size_t bytes)
{
    fake_step_t *step = aligned_alloc(16, (sizeof *step + bytes + 15) / 16 * 16);
    *step = *what;
    if (bytes > 0) {
        memcpy(step->arg, arg, bytes);
    }
    step->next = NULL;
    *stream->last = step;
    stream->last = &step->next;
    stream->put++;
    if (!stream->working) {
        stream->working = true;
        fake_crew_run(stream_work, stream);
    }
}

static cudaError_t put(cudaStream_t handle, const fake_step_t *step, const void *arg, size_t bytes,
                       bool here)
{
    pthread_mutex_lock(&fake_lock);
    cudaStream_t stream = fake_stream_of(handle);
    bool right = stream != NULL && (!here || stream->device == fake_device());
    if (right) {
        fake_stream_put(stream, step, arg, bytes);
    }
    pthread_mutex_unlock(&fake_lock);
    return right ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

cudaError_t fake_put(cudaStream_t stream, void (*work)(const void *arg), const void *arg,
                     size_t bytes)
{
    return put(stream, &(fake_step_t){.work = work}, arg, bytes, false);
}

cudaError_t fake_launch(cudaStream_t stream, void (*grid)(const void *arg), const void *arg,
                        size_t bytes)
{
    return put(stream, &(fake_step_t){.work = grid}, arg, bytes, true);
}

/* Streams ------------------------------------------------------------------------------------------ */

static cudaStream_t stream_make(int device)
{
    cudaStream_t stream = calloc(1, sizeof *stream);
    stream->device = device;
    stream->last = &stream->first;
    stream->next = all;
    all = stream;
    owner = getpid();
    return stream;
}

cudaStream_t fake_stream_of(cudaStream_t handle)
{
    const int device = fake_device();
    cudaStream_t *special = NULL;
    if (handle == NULL || handle == cudaStreamLegacy) {
        special = &legacy[device];
    } else if (handle == cudaStreamPerThread) {
        special = &per_thread[device];
    }
    if (special != NULL) {
        *special = *special == NULL ? stream_make(device) : *special;
        return *special;
    }
    cudaStream_t stream = all;
    while (stream != NULL && (stream != handle || stream->destroyed)) {
        stream = stream->next;
    }
    return stream;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    cudaError_t error = fake_answer(__func__);
    (void)flags;
    if (error != cudaSuccess) {
        return error;
    }
    pthread_mutex_lock(&fake_lock);
    *stream = stream_make(fake_device());
    pthread_mutex_unlock(&fake_lock);
    atomic_fetch_add(&fake_cuda.streams, 1);
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t handle)
{
    pthread_mutex_lock(&fake_lock);
    cudaStream_t stream = fake_stream_of(handle);
    bool ours = stream != NULL && stream == handle;
    if (ours) {
        stream->destroyed = true;
        atomic_fetch_sub(&fake_cuda.streams, 1);
    }
    if (ours && !stream->working) {
        stream_free(stream);
    }
    pthread_mutex_unlock(&fake_lock);
    return ours ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

cudaError_t fake_stream_settle(cudaStream_t handle)
{
    pthread_mutex_lock(&fake_lock);
    cudaStream_t stream = fake_stream_of(handle);
    const uint64_t until = stream != NULL ? stream->put : 0;
    while (stream != NULL && stream->done < until) {
        fake_wait("the end of a stream");
    }
    pthread_mutex_unlock(&fake_lock);
    return stream != NULL ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    cudaError_t error = fake_answer(__func__);
    return error == cudaSuccess ? fake_stream_settle(stream) : error;
}

cudaError_t cudaStreamQuery(cudaStream_t handle)
{
    cudaError_t error = fake_answer(__func__);
    pthread_mutex_lock(&fake_lock);
    cudaStream_t stream = fake_stream_of(handle);
    if (stream == NULL) {
        error = cudaErrorInvalidResourceHandle;
    } else if (error == cudaSuccess && stream->done < stream->put) {
        error = cudaErrorNotReady;
    }
    pthread_mutex_unlock(&fake_lock);
    return error;
}

cudaError_t cudaStreamGetDevice(cudaStream_t handle, int *device)
{
    pthread_mutex_lock(&fake_lock);
    cudaStream_t stream = fake_stream_of(handle);
    *device = stream != NULL ? stream->device : *device;
    pthread_mutex_unlock(&fake_lock);
    return stream != NULL ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    static _Thread_local enum cudaStreamCaptureMode mine = cudaStreamCaptureModeGlobal;
    const enum cudaStreamCaptureMode previous = mine;
    mine = *mode;
    *mode = previous;
    return cudaSuccess;
}

static void all_settle(int device)
{
    for (cudaStream_t stream = all; stream != NULL;) {
        if (stream->working && (device < 0 || stream->device == device)) {
            fake_wait("the end of all streams");
            stream = all; /* the list may be another one */
        } else {
            stream = stream->next;
        }
    }
}

cudaError_t cudaDeviceSynchronize(void)
{
    const int device = fake_device();
    pthread_mutex_lock(&fake_lock);
    all_settle(device);
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(__func__);
}

/* Grids -------------------------------------------------------------------------------------------- */

typedef struct grid {
    void (*block)(const void *arg, uint32_t number);
    const void *arg;
    uint32_t next, running;
} grid_t;

static void grid_block(void *arg)
{
    grid_t *grid = arg;
    pthread_mutex_lock(&fake_lock);
    const uint32_t number = grid->next++;
    pthread_mutex_unlock(&fake_lock);
    grid->block(grid->arg, number);
    pthread_mutex_lock(&fake_lock);
    if (--grid->running == 0) {
        fake_changed();
    }
    pthread_mutex_unlock(&fake_lock);
}

void fake_blocks(void (*block)(const void *arg, uint32_t number), const void *arg, uint32_t n)
{
    grid_t grid = {.block = block, .arg = arg, .running = n};
    for (uint32_t i = 1; i < n; i++) {
        fake_crew_run(grid_block, &grid);
    }
    grid_block(&grid);
    pthread_mutex_lock(&fake_lock);
    while (grid.running > 0) {
        fake_wait("the end of a kernel");
    }
    pthread_mutex_unlock(&fake_lock);
}

/* End ---------------------------------------------------------------------------------------------- */

__attribute__((destructor)) static void end(void)
{
    if (owner != getpid()) {
        return;
    }
    pthread_mutex_lock(&fake_lock);
    all_settle(-1);
    pthread_mutex_unlock(&fake_lock);
    fake_crew_end();
    while (all != NULL) {
        stream_free(all);
    }
}
