/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams of the application: their device, and whether they capture. */
#include "lanes_stream.h"

#include "cuda_device.h"
#include "cuda_errors.h"

static weft_status_t stream_refuse(const weft_lanes_queue_t *queue, const char *why)
{
    const weft_kernel_t *kernel = queue->kernel;
    return kernel->host->set_error(kernel->host, WEFT_ERR_ARG, 0,
                                   "%s; use a stream of CUDA device %d", why, kernel->device);
}

weft_status_t lanes_stream_failed(const weft_lanes_queue_t *queue, cudaError_t error,
                                  const char *what)
{
    const weft_host_t *host = queue->kernel->host;
    switch (error) {
    case cudaErrorInvalidResourceHandle:
    case cudaErrorDeviceUninitialized: /* the driver's "invalid context" */
        return stream_refuse(queue, "the stream is not one of this device, or was destroyed");
    case cudaErrorStreamCaptureInvalidated:
        return host->set_error(
            host, WEFT_ERR_STATE, 0,
            "the capture of the stream was invalidated by an earlier call, which is "
            "not allowed while a stream captures; end it and capture again");
    case cudaErrorStreamCaptureImplicit:
        return host->set_error(
            host, WEFT_ERR_STATE, 0,
            "the legacy stream would wait for a stream that captures; use another "
            "stream, or make that one with cudaStreamNonBlocking");
    default:
        return cuda_failed(queue->kernel, error, what);
    }
}

/* The thread that asks is not the application's: to it the handle means another stream. */
static weft_status_t lanes_stream_handle_check(const weft_lanes_queue_t *queue, cudaStream_t stream)
{
    return stream != cudaStreamPerThread
               ? WEFT_OK
               : stream_refuse(queue, "cudaStreamPerThread is another stream in every thread");
}

/* Runtimes before 12.8 cannot say whose a stream is; then the launch fails. */
static weft_status_t lanes_stream_device_check(const weft_lanes_queue_t *queue, cudaStream_t stream)
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
        return lanes_stream_failed(queue, error, "asking whose a stream is");
    }
#else
    (void)queue;
    (void)stream;
#endif
    return WEFT_OK;
}

static cudaError_t lanes_stream_capture_info(cudaStream_t stream,
                                             enum cudaStreamCaptureStatus *status,
                                             unsigned long long *number)
{
#if CUDART_VERSION >= 13000
    return cudaStreamGetCaptureInfo(stream, status, number, NULL, NULL, NULL, NULL);
#else
    return cudaStreamGetCaptureInfo(stream, status, number, NULL, NULL, NULL);
#endif
}

static weft_status_t lanes_stream_capture_check(const weft_lanes_queue_t *queue,
                                                lanes_stream_t *target)
{
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    unsigned long long number = 0;
    cudaError_t error = lanes_stream_capture_info(target->stream, &capture, &number);
    if (error == cudaSuccess && capture == cudaStreamCaptureStatusInvalidated) {
        error = cudaErrorStreamCaptureInvalidated;
    }
    if (error != cudaSuccess) {
        return lanes_stream_failed(queue, error, "asking whether a stream captures");
    }
    target->capture = capture == cudaStreamCaptureStatusActive ? number : 0;
    return WEFT_OK;
}

/* A stream that captures may not be asked whose it is (cudaErrorStreamCaptureUnsupported), nor
 * perhaps for its id: if it is another device's, the launch fails. Its handle identifies it within
 * the capture; outside of captures the handle of a destroyed stream can come back, and the id does
 * not. */
static weft_status_t lanes_stream_number(const weft_lanes_queue_t *queue, lanes_stream_t *target)
{
    if (target->capture != 0) {
        target->number = (uintptr_t)target->stream;
        return WEFT_OK;
    }
    weft_status_t status = lanes_stream_device_check(queue, target->stream);
    if (status != WEFT_OK) {
        return status;
    }
    cudaError_t error = cudaStreamGetId(target->stream, &target->number);
    target->number++;
    return error == cudaSuccess ? WEFT_OK
                                : lanes_stream_failed(queue, error, "asking for a stream's number");
}

weft_status_t lanes_stream_resolve(const weft_lanes_queue_t *queue, void *const *stream,
                                   lanes_stream_t *target)
{
    *target = (lanes_stream_t){.stream = queue->own};
    if (stream == NULL) {
        return WEFT_OK;
    }
    target->stream = (cudaStream_t)*stream;
    weft_status_t status = lanes_stream_handle_check(queue, target->stream);
    status = status == WEFT_OK ? lanes_stream_capture_check(queue, target) : status;
    return status == WEFT_OK ? lanes_stream_number(queue, target) : status;
}

weft_status_t lanes_is_capturing(weft_lanes_queue_t *queue, void *const *stream, bool *capturing_p)
{
    cuda_guard_t guard;
    lanes_stream_t target;
    weft_status_t status = cuda_guard_enter(queue->kernel, &guard);
    if (status == WEFT_OK) {
        status = lanes_stream_resolve(queue, stream, &target);
        *capturing_p = status == WEFT_OK && target.capture != 0;
        cuda_guard_leave(&guard);
    }
    return status;
}
