/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Queues: the order of what one communicator does in streams, and its gates. */
#include <string.h>
#include <time.h>

#include "lanes_run.h"
#include "memory.h"

#define SETTLE_NS 100000000u /* for what streams have begun, at the end of the kernel */

static weft_status_t queue_fill(weft_lanes_queue_t *queue)
{
    weft_kernel_t *kernel = queue->kernel;
    const uint64_t bytes = (LANES_BLOCKS_MAX + 1) * sizeof *queue->arrived;
    void *arrived = NULL;
    cudaError_t error = cudaStreamCreateWithFlags(&queue->own, cudaStreamNonBlocking);
    if (error == cudaSuccess) {
        error = cudaEventCreateWithFlags(&queue->live.event, cudaEventDisableTiming);
    }
    if (error == cudaSuccess) {
        error = cudaEventCreateWithFlags(&queue->recorded.event, cudaEventDisableTiming);
    }
    if (error != cudaSuccess) {
        return cuda_failed(kernel, error, "making a stream and events");
    }
    queue->gate = cuda_visible_take(kernel, sizeof *queue->gate);
    if (queue->gate == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    memset(queue->gate, 0, sizeof *queue->gate);
    weft_status_t status = cuda_device_take(kernel, bytes, &arrived);
    queue->arrived = arrived;
    return status == WEFT_OK ? cuda_device_zero(kernel, arrived, bytes) : status;
}

static void event_free(cudaEvent_t event)
{
    cudaError_t error = event != NULL ? cudaEventDestroy(event) : cudaSuccess;
    (void)error;
}

static void queue_free(weft_lanes_queue_t *queue)
{
    weft_kernel_t *kernel = queue->kernel;
    cudaError_t error = queue->own != NULL ? cudaStreamDestroy(queue->own) : cudaSuccess;
    (void)error;
    event_free(queue->live.event);
    event_free(queue->recorded.event);
    if (queue->gate != NULL) {
        cuda_visible_give(kernel, queue->gate);
    }
    cuda_device_give(kernel, queue->arrived);
    kernel->host->free(kernel->host, queue->runs);
    kernel->host->free(kernel->host, queue);
}

weft_status_t lanes_queue_open(weft_kernel_t *kernel, weft_lanes_queue_t **queue_p)
{
    cuda_visit_t visit;
    weft_lanes_queue_t *queue = kernel->host->alloc(kernel->host, sizeof *queue, 0);
    if (queue == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    queue->kernel = kernel;
    weft_status_t status = cuda_visit_begin(kernel, &visit);
    if (status != WEFT_OK) {
        kernel->host->free(kernel->host, queue);
        return status;
    }
    status = queue_fill(queue);
    if (status == WEFT_OK) {
        *queue_p = queue;
    } else {
        queue_free(queue);
    }
    cuda_visit_end(&visit);
    return status;
}

/* Broken gates that no stream has come to yet are still going to look at their words. */
static void queue_leave(weft_lanes_queue_t *queue)
{
    weft_kernel_t *kernel = queue->kernel;
    pthread_mutex_lock(&kernel->lock);
    queue->next = kernel->left;
    kernel->left = queue;
    pthread_mutex_unlock(&kernel->lock);
}

void lanes_queue_close(weft_lanes_queue_t *queue)
{
    cuda_visit_t visit;
    if (queue == NULL || cuda_visit_begin(queue->kernel, &visit) != WEFT_OK) {
        return;
    }
    if (lanes_queue_ask(queue) == cudaErrorNotReady) {
        queue_leave(queue);
    } else {
        queue_free(queue);
    }
    cuda_visit_end(&visit);
}

/* A kernel that has told its last word is still on its way out. */
static bool queue_settles(weft_lanes_queue_t *queue)
{
    const weft_host_t *host = queue->kernel->host;
    const struct timespec nap = {.tv_nsec = 50000};
    const uint64_t begin = host->clock_ns(host);
    cudaError_t error = lanes_queue_ask(queue);
    while (error == cudaErrorNotReady && host->clock_ns(host) - begin < SETTLE_NS) {
        nanosleep(&nap, NULL);
        error = lanes_queue_ask(queue);
    }
    return error != cudaErrorNotReady;
}

void lanes_queues_end(weft_kernel_t *kernel)
{
    while (kernel->left != NULL) {
        weft_lanes_queue_t *queue = kernel->left;
        kernel->left = queue->next;
        if (!queue_settles(queue)) {
            kernel->host->log(kernel->host, WEFT_LOG_WARN,
                              "streams of CUDA device %d have not come to all that was put into "
                              "them; a page stays theirs",
                              kernel->device);
        } else {
            queue_free(queue);
        }
    }
}

/* Order -------------------------------------------------------------------------------------------- */

cudaError_t lanes_place_enter(weft_lanes_queue_t *queue, const lanes_place_t *place)
{
    const lanes_point_t *last = place->recording != 0 ? &queue->recorded : &queue->live;
    if (place->number == 0 || last->stream == 0 || last->stream == place->number ||
        last->recording != place->recording) {
        return cudaSuccess;
    }
    return cudaStreamWaitEvent(place->stream, last->event, 0);
}

cudaError_t lanes_place_leave(weft_lanes_queue_t *queue, const lanes_place_t *place)
{
    lanes_point_t *last = place->recording != 0 ? &queue->recorded : &queue->live;
    if (place->number == 0) {
        return cudaSuccess;
    }
    cudaError_t error = cudaEventRecord(last->event, place->stream);
    if (error == cudaSuccess) {
        last->stream = place->number;
        last->recording = place->recording;
    }
    return error;
}

cudaError_t lanes_queue_ask(const weft_lanes_queue_t *queue)
{
    cudaError_t error = cudaStreamQuery(queue->own);
    return error == cudaSuccess && queue->live.stream != 0 ? cudaEventQuery(queue->live.event)
                                                           : error;
}

/* Gates -------------------------------------------------------------------------------------------- */

static weft_status_t gate_put(weft_lanes_queue_t *queue, void *const *stream, uint64_t number,
                              bool *recorded_p)
{
    lanes_place_t place;
    weft_status_t status = lanes_place_find(queue, stream, &place);
    if (status != WEFT_OK) {
        return status;
    }
    cudaError_t error = lanes_place_enter(queue, &place);
    error = error == cudaSuccess ? cuda_launch_gate(queue->gate, number, place.stream) : error;
    error = error == cudaSuccess ? lanes_place_leave(queue, &place) : error;
    *recorded_p = place.recording != 0;
    return error == cudaSuccess
               ? WEFT_OK
               : lanes_place_failed(queue, error, "making a stream wait for the host");
}

weft_status_t lanes_gate_put(weft_lanes_queue_t *queue, void *const *stream, uint64_t number,
                             bool *recorded_p)
{
    cuda_visit_t visit;
    weft_status_t status = cuda_visit_begin(queue->kernel, &visit);
    if (status == WEFT_OK) {
        status = gate_put(queue, stream, number, recorded_p);
        cuda_visit_end(&visit);
    }
    return status;
}

bool lanes_gate_reached(weft_lanes_queue_t *queue, uint64_t *number_p)
{
    const lanes_gate_t *gate = queue->gate;
    if (__atomic_load_n(&gate->reached, __ATOMIC_ACQUIRE) == gate->passed) {
        return false;
    }
    *number_p = gate->number;
    return true;
}

void lanes_gate_pass(weft_lanes_queue_t *queue)
{
    lanes_gate_t *gate = queue->gate;
    __atomic_store_n(&gate->passed, __atomic_load_n(&gate->reached, __ATOMIC_RELAXED),
                     __ATOMIC_RELEASE);
}

void lanes_gate_break(weft_lanes_queue_t *queue)
{
    __atomic_store_n(&queue->gate->broken, 1, __ATOMIC_RELAXED);
}
