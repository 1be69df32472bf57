/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Captures: what is put into some streams becomes a graph. Which calls are allowed meanwhile, to
 * whom, and what those that are not do to the capture, is as CUDA says. Whether CUDA counts a call
 * as unsafe is said for few of them; here all are that wait, ask or allocate. */
#include <stdlib.h>

#include "tests/cuda/fake.h"

typedef struct fake_capture {
    struct fake_capture *next;
    uint64_t number;
    enum cudaStreamCaptureMode mode;
    pthread_t thread; /* that began it */
    cudaStream_t origin, streams;
    cudaGraph_t graph;
    bool invalidated;
} capture_t;

static capture_t *captures;
static uint64_t count;
static _Thread_local enum cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;

/* Rules ---------------------------------------------------------------------------------------- */

cudaError_t fake_capture_spoil(capture_t *capture)
{
    if (capture == NULL) {
        return cudaSuccess;
    }
    cudaError_t error = capture->invalidated ? cudaErrorStreamCaptureInvalidated
                                             : cudaErrorStreamCaptureUnsupported;
    capture->invalidated = true;
    return error;
}

cudaError_t fake_capture_unsafe(void)
{
    cudaError_t error = cudaSuccess;
    for (capture_t *c = captures; c != NULL; c = c->next) {
        bool own = pthread_equal(c->thread, pthread_self()) != 0;
        bool forbidden = own ? c->mode != cudaStreamCaptureModeRelaxed
                             : c->mode == cudaStreamCaptureModeGlobal &&
                                   thread_mode == cudaStreamCaptureModeGlobal;
        if (forbidden && thread_mode != cudaStreamCaptureModeRelaxed) {
            c->invalidated = true;
            error = cudaErrorStreamCaptureUnsupported;
        }
    }
    return error;
}

/* The legacy stream would wait for captured ones. */
static cudaError_t legacy_check(void)
{
    cudaError_t error = cudaSuccess;
    for (capture_t *c = captures; c != NULL; c = c->next) {
        for (cudaStream_t stream = c->streams; stream != NULL; stream = stream->captured) {
            if (stream->blocking) {
                c->invalidated = true;
                error = cudaErrorStreamCaptureImplicit;
            }
        }
    }
    return error;
}

cudaError_t fake_capture_check(cudaStream_t stream)
{
    if (stream->capture != NULL) {
        return stream->capture->invalidated ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
    }
    return stream == fake_stream_of(cudaStreamLegacy) ? legacy_check() : cudaSuccess;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    const enum cudaStreamCaptureMode previous = thread_mode;
    thread_mode = *mode;
    *mode = previous;
    return cudaSuccess;
}

/* Streams -------------------------------------------------------------------------------------- */

uint64_t fake_capture_number(cudaStream_t stream)
{
    return stream->capture != NULL ? stream->capture->number : 0;
}

capture_t *fake_capture_find(uint64_t number)
{
    capture_t *capture = captures;
    while (capture != NULL && capture->number != number) {
        capture = capture->next;
    }
    return capture;
}

static void stream_add(capture_t *capture, cudaStream_t stream)
{
    stream->row = calloc(1, sizeof *stream->row);
    stream->row->next = capture->graph->rows;
    capture->graph->rows = stream->row;
    stream->capture = capture;
    stream->captured = capture->streams;
    capture->streams = stream;
}

cudaError_t fake_capture_join(cudaStream_t stream, fake_point_t *point)
{
    capture_t *capture = fake_capture_find(point->capture);
    if (capture == NULL) {
        return cudaErrorCapturedEvent;
    }
    if (capture->invalidated) {
        return cudaErrorStreamCaptureInvalidated;
    }
    if (stream->capture != NULL && stream->capture != capture) {
        stream->capture->invalidated = capture->invalidated = true;
        return cudaErrorStreamCaptureMerge;
    }
    if (stream == fake_stream_of(cudaStreamLegacy)) {
        capture->invalidated = true;
        return cudaErrorStreamCaptureImplicit;
    }
    if (stream->capture == NULL) {
        stream_add(capture, stream);
    }
    const fake_step_t step = {.name = "the wait for an event", .after = fake_point_share(point)};
    return fake_stream_put(stream, &step, NULL, 0);
}

static cudaError_t capture_begin(cudaStream_t handle, enum cudaStreamCaptureMode mode)
{
    cudaStream_t stream = fake_stream_of(handle);
    if (stream == NULL) {
        return cudaErrorInvalidResourceHandle;
    }
    if (stream == fake_stream_of(cudaStreamLegacy)) {
        return cudaErrorStreamCaptureUnsupported;
    }
    if (stream->capture != NULL) {
        return cudaErrorIllegalState;
    }
    capture_t *capture = malloc(sizeof *capture);
    *capture = (capture_t){.next = captures,
                           .number = ++count,
                           .mode = mode,
                           .thread = pthread_self(),
                           .origin = stream,
                           .graph = calloc(1, sizeof *capture->graph)};
    capture->graph->users = 1;
    captures = capture;
    stream_add(capture, stream);
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, enum cudaStreamCaptureMode mode)
{
    pthread_mutex_lock(&fake_lock);
    cudaError_t error = capture_begin(handle, mode);
    pthread_mutex_unlock(&fake_lock);
    return error;
}

