/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams: queues of steps. While one has steps, a thread of the crew does them in order. The
 * legacy stream is an ordinary one here: no other stream waits for it. */
#include <stdlib.h>
#include <unistd.h>

#include "tests/cuda/fake.h"

static cudaStream_t all;
static cudaStream_t legacy[FAKE_DEVICES];
static _Thread_local cudaStream_t per_thread[FAKE_DEVICES];
static pid_t owner; /* the process whose streams these are: they do not survive a fork */

/* Steps ---------------------------------------------------------------------------------------- */

static void stream_free(cudaStream_t stream)
{
    cudaStream_t *at = &all;
    while (*at != stream) {
        at = &(*at)->next;
    }
    *at = stream->next;
    free(stream);
}

/* All that is in the stream, which then does not linger. */
static void stream_want(cudaStream_t stream)
{
    if (stream->wanted != stream->put) {
        stream->wanted = stream->put;
        fake_changed();
    }
}

static void stream_work(void *arg)
{
    cudaStream_t stream = arg;
    pthread_mutex_lock(&fake_lock);
    while (stream->queue.first != NULL) {
        fake_queue_issue(stream->hardware, stream->queue.first);
        if (stream->queue.first->lingers) {
            fake_linger(&stream->wanted, stream->done + 1);
        }
        fake_step_do(stream->queue.first);
        fake_row_drop(&stream->queue);
        stream->done++;
    }
    stream->working = false;
    if (stream->destroyed) {
        stream_free(stream);
    }
    fake_changed();
    pthread_mutex_unlock(&fake_lock);
}

cudaError_t fake_stream_put(cudaStream_t stream, const fake_step_t *what, const void *arg,
                            size_t bytes)
{
    cudaError_t error = fake_capture_check(stream);
    if (error != cudaSuccess) {
        fake_point_drop(what->after);
        fake_point_drop(what->mark);
        return error;
    }
    fake_step_t *step = fake_step_new(what, arg, bytes);
    step->device = stream->device;
    if (stream->capture != NULL) {
        fake_row_add(stream->row, step);
        return cudaSuccess;
    }
    fake_queue_put(stream->hardware, step);
    fake_row_add(&stream->queue, step);
    stream_want(stream);
    stream->put++;
    if (!stream->working) {
        stream->working = true;
        fake_crew_run(stream_work, stream);
    }
    return cudaSuccess;
}

void fake_stream_admit(cudaStream_t stream)
{
    if (stream->capture == NULL) {
        fake_queue_admit(stream->hardware);
    }
}

/* A stream that is not of the non-blocking kind sees what the legacy stream was given. */
static void legacy_catch_up(const struct CUstream_st *stream)
{
    cudaStream_t before = legacy[stream->device];
    if (!stream->blocking || before == NULL || before == stream) {
        return;
    }
    while (before->queue.first != NULL && before->queue.first->lingers) {
        stream_want(before);
        fake_wait("a copy in the legacy stream");
    }
}

static cudaError_t put(cudaStream_t handle, const fake_step_t *step, const void *arg, size_t bytes,
                       bool launch)
{
    pthread_mutex_lock(&fake_lock);
    cudaStream_t stream = fake_stream_of(handle);
    cudaError_t error = cudaErrorInvalidResourceHandle;
    if (stream != NULL && (!launch || stream->device == fake_device())) {
        legacy_catch_up(stream);
        fake_stream_admit(stream);
        error = fake_stream_put(stream, step, arg, bytes);
    }
    if (error == cudaSuccess && launch && fake_cuda.strict.blocking && stream->capture == NULL) {
        for (const uint64_t until = stream->put; stream->done < until;) {
            fake_wait("the end of a kernel, which its launch waits for,");
        }
    }
    pthread_mutex_unlock(&fake_lock);
    return error;
}

