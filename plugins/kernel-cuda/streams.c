/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams, events and graphs: extension weft.kernel.stream/1.
 *
 * Recording is relaxed: other ranks of the process are threads that allocate and register meanwhile, and
 * another thread may end a recording. What a stricter mode would refuse is looked for by nobody here:
 * the calls that are recorded are weft's own. */
#include "streams.h"

#include <sched.h>

#include <cuda_runtime_api.h>

#include "kernel_cuda.h"

struct weft_kernel_mark {
    cudaEvent_t event;
};

struct weft_kernel_recording {
    cudaGraphExec_t graph;
};

/* Ends a visit of the device, and says what became of the call in it. */
static weft_status_t streams_leave(const weft_kernel_t *kernel, const cuda_visit_t *visit,
                                   cudaError_t error, const char *what)
{
    cuda_visit_end(visit);
    return error == cudaSuccess ? WEFT_OK : cuda_failed(kernel, error, what);
}

static weft_status_t streams_open(weft_kernel_t *kernel, void **stream_p)
{
    cuda_visit_t visit;
    cudaStream_t stream = NULL;
    weft_status_t status = cuda_visit_begin(kernel, &visit);
    if (status == WEFT_OK) {
        cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        status = streams_leave(kernel, &visit, error, "making a stream");
    }
    *stream_p = status == WEFT_OK ? stream : *stream_p;
    return status;
}

static void streams_close(weft_kernel_t *kernel, void *stream)
{
    cuda_visit_t visit;
    if (cuda_visit_begin(kernel, &visit) == WEFT_OK) {
        cudaError_t error = cudaStreamDestroy(stream);
        (void)error;
        cuda_visit_end(&visit);
    }
}

/* Polled: cudaStreamSynchronize() knows no deadline. */
static weft_status_t streams_wait(weft_kernel_t *kernel, void *stream, uint64_t timeout_ns)
{
    const weft_host_t *host = kernel->host;
    const uint64_t begin = host->clock_ns(host);
    cuda_visit_t visit;
    weft_status_t status = cuda_visit_begin(kernel, &visit);
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
    weft_status_t left = streams_leave(kernel, &visit, error, "waiting for a stream");
    return left != WEFT_OK ? left : status;
}

/* Marks -------------------------------------------------------------------------------------------- */

static weft_status_t streams_mark(weft_kernel_t *kernel, void *stream, weft_kernel_mark_t **mark_p)
{
    cuda_visit_t visit;
    weft_kernel_mark_t *mark = kernel->host->alloc(kernel->host, sizeof *mark, 0);
    weft_status_t status = mark != NULL ? cuda_visit_begin(kernel, &visit) : WEFT_ERR_RESOURCE;
    if (status != WEFT_OK) {
        goto err_free;
    }
    cudaError_t error = cudaEventCreate(&mark->event);
    if (error != cudaSuccess) {
        status = streams_leave(kernel, &visit, error, "making an event");
        goto err_free;
    }
    error = cudaEventRecord(mark->event, stream);
    status = streams_leave(kernel, &visit, error, "recording an event");
    if (status != WEFT_OK) {
        cudaEventDestroy(mark->event);
        goto err_free;
    }
    *mark_p = mark;
    return WEFT_OK;
err_free:
    kernel->host->free(kernel->host, mark);
    return status;
}

static weft_status_t streams_between(weft_kernel_t *kernel, const weft_kernel_mark_t *from,
                                     const weft_kernel_mark_t *to, double *ns_p)
{
    float milliseconds = 0;
    cudaError_t error = cudaEventElapsedTime(&milliseconds, from->event, to->event);
    if (error == cudaErrorNotReady) {
        return kernel->host->set_error(kernel->host, WEFT_ERR_STATE, 0,
                                       "the time between two marks of CUDA device %d: the stream "
                                       "has not passed them yet; wait for it first",
                                       kernel->device);
    }
    *ns_p = error == cudaSuccess ? (double)milliseconds * 1e6 : *ns_p;
    return error == cudaSuccess ? WEFT_OK
                                : cuda_failed(kernel, error, "the time between two events");
}

static void streams_mark_free(weft_kernel_t *kernel, weft_kernel_mark_t *mark)
{
    if (mark != NULL) {
        cudaEventDestroy(mark->event);
        kernel->host->free(kernel->host, mark);
    }
}

/* Recordings --------------------------------------------------------------------------------------- */

static weft_status_t streams_record_begin(weft_kernel_t *kernel, void *stream)
{
    cuda_visit_t visit;
    weft_status_t status = cuda_visit_begin(kernel, &visit);
    if (status != WEFT_OK) {
        return status;
    }
    cudaError_t error = cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
    return streams_leave(kernel, &visit, error, "beginning a recording");
}

static weft_status_t streams_record_end(weft_kernel_t *kernel, void *stream,
                                        weft_kernel_recording_t **recording_p)
{
    cuda_visit_t visit;
    cudaGraph_t graph = NULL;
    weft_kernel_recording_t *recording = kernel->host->alloc(kernel->host, sizeof *recording, 0);
    weft_status_t status = recording != NULL ? cuda_visit_begin(kernel, &visit) : WEFT_ERR_RESOURCE;
    if (status != WEFT_OK) {
        goto err_free;
    }
    cudaError_t error = cudaStreamEndCapture(stream, &graph);
    if (error == cudaSuccess) {
        error = cudaGraphInstantiate(&recording->graph, graph, 0);
        cudaGraphDestroy(graph);
    }
    status = streams_leave(kernel, &visit, error, "ending a recording");
    if (status != WEFT_OK) {
        goto err_free;
    }
    *recording_p = recording;
    return WEFT_OK;
err_free:
    kernel->host->free(kernel->host, recording);
    return status;
}

static weft_status_t streams_replay(weft_kernel_t *kernel, void *stream,
                                    weft_kernel_recording_t *recording)
{
    cuda_visit_t visit;
    weft_status_t status = cuda_visit_begin(kernel, &visit);
    if (status != WEFT_OK) {
        return status;
    }
    cudaError_t error = cudaGraphLaunch(recording->graph, stream);
    return streams_leave(kernel, &visit, error, "replaying a recording");
}

static void streams_recording_free(weft_kernel_t *kernel, weft_kernel_recording_t *recording)
{
    if (recording != NULL) {
        cudaGraphExecDestroy(recording->graph);
        kernel->host->free(kernel->host, recording);
    }
}

const weft_kernel_stream_t cuda_streams = {
    .size = sizeof(weft_kernel_stream_t),
    .open = streams_open,
    .close = streams_close,
    .wait = streams_wait,
    .mark = streams_mark,
    .between = streams_between,
    .mark_free = streams_mark_free,
    .record_begin = streams_record_begin,
    .record_end = streams_record_end,
    .replay = streams_replay,
    .recording_free = streams_recording_free,
};
