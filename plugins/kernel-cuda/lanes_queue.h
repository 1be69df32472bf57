/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Queues: the order of the work of one communicator in streams, and its host waits. */
#ifndef KERNEL_CUDA_LANES_QUEUE_H
#define KERNEL_CUDA_LANES_QUEUE_H

#include "lanes_stream.h"

weft_status_t lanes_queue_open(weft_kernel_t *kernel, weft_lanes_queue_t **queue_p);
void lanes_queue_close(weft_lanes_queue_t *queue);

/* Frees the deferred queues, when the instance is destroyed. Blocking: at most 100 ms each. */
void lanes_queues_close(weft_kernel_t *kernel);

/* lanes_queue_join() makes the stream wait for work of the queue in other streams.
 * lanes_queue_record() marks the end of the work just enqueued into it. The caller passes an error
 * of them to lanes_stream_failed(). */
cudaError_t lanes_queue_join(weft_lanes_queue_t *queue, const lanes_stream_t *target);
cudaError_t lanes_queue_record(weft_lanes_queue_t *queue, const lanes_stream_t *target);

weft_status_t lanes_host_wait_enqueue(weft_lanes_queue_t *queue, void *const *stream,
                                      uint64_t number, bool *captured_p);
bool lanes_host_wait_reached(weft_lanes_queue_t *queue, uint64_t *number_p);
void lanes_host_wait_release(weft_lanes_queue_t *queue);
void lanes_host_wait_cancel(weft_lanes_queue_t *queue);

#endif
