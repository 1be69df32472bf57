/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams, events and graphs: extension draft.weft.kernel.stream/0.
 *
 * Recording is relaxed: other ranks of the process are threads that allocate and register
 * meanwhile, and another thread may end a capture. What a stricter mode would refuse is looked for
 * by nobody here: the calls that are recorded are weft's own. */
#include "cuda_streams.h"

#include <sched.h>

#include <cuda_runtime_api.h>

#include "cuda_device.h"
#include "cuda_errors.h"

struct weft_kernel_event {
    cudaEvent_t event;
};

struct weft_kernel_graph {
    cudaGraphExec_t graph;
};

/* Converts the error of the call made under the guard, and leaves it. */
static weft_status_t streams_leave(const weft_kernel_t *kernel, const cuda_guard_t *guard,
                                   cudaError_t error, const char *what)
{
    weft_status_t status = error == cudaSuccess ? WEFT_OK : cuda_failed(kernel, error, what);
    cuda_guard_leave(guard);
    return status;
}

static weft_status_t streams_open(weft_kernel_t *kernel, void **stream_p)
{
    cuda_guard_t guard;
    cudaStream_t stream = NULL;
    weft_status_t status = cuda_guard_enter(kernel, &guard);
    if (status == WEFT_OK) {
        cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        status = streams_leave(kernel, &guard, error, "making a stream");
    }
    *stream_p = status == WEFT_OK ? stream : *stream_p;
    return status;
}

static void streams_close(weft_kernel_t *kernel, void *stream)
{
    cuda_guard_t guard;
    if (cuda_guard_enter(kernel, &guard) == WEFT_OK) {
        cudaError_t error = cudaStreamDestroy(stream);
        (void)error;
        cuda_guard_leave(&guard);
    }
}

/* Polled: cudaStreamSynchronize() knows no deadline. */
static weft_status_t streams_wait(weft_kernel_t *kernel, void *stream, uint64_t timeout_ns)
{
    const weft_host_t *host = kernel->host;
    const uint64_t begin = host->clock_ns(host);
    cuda_guard_t guard;
    weft_status_t status = cuda_guard_enter(kernel, &guard);
    if (status != WEFT_OK) {
        return status;
    }
    cudaError_t error = cudaStreamQuery(stream);
    while (error == cudaErrorNotReady && host->clock_ns(host) - begin < timeout_ns) {
        sched_yield();
        error = cudaStreamQuery(stream);
    }
    status = error == cudaErrorNotReady ? WEFT_IN_PROGRESS : WEFT_OK;
    error = error == cudaErrorNotReady ? cudaSuccess : error;
    weft_status_t left = streams_leave(kernel, &guard, error, "waiting for a stream");
    return left != WEFT_OK ? left : status;
}

/* Events --------------------------------------------------------------------------------------- */

static weft_status_t streams_event_record(weft_kernel_t *kernel, void *stream,
                                          weft_kernel_event_t **event_p)
{
    cuda_guard_t guard;
    weft_kernel_event_t *event = kernel->host->alloc(kernel->host, sizeof *event, 0);
    weft_status_t status = event != NULL ? cuda_guard_enter(kernel, &guard) : WEFT_ERR_RESOURCE;
    if (status != WEFT_OK) {
        goto err_free;
    }
    cudaError_t error = cudaEventCreate(&event->event);
    if (error != cudaSuccess) {
        status = streams_leave(kernel, &guard, error, "making an event");
        goto err_free;
    }
    error = cudaEventRecord(event->event, stream);
    status = streams_leave(kernel, &guard, error, "recording an event");
    if (status != WEFT_OK) {
        cudaEventDestroy(event->event);
        goto err_free;
    }
    *event_p = event;
    return WEFT_OK;
err_free:
    kernel->host->free(kernel->host, event);
    return status;
}

