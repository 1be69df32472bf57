/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Events: an event is the point of a stream at which it was last recorded. */
#include <stdlib.h>

#include "tests/cuda/fake.h"

struct CUevent_st {
    fake_point_t *point; /* NULL: never recorded */
    int device;
    bool timed;
};

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    cudaError_t error = fake_answer(__func__);
    if (error != cudaSuccess) {
        return error;
    }
    *event = calloc(1, sizeof **event);
    (*event)->device = fake_device();
    (*event)->timed = (flags & cudaEventDisableTiming) == 0;
    atomic_fetch_add(&fake_cuda.events, 1);
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    pthread_mutex_lock(&fake_lock);
    fake_point_drop(event->point);
    pthread_mutex_unlock(&fake_lock);
    free(event);
    atomic_fetch_sub(&fake_cuda.events, 1);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle)
{
    cudaError_t error = fake_answer(__func__);
    pthread_mutex_lock(&fake_lock);
    cudaStream_t stream = fake_stream_of(handle);
    if (error == cudaSuccess && (stream == NULL || stream->device != event->device)) {
        error = cudaErrorInvalidResourceHandle;
    }
    if (error == cudaSuccess) {
        fake_point_t *point = fake_point_new(fake_capture_number(stream));
        const fake_step_t step = {.name = "an event", .mark = fake_point_share(point)};
        fake_stream_admit(stream);
        error = fake_stream_put(stream, &step, NULL, 0);
        fake_point_drop(error == cudaSuccess ? event->point : point);
        event->point = error == cudaSuccess ? point : event->point;
    }
    pthread_mutex_unlock(&fake_lock);
    return error;
}

static cudaError_t wait_for(cudaStream_t stream, fake_point_t *point)
{
    if (point->capture != 0) {
        return fake_capture_join(stream, point);
    }
    if (fake_capture_spoil(stream->capture) != cudaSuccess) {
        return cudaErrorStreamCaptureIsolation;
    }
    const fake_step_t step = {.name = "the wait for an event", .after = fake_point_share(point)};
    fake_stream_admit(stream);
    return fake_stream_put(stream, &step, NULL, 0);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned flags)
{
    cudaError_t error = fake_answer(__func__);
    (void)flags;
    pthread_mutex_lock(&fake_lock);
    cudaStream_t stream = fake_stream_of(handle);
    if (stream == NULL) {
        error = cudaErrorInvalidResourceHandle;
    } else if (error == cudaSuccess && event->point != NULL) {
        error = wait_for(stream, event->point);
    }
    pthread_mutex_unlock(&fake_lock);
    return error;
}

/* The point of an event that somebody outside of captures asks for. */
static cudaError_t point_ask(cudaEvent_t event)
{
    if (event->point != NULL && event->point->capture != 0) {
        cudaError_t error = fake_capture_spoil(fake_capture_find(event->point->capture));
        (void)error;
        return cudaErrorCapturedEvent;
    }
    return fake_capture_unsafe();
}

_Thread_local uint32_t fake_queries;

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    fake_queries++;
    cudaError_t error = fake_answer(__func__);
    pthread_mutex_lock(&fake_lock);
    error = error == cudaSuccess ? point_ask(event) : error;
    if (error == cudaSuccess && event->point != NULL && !event->point->passed) {
        error = cudaErrorNotReady;
    }
    pthread_mutex_unlock(&fake_lock);
    return error;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    cudaError_t error = fake_answer(__func__);
    pthread_mutex_lock(&fake_lock);
    error = error == cudaSuccess ? point_ask(event) : error;
    fake_point_t *point = error == cudaSuccess ? fake_point_share(event->point) : NULL;
    while (point != NULL && !point->passed) {
        fake_wait("an event");
    }
    fake_point_drop(point);
    pthread_mutex_unlock(&fake_lock);
    return error;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    cudaError_t error = fake_answer(__func__);
    pthread_mutex_lock(&fake_lock);
    if (from->point == NULL || to->point == NULL || !from->timed || !to->timed ||
        from->device != to->device) {
        error = cudaErrorInvalidResourceHandle;
    } else if (from->point->capture != 0 || to->point->capture != 0) {
        error = cudaErrorCapturedEvent;
    } else if (!from->point->passed || !to->point->passed) {
        error = cudaErrorNotReady;
    } else {
        *ms = (float)(1000 * (to->point->seconds - from->point->seconds));
    }
    pthread_mutex_unlock(&fake_lock);
    return error;
}