cudaError_t fake_put_as(const char *name, cudaStream_t stream, void (*work)(const void *arg),
                        const void *arg, size_t bytes)
{
    return put(stream, &(fake_step_t){.name = name, .work = work}, arg, bytes, false);
}

cudaError_t fake_put_lingering(const char *name, cudaStream_t stream, void (*work)(const void *arg),
                               const void *arg, size_t bytes)
{
    return put(stream, &(fake_step_t){.name = name, .work = work, .lingers = true}, arg, bytes,
               false);
}

cudaError_t fake_launch_as(const char *name, cudaStream_t stream, void (*grid)(const void *arg),
                           const void *arg, size_t bytes)
{
    return put(stream, &(fake_step_t){.name = name, .work = grid}, arg, bytes, true);
}

bool fake_streams_busy(uint64_t number)
{
    for (cudaStream_t stream = all; stream != NULL; stream = stream->next) {
        if (stream->queue.first != NULL && stream->queue.first->number <= number) {
            stream_want(stream);
            return true;
        }
    }
    return false;
}

void fake_streams_tell(FILE *file)
{
    for (cudaStream_t stream = all; stream != NULL; stream = stream->next) {
        const fake_step_t *step = stream->queue.first;
        if (step == NULL) {
            continue;
        }
        fprintf(file,
                "fake_cuda: device %d, hardware queue %u, stream %llu: %s %s (step %llu of the "
                "process); %llu steps in the stream\n",
                stream->device, fake_queue_number(stream->hardware), stream->number, step->name,
                step->issued          ? "runs"
                : step->after != NULL ? "waits in the queue or for its event"
                                      : "waits in the queue",
                (unsigned long long)step->number, (unsigned long long)(stream->put - stream->done));
    }
}

/* Streams -------------------------------------------------------------------------------------- */

static cudaStream_t stream_make(int device, int priority, bool blocking)
{
    static unsigned long long count;
    cudaStream_t stream = calloc(1, sizeof *stream);
    stream->number = ++count;
    stream->device = device;
    stream->priority = priority;
    stream->hardware = fake_queue_of(device, priority);
    stream->blocking = blocking;
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
        *special = *special == NULL ? stream_make(device, 0, true) : *special;
        return *special;
    }
    cudaStream_t stream = all;
    while (stream != NULL && (stream != handle || stream->destroyed)) {
        stream = stream->next;
    }
    return stream;
}

static cudaError_t stream_create(cudaStream_t *stream, unsigned flags, int priority,
                                 cudaError_t error)
{
    if (error != cudaSuccess) {
        return error;
    }
    const int most = fake_cuda.strict.streams;
    if (most > 0 && atomic_load(&fake_cuda.streams) >= most) {
        fake_context_wait(FAKE_WAITS_FREE, "making one more stream");
    }
    pthread_mutex_lock(&fake_lock);
    *stream = stream_make(fake_device(), priority, (flags & cudaStreamNonBlocking) == 0);
    pthread_mutex_unlock(&fake_lock);
    atomic_fetch_add(&fake_cuda.streams, 1);
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t handle)
{
    pthread_mutex_lock(&fake_lock);
    cudaStream_t stream = fake_stream_of(handle);
    cudaError_t error = cudaErrorInvalidResourceHandle;
    if (stream != NULL && stream == handle) {
        error = fake_capture_spoil(stream->capture);
    }
    if (error == cudaSuccess) {
        stream->destroyed = true;
        atomic_fetch_sub(&fake_cuda.streams, 1);
    }
    if (error == cudaSuccess && !stream->working) {
        stream_free(stream);
    }
    pthread_mutex_unlock(&fake_lock);
    return error;
}

/* Under the lock: the stream, for a question that neither it nor another one may be captured
 * for. */
static cudaError_t stream_ask(cudaStream_t handle, cudaStream_t *stream_p)
{
    cudaError_t error = fake_capture_unsafe();
    *stream_p = fake_stream_of(handle);
    if (error == cudaSuccess && *stream_p == NULL) {
        error = cudaErrorInvalidResourceHandle;
    }
    return error == cudaSuccess ? fake_capture_spoil((*stream_p)->capture) : error;
}