static weft_status_t streams_event_elapsed(weft_kernel_t *kernel, const weft_kernel_event_t *from,
                                           const weft_kernel_event_t *to, double *ns_p)
{
    float milliseconds = 0;
    cuda_guard_t guard;
    weft_status_t status = cuda_guard_enter(kernel, &guard);
    if (status != WEFT_OK) {
        return status;
    }
    cudaError_t error = cudaEventElapsedTime(&milliseconds, from->event, to->event);
    if (error == cudaErrorNotReady) {
        status =
            kernel->host->set_error(kernel->host, WEFT_ERR_STATE, 0,
                                    "the time between two events of CUDA device %d: the stream "
                                    "has not passed them yet; wait for it first",
                                    kernel->device);
    } else if (error != cudaSuccess) {
        status = cuda_failed(kernel, error, "the time between two events");
    }
    cuda_guard_leave(&guard);
    *ns_p = status == WEFT_OK ? (double)milliseconds * 1e6 : *ns_p;
    return status;
}

/* Where the device cannot be made current, the driver keeps it. */
static void streams_event_free(weft_kernel_t *kernel, weft_kernel_event_t *event)
{
    cuda_guard_t guard;
    if (event == NULL) {
        return;
    }
    if (cuda_guard_enter(kernel, &guard) == WEFT_OK) {
        (void)cudaEventDestroy(event->event);
        cuda_guard_leave(&guard);
    }
    kernel->host->free(kernel->host, event);
}

/* Graphs --------------------------------------------------------------------------------------- */

static weft_status_t streams_capture_begin(weft_kernel_t *kernel, void *stream)
{
    cuda_guard_t guard;
    weft_status_t status = cuda_guard_enter(kernel, &guard);
    if (status != WEFT_OK) {
        return status;
    }
    cudaError_t error = cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
    return streams_leave(kernel, &guard, error, "beginning a capture");
}

static weft_status_t streams_capture_end(weft_kernel_t *kernel, void *stream,
                                         weft_kernel_graph_t **graph_p)
{
    cuda_guard_t guard;
    cudaGraph_t graph = NULL;
    weft_kernel_graph_t *graph_exec = kernel->host->alloc(kernel->host, sizeof *graph_exec, 0);
    weft_status_t status =
        graph_exec != NULL ? cuda_guard_enter(kernel, &guard) : WEFT_ERR_RESOURCE;
    if (status != WEFT_OK) {
        goto err_free;
    }
    cudaError_t error = cudaStreamEndCapture(stream, &graph);
    if (error == cudaSuccess) {
        error = cudaGraphInstantiate(&graph_exec->graph, graph, 0);
        cudaGraphDestroy(graph);
    }
    status = streams_leave(kernel, &guard, error, "ending a capture");
    if (status != WEFT_OK) {
        goto err_free;
    }
    *graph_p = graph_exec;
    return WEFT_OK;
err_free:
    kernel->host->free(kernel->host, graph_exec);
    return status;
}

static weft_status_t streams_graph_launch(weft_kernel_t *kernel, void *stream,
                                          weft_kernel_graph_t *graph_exec)
{
    cuda_guard_t guard;
    weft_status_t status = cuda_guard_enter(kernel, &guard);
    if (status != WEFT_OK) {
        return status;
    }
    cudaError_t error = cudaGraphLaunch(graph_exec->graph, stream);
    return streams_leave(kernel, &guard, error, "launching a graph");
}

static void streams_graph_free(weft_kernel_t *kernel, weft_kernel_graph_t *graph_exec)
{
    cuda_guard_t guard;
    if (graph_exec == NULL) {
        return;
    }
    if (cuda_guard_enter(kernel, &guard) == WEFT_OK) {
        (void)cudaGraphExecDestroy(graph_exec->graph);
        cuda_guard_leave(&guard);
    }
    kernel->host->free(kernel->host, graph_exec);
}

const weft_kernel_stream_t cuda_streams = {
    .size = sizeof(weft_kernel_stream_t),
    .open = streams_open,
    .close = streams_close,
    .wait = streams_wait,
    .event_record = streams_event_record,
    .event_elapsed = streams_event_elapsed,
    .event_free = streams_event_free,
    .capture_begin = streams_capture_begin,
    .capture_end = streams_capture_end,
    .graph_launch = streams_graph_launch,
    .graph_free = streams_graph_free,
};