/* End ------------------------------------------------------------------------------------------ */

/* Marks the steps of the row up to `last` as such that the origin waits for, and those that they
 * wait for. */
static void row_join(fake_row_t *rows, fake_row_t *row, const fake_step_t *last)
{
    for (fake_step_t *step = row->first; step != NULL; step = step->next) {
        bool known = step->joined;
        step->joined = true;
        for (fake_row_t *r = rows; !known && step->after != NULL && r != NULL; r = r->next) {
            for (fake_step_t *s = r->first; s != NULL; s = s->next) {
                if (s->mark == step->after) {
                    row_join(rows, r, s);
                }
            }
        }
        if (step == last) {
            return;
        }
    }
}

static bool all_joined(const capture_t *capture)
{
    row_join(capture->graph->rows, capture->origin->row, NULL);
    for (fake_row_t *row = capture->graph->rows; row != NULL; row = row->next) {
        for (fake_step_t *step = row->first; step != NULL; step = step->next) {
            if (step->work != NULL && !step->joined) {
                return false;
            }
        }
    }
    return true;
}

static void capture_free(capture_t *capture)
{
    capture_t **link = &captures;
    while (*link != capture) {
        link = &(*link)->next;
    }
    *link = capture->next;
    while (capture->streams != NULL) {
        cudaStream_t stream = capture->streams;
        capture->streams = stream->captured;
        stream->capture = NULL;
        stream->row = NULL;
    }
    free(capture);
}

static cudaError_t capture_end(cudaStream_t stream, cudaGraph_t *graph_p)
{
    if (stream == NULL) {
        return cudaErrorInvalidResourceHandle;
    }
    capture_t *capture = stream->capture;
    if (capture == NULL) {
        return cudaErrorIllegalState;
    }
    if (capture->origin != stream) {
        capture->invalidated = true;
        return cudaErrorStreamCaptureUnmatched;
    }
    if (capture->mode != cudaStreamCaptureModeRelaxed &&
        !pthread_equal(capture->thread, pthread_self())) {
        return cudaErrorStreamCaptureWrongThread;
    }
    cudaError_t error = capture->invalidated ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
    if (error == cudaSuccess && !all_joined(capture)) {
        error = cudaErrorStreamCaptureUnjoined;
    }
    if (error == cudaSuccess) {
        *graph_p = capture->graph;
        atomic_fetch_add(&fake_cuda.graphs, 1);
    } else {
        fake_graph_drop(capture->graph);
    }
    capture_free(capture);
    return error;
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t *graph)
{
    *graph = NULL;
    pthread_mutex_lock(&fake_lock);
    cudaError_t error = capture_end(fake_stream_of(handle), graph);
    pthread_mutex_unlock(&fake_lock);
    return error;
}

/* Questions ------------------------------------------------------------------------------------ */

static cudaError_t capture_ask(cudaStream_t handle, enum cudaStreamCaptureStatus *status,
                               unsigned long long *number)
{
    pthread_mutex_lock(&fake_lock);
    cudaStream_t stream = fake_stream_of(handle);
    cudaError_t error = stream == NULL ? cudaErrorInvalidResourceHandle : cudaSuccess;
    if (error == cudaSuccess && stream == fake_stream_of(cudaStreamLegacy)) {
        error = legacy_check();
    }
    const capture_t *capture = error == cudaSuccess ? stream->capture : NULL;
    *status = cudaStreamCaptureStatusNone;
    if (capture != NULL) {
        *status = capture->invalidated ? cudaStreamCaptureStatusInvalidated
                                       : cudaStreamCaptureStatusActive;
        *number = capture->number;
    }
    pthread_mutex_unlock(&fake_lock);
    return error;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
    unsigned long long number;
    return capture_ask(stream, status, &number);
}

/* The graph under way is not shown. */
#if CUDART_VERSION >= 13000
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                     unsigned long long *number, cudaGraph_t *graph,
                                     const cudaGraphNode_t **nodes, const cudaGraphEdgeData **edges,
                                     size_t *nnodes)
{
    unsigned long long mine = 0;
    bool asked = graph != NULL || nodes != NULL || edges != NULL || nnodes != NULL;
    cudaError_t error = capture_ask(stream, status, &mine);
    if (error == cudaSuccess && asked && *status != cudaStreamCaptureStatusNone) {
        error = cudaErrorNotSupported;
    }
    if (error == cudaSuccess && number != NULL) {
        *number = mine;
    }
    return error;
}
#endif
