/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See lanes_order.h. The kernel's device is current in all of it. */
#include "lanes_order.h"

#include "cuda_device.h"

void lanes_order_add(weft_lanes_queue_t *queue)
{
    weft_kernel_t *kernel = queue->kernel;
    pthread_mutex_lock(&kernel->order);
    queue->next_open = kernel->queues;
    kernel->queues = queue;
    pthread_mutex_unlock(&kernel->order);
}

void lanes_order_remove(weft_lanes_queue_t *queue)
{
    weft_kernel_t *kernel = queue->kernel;
    pthread_mutex_lock(&kernel->order);
    weft_lanes_queue_t **at = &kernel->queues;
    while (*at != NULL && *at != queue) {
        at = &(*at)->next_open;
    }
    if (*at != NULL) {
        *at = queue->next_open;
    }
    pthread_mutex_unlock(&kernel->order);
}

cudaError_t lanes_order_query(const weft_lanes_queue_t *queue)
{
    cudaError_t error = cudaStreamQuery(queue->own);
    return error == cudaSuccess && queue->live.stream != 0 ? cudaEventQuery(queue->live.event)
                                                           : error;
}

/* Asks all queues that may have blocks on the device whether they have. A question to the driver
 * takes 2 us, half as long as a launch, so it is asked only where the answer matters. */
static void lanes_order_refresh_all(const weft_kernel_t *kernel)
{
    for (weft_lanes_queue_t *q = kernel->queues; q != NULL; q = q->next_open) {
        if (q->blocks > 0 && lanes_order_query(q) == cudaSuccess) {
            q->blocks = 0;
        }
    }
}

/* Blocks that runs of all other queues may have on the device: those of one queue come one after
 * another. */
static uint32_t lanes_order_others(const weft_lanes_queue_t *queue)
{
    uint32_t blocks = 0;
    for (const weft_lanes_queue_t *q = queue->kernel->queues; q != NULL; q = q->next_open) {
        blocks += q != queue ? q->blocks : 0;
    }
    return blocks;
}

/* The stream waits for all that the other queue has in streams now. */
static cudaError_t lanes_order_wait(weft_lanes_queue_t *queue, weft_lanes_queue_t *other,
                                    cudaStream_t stream)
{
    cudaError_t error = cudaEventRecord(queue->turn, other->own);
    error = error == cudaSuccess ? cudaStreamWaitEvent(stream, queue->turn, 0) : error;
    if (error == cudaSuccess && other->live.stream != 0) {
        error = cudaStreamWaitEvent(stream, other->live.event, 0);
    }
    return error;
}

static cudaError_t lanes_order_make_room(weft_lanes_queue_t *queue, const lanes_stream_t *target,
                                         uint32_t blocks)
{
    const weft_kernel_t *kernel = queue->kernel;
    uint32_t sharers = 0;
    const uint32_t most = cuda_device_blocks(kernel, &sharers);
    cudaError_t error = cudaSuccess;
    if (blocks + lanes_order_others(queue) <= most) {
        return cudaSuccess;
    }
    lanes_order_refresh_all(queue->kernel);
    if (blocks + lanes_order_others(queue) <= most) {
        return cudaSuccess;
    }
    for (weft_lanes_queue_t *q = kernel->queues; q != NULL && error == cudaSuccess;
         q = q->next_open) {
        if (q != queue && q->blocks > 0) {
            error = lanes_order_wait(queue, q, target->stream);
        }
    }
    return error;
}

cudaError_t lanes_order_enter(weft_lanes_queue_t *queue, const lanes_stream_t *target,
                              uint32_t blocks)
{
    pthread_mutex_lock(&queue->kernel->order);
    if (target->capture != 0) {
        return cudaSuccess;
    }
    cudaError_t error = lanes_order_make_room(queue, target, blocks);
    queue->blocks = blocks > queue->blocks ? blocks : queue->blocks;
    return error;
}

void lanes_order_leave(const weft_lanes_queue_t *queue)
{
    pthread_mutex_unlock(&queue->kernel->order);
}
