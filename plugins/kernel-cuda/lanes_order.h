/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The room of a rank on its device, which the runs of all its communicators share. A run waits for
 * other ranks, so their runs must find room beside it: what would not fit beside the runs of other
 * queues of this instance comes behind them. That is safe if all ranks call in the same order. */
#ifndef KERNEL_CUDA_LANES_ORDER_H
#define KERNEL_CUDA_LANES_ORDER_H

#include "lanes_stream.h"

/* The queue takes part, until it does not. Any thread. */
void lanes_order_add(weft_lanes_queue_t *queue);
void lanes_order_remove(weft_lanes_queue_t *queue);

/* Around a launch of so many blocks: nobody else of the instance launches meanwhile. Lets the
 * stream wait for the runs of other queues if there is no room beside them; not in a capture, where
 * the application orders its graphs. Blocking: while another thread launches. */
cudaError_t lanes_order_enter(weft_lanes_queue_t *queue, const lanes_stream_t *target,
                              uint32_t blocks);
void lanes_order_leave(const weft_lanes_queue_t *queue);

/* Returns cudaSuccess if all work of the queue is done, cudaErrorNotReady, or the device's
 * error. */
cudaError_t lanes_order_query(const weft_lanes_queue_t *queue);

#endif
