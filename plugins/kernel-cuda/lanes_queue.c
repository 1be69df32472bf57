/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Queues: the order of the work of one communicator in streams, and its host waits. */
#include "lanes_queue.h"

#include <string.h>
#include <time.h>

#include "cuda_device.h"
#include "cuda_errors.h"
#include "cuda_memory.h"
#include "cuda_pool.h"
#include "cuda_side.h"
#include "lanes_order.h"
#include "launch.h"

#define SETTLE_NS 100000000u /* for what streams have begun, at the end of the kernel */

static weft_status_t queue_fill(weft_lanes_queue_t *queue)
{
    weft_kernel_t *kernel = queue->kernel;
    const uint64_t bytes = sizeof *queue->arrived;
    void *arrived = NULL;
    cudaError_t error = cuda_stream_urgent(&queue->own);
    error = error == cudaSuccess ? cuda_side_prepare(kernel->device) : error;
    if (error == cudaSuccess) {
        error = cudaEventCreateWithFlags(&queue->live.event, cudaEventDisableTiming);
    }
    if (error == cudaSuccess) {
        error = cudaEventCreateWithFlags(&queue->captured.event, cudaEventDisableTiming);
    }
    if (error == cudaSuccess) {
        error = cudaEventCreateWithFlags(&queue->turn, cudaEventDisableTiming);
    }
    if (error != cudaSuccess) {
        return cuda_failed(kernel, error, "making a stream and events");
    }
    queue->host_wait = cuda_mapped_alloc(kernel, sizeof *queue->host_wait);
    if (queue->host_wait == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    memset(queue->host_wait, 0, sizeof *queue->host_wait);
    queue->flight =
        (cuda_flight_t){.device = kernel->device, .own = queue->own, .last = queue->live.event};
    cuda_flight_add(&queue->flight);
    weft_status_t status = cuda_device_alloc(kernel, bytes, &arrived);
    queue->arrived = arrived;
    return status == WEFT_OK ? cuda_device_zero(kernel, arrived, bytes) : status;
}

static void lanes_queue_event_free(cudaEvent_t event)
{
    cudaError_t error = event != NULL ? cudaEventDestroy(event) : cudaSuccess;
    (void)error;
}

static void queue_free(weft_lanes_queue_t *queue)
{
    weft_kernel_t *kernel = queue->kernel;
    cuda_flight_remove(&queue->flight);
    cudaError_t error = queue->own != NULL ? cudaStreamDestroy(queue->own) : cudaSuccess;
    (void)error;
    lanes_queue_event_free(queue->live.event);
    lanes_queue_event_free(queue->captured.event);
    lanes_queue_event_free(queue->turn);
    if (queue->host_wait != NULL) {
        cuda_mapped_free(kernel, queue->host_wait);
    }
    cuda_device_free(kernel, queue->arrived);
    kernel->host->free(kernel->host, queue->runs);
    kernel->host->free(kernel->host, queue);
}

weft_status_t lanes_queue_open(weft_kernel_t *kernel, weft_lanes_queue_t **queue_p)
{
    cuda_guard_t guard;
    weft_lanes_queue_t *queue = kernel->host->alloc(kernel->host, sizeof *queue, 0);
    if (queue == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    queue->kernel = kernel;
    weft_status_t status = cuda_guard_enter(kernel, &guard);
    if (status != WEFT_OK) {
        kernel->host->free(kernel->host, queue);
        return status;
    }
    status = queue_fill(queue);
    if (status == WEFT_OK) {
        lanes_order_add(queue);
        *queue_p = queue;
    } else {
        queue_free(queue);
    }
    cuda_guard_leave(&guard);
    return status;
}

/* Defers the free: cancelled host waits that no stream has reached yet will still read their
 * words. */
static void queue_defer(weft_lanes_queue_t *queue)
{
    weft_kernel_t *kernel = queue->kernel;
    pthread_mutex_lock(&kernel->lock);
    queue->next = kernel->deferred;
    kernel->deferred = queue;
    pthread_mutex_unlock(&kernel->lock);
}

void lanes_queue_close(weft_lanes_queue_t *queue)
{
    cuda_guard_t guard;
    if (queue == NULL || cuda_guard_enter(queue->kernel, &guard) != WEFT_OK) {
        return;
    }
    lanes_order_remove(queue);
    if (lanes_order_query(queue) == cudaErrorNotReady) {
        queue_defer(queue);
    } else {
        queue_free(queue);
    }
    cuda_guard_leave(&guard);
}

/* A kernel that has told its last word is still on its way out. */
static bool queue_drains(weft_lanes_queue_t *queue)
{
    const weft_host_t *host = queue->kernel->host;
    const struct timespec nap = {.tv_nsec = 50000};
    const uint64_t begin = host->clock_ns(host);
    cudaError_t error = lanes_order_query(queue);
    while (error == cudaErrorNotReady && host->clock_ns(host) - begin < SETTLE_NS) {
        nanosleep(&nap, NULL);
        error = lanes_order_query(queue);
    }
    return error != cudaErrorNotReady;
}

void lanes_queues_close(weft_kernel_t *kernel)
{
    while (kernel->deferred != NULL) {
        weft_lanes_queue_t *queue = kernel->deferred;
        kernel->deferred = queue->next;
        if (!queue_drains(queue)) {
            kernel->host->log(kernel->host, WEFT_LOG_WARN,
                              "streams of CUDA device %d have not come to all that was put into "
                              "them; a page stays theirs",
                              kernel->device);
        } else {
            queue_free(queue);
        }
    }
}

/* Order ---------------------------------------------------------------------------------------- */

cudaError_t lanes_queue_join(weft_lanes_queue_t *queue, const lanes_stream_t *target)
{
    const lanes_tail_t *last = target->capture != 0 ? &queue->captured : &queue->live;
    if (target->number == 0 || last->stream == 0 || last->stream == target->number ||
        last->capture != target->capture) {
        return cudaSuccess;
    }
    return cudaStreamWaitEvent(target->stream, last->event, 0);
}

cudaError_t lanes_queue_record(weft_lanes_queue_t *queue, const lanes_stream_t *target)
{
    lanes_tail_t *last = target->capture != 0 ? &queue->captured : &queue->live;
    if (target->number == 0) {
        return cudaSuccess;
    }
    cudaError_t error = cudaEventRecord(last->event, target->stream);
    if (error == cudaSuccess) {
        last->stream = target->number;
        last->capture = target->capture;
        queue->flight.recorded |= target->capture == 0;
        queue->flight.captured |= target->capture != 0;
    }
    return error;
}

/* Host waits ----------------------------------------------------------------------------------- */

/* The launch would return when the wait is over, and the wait is over when the host has done what
 * the caller puts behind the launch. */
static weft_status_t queue_refuse_blocking(const weft_lanes_queue_t *queue)
{
    return queue->kernel->host->set_error(
        queue->kernel->host, WEFT_ERR_UNSUPPORTED, 0,
        "CUDA_LAUNCH_BLOCKING is set: the stream of this call has to wait for work of the host, "
        "which "
        "could not begin before the launch has returned; unset it, or call without a stream");
}

static weft_status_t lanes_queue_host_wait_launch(weft_lanes_queue_t *queue, void *const *stream,
                                                  uint64_t number, bool *captured_p)
{
    lanes_stream_t target;
    weft_status_t status = lanes_stream_resolve(queue, stream, &target);
    if (status != WEFT_OK) {
        return status;
    }
    if (queue->kernel->blocking && target.capture == 0) {
        return queue_refuse_blocking(queue);
    }
    cuda_flight_launch_begin();
    cudaError_t error = lanes_order_enter(queue, &target, 0);
    error = error == cudaSuccess ? lanes_queue_join(queue, &target) : error;
    error = error == cudaSuccess ? cuda_launch_host_wait(queue->host_wait, number, target.stream)
                                 : error;
    error = error == cudaSuccess ? lanes_queue_record(queue, &target) : error;
    lanes_order_leave(queue);
    cuda_flight_launch_end();
    *captured_p = target.capture != 0;
    return error == cudaSuccess
               ? WEFT_OK
               : lanes_stream_failed(queue, error, "making a stream wait for the host");
}

weft_status_t lanes_host_wait_enqueue(weft_lanes_queue_t *queue, void *const *stream,
                                      uint64_t number, bool *captured_p)
{
    cuda_guard_t guard;
    weft_status_t status = cuda_guard_enter(queue->kernel, &guard);
    if (status == WEFT_OK) {
        status = lanes_queue_host_wait_launch(queue, stream, number, captured_p);
        cuda_guard_leave(&guard);
    }
    return status;
}

bool lanes_host_wait_reached(weft_lanes_queue_t *queue, uint64_t *number_p)
{
    const lanes_host_wait_t *wait = queue->host_wait;
    if (__atomic_load_n(&wait->reached, __ATOMIC_ACQUIRE) == wait->passed) {
        return false;
    }
    *number_p = __atomic_load_n(&wait->number, __ATOMIC_RELAXED);
    return true;
}

void lanes_host_wait_release(weft_lanes_queue_t *queue)
{
    lanes_host_wait_t *wait = queue->host_wait;
    __atomic_store_n(&wait->passed, __atomic_load_n(&wait->reached, __ATOMIC_RELAXED),
                     __ATOMIC_RELEASE);
}

void lanes_host_wait_cancel(weft_lanes_queue_t *queue)
{
    __atomic_store_n(&queue->host_wait->broken, 1, __ATOMIC_RELEASE);
}
