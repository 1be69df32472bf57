/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams of the caller's: whose they are, and whether they record. */
#include "lanes_run.h"

static weft_status_t stream_refuse(const weft_lanes_queue_t *queue, const char *why)
{
    const weft_kernel_t *kernel = queue->kernel;
    return kernel->host->set_error(kernel->host, WEFT_ERR_ARG, 0,
                                   "%s; use a stream of CUDA device %d", why, kernel->device);
}

weft_status_t lanes_place_failed(const weft_lanes_queue_t *queue, cudaError_t error,
                                 const char *what)
{
    const weft_host_t *host = queue->kernel->host;
    switch (error) {
    case cudaErrorInvalidResourceHandle:
        return stream_refuse(queue, "the stream is not one of this device, or was destroyed");
    case cudaErrorStreamCaptureInvalidated:
        return host->set_error(host, WEFT_ERR_STATE, 0,
                               "the recording of the stream was spoilt by a call before, which is "
                               "not allowed while a stream records; end it and record again");
    case cudaErrorStreamCaptureImplicit:
        return host->set_error(
            host, WEFT_ERR_STATE, 0,
            "the legacy stream would wait for a stream that records; use another "
            "stream, or make that one with cudaStreamNonBlocking");
    default:
        return cuda_failed(queue->kernel, error, what);
    }
}

/* The thread that asks is not the application's: to it the handle means another stream. */
static weft_status_t handle_check(const weft_lanes_queue_t *queue, cudaStream_t stream)
{
    return stream != cudaStreamPerThread
               ? WEFT_OK
               : stream_refuse(queue, "cudaStreamPerThread is another stream in every thread");
}

/* Runtimes before 12.8 cannot say whose a stream is; then the launch fails. */
static weft_status_t device_check(const weft_lanes_queue_t *queue, cudaStream_t stream)
{
#if CUDART_VERSION >= 12080
    const weft_kernel_t *kernel = queue->kernel;
    int device = kernel->device;
    cudaError_t error = cudaStreamGetDevice(stream, &device);
    if (error == cudaSuccess && device != kernel->device) {
        return kernel->host->set_error(kernel->host, WEFT_ERR_ARG, 0,
                                       "the stream is one of CUDA device %d, this rank uses device "
                                       "%d; use a stream of device %d",
                                       device, kernel->device, kernel->device);
    }
    if (error != cudaSuccess && error != cudaErrorCallRequiresNewerDriver) {
        return lanes_place_failed(queue, error, "asking whose a stream is");
    }
#else
    (void)queue;
    (void)stream;
#endif
    return WEFT_OK;
}

static cudaError_t capture_info(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                unsigned long long *number)
{
#if CUDART_VERSION >= 13000
    return cudaStreamGetCaptureInfo(stream, status, number, NULL, NULL, NULL, NULL);
#else
    return cudaStreamGetCaptureInfo(stream, status, number, NULL, NULL, NULL);
#endif
}

static weft_status_t recording_check(const weft_lanes_queue_t *queue, lanes_place_t *place)
{
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    unsigned long long number = 0;
    cudaError_t error = capture_info(place->stream, &capture, &number);
    if (error == cudaSuccess && capture == cudaStreamCaptureStatusInvalidated) {
        error = cudaErrorStreamCaptureInvalidated;
    }
    if (error != cudaSuccess) {
        return lanes_place_failed(queue, error, "asking whether a stream records");
    }
    place->recording = capture == cudaStreamCaptureStatusActive ? number : 0;
    return WEFT_OK;
}

weft_status_t lanes_place_find(const weft_lanes_queue_t *queue, void *const *stream,
                               lanes_place_t *place)
{
    *place = (lanes_place_t){.stream = queue->own};
    if (stream == NULL) {
        return WEFT_OK;
    }
    place->stream = (cudaStream_t)*stream;
    weft_status_t status = handle_check(queue, place->stream);
    status = status == WEFT_OK ? device_check(queue, place->stream) : status;
    status = status == WEFT_OK ? recording_check(queue, place) : status;
    if (status != WEFT_OK) {
        return status;
    }
    /* A handle can come back when its stream was destroyed; the number does not. */
    cudaError_t error = cudaStreamGetId(place->stream, &place->number);
    place->number++;
    return error == cudaSuccess ? WEFT_OK
                                : lanes_place_failed(queue, error, "asking for a stream's number");
}

weft_status_t lanes_records(weft_lanes_queue_t *queue, void *const *stream, bool *records_p)
{
    cuda_visit_t visit;
    lanes_place_t place;
    weft_status_t status = cuda_visit_begin(queue->kernel, &visit);
    if (status == WEFT_OK) {
        status = lanes_place_find(queue, stream, &place);
        *records_p = status == WEFT_OK && place.recording != 0;
        cuda_visit_end(&visit);
    }
    return status;
}
