/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The objects that the files of the extension draft.weft.kernel.lanes/0 share: prepared programs,
 * endpoints and queues. */
#ifndef KERNEL_CUDA_LANES_TYPES_H
#define KERNEL_CUDA_LANES_TYPES_H

#include "cuda_instance.h"
#include "cuda_flight.h"
#include "device/device_host_wait.h"
#include "lanes_image.h"

typedef struct lanes_retained lanes_retained_t; /* lanes_retained.h */

/* A prepared program. */
struct weft_lanes_handle {
    weft_kernel_t *kernel;
    weft_lanes_handle_t *next; /* in the list of lanes_seeks.c */
    lanes_image_t image;
    lanes_run_t run; /* the part that all runs share */
    uint8_t *device, *visible;
    uint64_t tmp_bytes;
    uint64_t *aimed;     /* numbers of the endpoints that run.ports was made from */
    uint64_t slot_bytes; /* size of their smallest slot */
    lanes_retained_t *retained;
    uint64_t started;          /* number of the last run */
    uint64_t good, lost;       /* runs above `good`, up to `lost`, failed before the last reset */
    bool captured;             /* a stream has captured a run */
    bool aborted;              /* the runs started so far were aborted */
    bool broken;               /* the device failed */
    weft_lanes_queue_t *queue; /* queue of the last run */
    uint64_t moved, asked_ns;  /* progress and time at the last query of the stream */
};

struct weft_lanes_endpoint {
    weft_kernel_t *kernel;
    uint64_t number; /* unique among all endpoints of the instance, past and future */
    uint64_t slot_bytes;
    lanes_port_t port; /* the port as the device sees it */
    const uint8_t *fifo, *payloads;
    uint64_t fifo_bytes, payload_bytes;  /* registered bytes; 0: none */
    ptrdiff_t fifo_shift, payload_shift; /* from these to where the device sees them */
    lanes_windows_t windows;             /* those of port.end */
};

/* The last work that a queue has enqueued. */
typedef struct lanes_tail {
    cudaEvent_t event;
    unsigned long long stream;  /* number of its stream (lanes_stream.h); 0: no work so far */
    unsigned long long capture; /* id of its capture, or 0 */
} lanes_tail_t;

struct weft_lanes_queue {
    weft_kernel_t *kernel;
    weft_lanes_queue_t *next;      /* in the list of deferred queues */
    weft_lanes_queue_t *next_open; /* in that of lanes_order.c … */
    uint32_t blocks;               /* … whose lock guards them: most that its runs may have now */
    cudaEvent_t turn;
    cudaStream_t own;
    cuda_flight_t flight; /* the same for others of the process */
    lanes_tail_t live, captured;
    uint64_t *arrived; /* memory of the device: a word for the barriers between runs of a launch */
    lanes_host_wait_t *host_wait;
    lanes_run_t *runs; /* runs of the launch that is being assembled */
    uint32_t runs_room;
};

#endif