cudaError_t fake_stream_settle(cudaStream_t handle)
{
    cudaStream_t stream;
    pthread_mutex_lock(&fake_lock);
    cudaError_t error = stream_ask(handle, &stream);
    const uint64_t until = error == cudaSuccess ? stream->put : 0;
    if (error == cudaSuccess) {
        stream_want(stream);
    }
    while (error == cudaSuccess && stream->done < until) {
        fake_wait("the end of a stream");
    }
    pthread_mutex_unlock(&fake_lock);
    return error;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    cudaError_t error = fake_answer(__func__);
    return error == cudaSuccess ? fake_stream_settle(stream) : error;
}

cudaError_t cudaStreamQuery(cudaStream_t handle)
{
    cudaStream_t stream;
    cudaError_t error = fake_answer(__func__);
    fake_queries++;
    pthread_mutex_lock(&fake_lock);
    error = error == cudaSuccess ? stream_ask(handle, &stream) : error;
    if (error == cudaSuccess && stream->done < stream->put) {
        error = cudaErrorNotReady;
        stream_want(stream); /* who asks will ask again */
    }
    pthread_mutex_unlock(&fake_lock);
    return error;
}

/* Under the lock: what CUDA 13 says on a device of a stream that captures, and the capture is
 * lost. */
static cudaError_t stream_tells(cudaStream_t stream)
{
    return stream != NULL ? fake_capture_spoil(stream->capture) : cudaErrorInvalidResourceHandle;
}

cudaError_t cudaStreamGetId(cudaStream_t handle, unsigned long long *number)
{
    pthread_mutex_lock(&fake_lock);
    cudaStream_t stream = fake_stream_of(handle);
    cudaError_t error = stream_tells(stream);
    *number = error == cudaSuccess ? stream->number : *number;
    pthread_mutex_unlock(&fake_lock);
    return error;
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned *flags)
{
    pthread_mutex_lock(&fake_lock);
    cudaStream_t stream = fake_stream_of(handle);
    cudaError_t error = stream_tells(stream);
    if (error == cudaSuccess) {
        *flags = stream->blocking ? cudaStreamDefault : cudaStreamNonBlocking;
    }
    pthread_mutex_unlock(&fake_lock);
    return error;
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int *priority)
{
    pthread_mutex_lock(&fake_lock);
    cudaStream_t stream = fake_stream_of(handle);
    *priority = stream != NULL ? stream->priority : *priority;
    pthread_mutex_unlock(&fake_lock);
    return stream != NULL ? fake_answer(__func__) : cudaErrorInvalidResourceHandle;
}

cudaError_t cudaStreamGetDevice(cudaStream_t handle, int *device)
{
    pthread_mutex_lock(&fake_lock);
    cudaStream_t stream = fake_stream_of(handle);
    cudaError_t error = stream_tells(stream);
    *device = error == cudaSuccess ? stream->device : *device;
    pthread_mutex_unlock(&fake_lock);
    return error;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    return stream_create(stream, flags, 0, fake_answer(__func__));
}

/* Priorities are −5 to 0. */
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
    return stream_create(stream, flags, priority, fake_answer(__func__));
}

static void all_settle(int device)
{
    for (cudaStream_t stream = all; stream != NULL;) {
        if (stream->working && (device < 0 || stream->device == device)) {
            stream_want(stream);
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
    cudaError_t error = fake_capture_unsafe();
    if (error == cudaSuccess) {
        all_settle(device);
    }
    pthread_mutex_unlock(&fake_lock);
    return error == cudaSuccess ? fake_answer(__func__) : error;
}

/* End ------------------------------------------------------------------------------------------ */

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
    fake_queues_free();
}
