/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Queues: the order of one communicator's runs on the device. */
#include "lanes_run.h"
#include "memory.h"

static weft_status_t queue_fill(weft_lanes_queue_t *queue)
{
    weft_kernel_t *kernel = queue->kernel;
    const uint64_t bytes = (LANES_BLOCKS_MAX + 1) * sizeof *queue->arrived;
    void *arrived = NULL;
    cudaError_t error = cudaStreamCreateWithFlags(&queue->own, cudaStreamNonBlocking);
    if (error != cudaSuccess) {
        return cuda_failed(kernel, error, "making a stream");
    }
    weft_status_t status = cuda_device_take(kernel, bytes, &arrived);
    queue->arrived = arrived;
    return status == WEFT_OK ? cuda_device_zero(kernel, arrived, bytes) : status;
}

static void queue_free(weft_lanes_queue_t *queue)
{
    weft_kernel_t *kernel = queue->kernel;
    cudaError_t error = queue->own != NULL ? cudaStreamDestroy(queue->own) : cudaSuccess;
    (void)error;
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

void lanes_queue_close(weft_lanes_queue_t *queue)
{
    cuda_visit_t visit;
    if (queue != NULL && cuda_visit_begin(queue->kernel, &visit) == WEFT_OK) {
        queue_free(queue);
        cuda_visit_end(&visit);
    }
}
