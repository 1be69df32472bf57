/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of the extension draft.weft.kernel.lanes/0. */
#include "lanes_run.h"

#include "cuda_device.h"
#include "lanes_endpoint.h"
#include "lanes_handle.h"
#include "lanes_poll.h"
#include "lanes_queue.h"
#include "lanes_start.h"
#include "lanes_stream.h"

const weft_kernel_lanes_t cuda_lanes = {
    .size = sizeof(weft_kernel_lanes_t),
    .prepare = lanes_prepare,
    .endpoint_open = lanes_endpoint_open,
    .endpoint_close = lanes_endpoint_close,
    .endpoint_next = lanes_endpoint_next,
    .endpoint_seek = lanes_endpoint_seek,
    .queue_open = lanes_queue_open,
    .queue_close = lanes_queue_close,
    .start = lanes_start,
    .is_capturing = lanes_is_capturing,
    .poll = lanes_poll,
    .abort = lanes_abort,
    .release = lanes_release,
    .host_wait_enqueue = lanes_host_wait_enqueue,
    .host_wait_reached = lanes_host_wait_reached,
    .host_wait_release = lanes_host_wait_release,
    .host_wait_cancel = lanes_host_wait_cancel,
    .endpoint_windows = lanes_endpoint_windows,
    .share_device = cuda_device_share,
};
