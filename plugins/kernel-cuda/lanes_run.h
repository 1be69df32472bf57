/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The extension draft.weft.kernel.lanes/0, and the objects that its files share: prepared programs,
 * endpoints and queues. */
#ifndef KERNEL_CUDA_LANES_RUN_H
#define KERNEL_CUDA_LANES_RUN_H

#include "device/host_wait.h"
#include "kernel_cuda.h"
#include "lanes_image.h"

extern const weft_kernel_lanes_t cuda_lanes;

/* Handles
 * ------------------------------------------------------------------------------------------ */

/* Memory that a run needs until it has ended. */
typedef struct lanes_retained lanes_retained_t;
struct lanes_retained {
    lanes_retained_t *next;
    void *device, *visible; /* one of them */
    uint64_t run;           /* 0: until the handle is released */
};

struct weft_lanes_handle {
    weft_kernel_t *kernel;
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

weft_status_t lanes_prepare(weft_kernel_t *kernel, const weft_lanes_program_t *program,
                            weft_lanes_handle_t **handle_p);
void lanes_release(weft_lanes_handle_t *handle);

/* Returns whether no numbered run waits or executes and no graph launch executes. */
bool lanes_handle_idle(const weft_lanes_handle_t *handle);

/* Creates an entry for memory that a run retains. lanes_retained_add() gives it to the handle.
 * Returns NULL, error recorded, on failure. */
lanes_retained_t *lanes_retained_create(const weft_lanes_handle_t *handle);
void lanes_retained_add(weft_lanes_handle_t *handle, lanes_retained_t *entry, uint64_t run);

/* Frees the memory that no run needs any more; frees all of it. */
void lanes_retained_reclaim(weft_lanes_handle_t *handle);
void lanes_retained_release_all(weft_lanes_handle_t *handle);

/* Endpoints
 * ---------------------------------------------------------------------------------------- */

struct weft_lanes_endpoint {
    weft_kernel_t *kernel;
    uint64_t number; /* unique among all endpoints of the instance, past and future */
    uint64_t slot_bytes;
    lanes_port_t port; /* the port as the device sees it */
    const uint8_t *fifo, *payloads;
    uint64_t fifo_bytes, payload_bytes; /* registered bytes; 0: none */
    void *table;                        /* lanes_windows_t in memory of the device, or NULL */
};

weft_status_t lanes_endpoint_open(weft_kernel_t *kernel, const weft_lanes_port_t *port,
                                  weft_lanes_endpoint_t **endpoint_p);
void lanes_endpoint_close(weft_lanes_endpoint_t *end);
uint64_t lanes_endpoint_next(const weft_lanes_endpoint_t *end);
void lanes_endpoint_seek(weft_lanes_endpoint_t *end, uint64_t next);
weft_status_t lanes_endpoint_windows(weft_lanes_endpoint_t *end,
                                     const weft_lanes_window_t *windows);

/* Queues
 * ------------------------------------------------------------------------------------------- */

/* The last work that the queue has enqueued. */
typedef struct lanes_tail {
    cudaEvent_t event;
    unsigned long long stream;  /* id of its stream; 0: no work so far */
    unsigned long long capture; /* id of its capture, or 0 */
} lanes_tail_t;

struct weft_lanes_queue {
    weft_kernel_t *kernel;
    weft_lanes_queue_t *next; /* in the list of deferred queues */
    cudaStream_t own;
    lanes_tail_t live, captured;
    uint64_t *arrived; /* memory of the device: one word for each possible number of blocks */
    lanes_host_wait_t *host_wait;
    lanes_run_t *runs; /* runs of the launch that is being assembled */
    uint32_t runs_room;
};

weft_status_t lanes_queue_open(weft_kernel_t *kernel, weft_lanes_queue_t **queue_p);
void lanes_queue_close(weft_lanes_queue_t *queue);

/* Frees the deferred queues, when the instance is destroyed. Blocking: at most 100 ms each. */
void lanes_queues_close(weft_kernel_t *kernel);
weft_status_t lanes_start(weft_lanes_queue_t *queue, void *const *stream, weft_lanes_job_t *jobs,
                          uint32_t njobs);

/* A stream of the application, or the queue's own. */
typedef struct lanes_stream {
    cudaStream_t stream;
    unsigned long long number;  /* id of the stream; 0: the queue's own, which waits for no other */
    unsigned long long capture; /* id of the capture; 0: the stream does not capture */
} lanes_stream_t;

/* Looks up a stream of the application; NULL is the queue's own.
 * Errors: ERR_ARG, ERR_STATE, ERR_SYSTEM. */
weft_status_t lanes_stream_resolve(const weft_lanes_queue_t *queue, void *const *stream,
                                   lanes_stream_t *target);

/* lanes_queue_join() makes the stream wait for work of the queue in other streams.
 * lanes_queue_record() marks the end of the work just enqueued into it. */
cudaError_t lanes_queue_join(weft_lanes_queue_t *queue, const lanes_stream_t *target);
cudaError_t lanes_queue_record(weft_lanes_queue_t *queue, const lanes_stream_t *target);

/* Records an error of one of these functions; see cuda_failed(). */
weft_status_t lanes_stream_failed(const weft_lanes_queue_t *queue, cudaError_t error,
                                  const char *what);

/* Returns cudaSuccess if all work of the queue is done, cudaErrorNotReady, or the device's
 * error. */
cudaError_t lanes_queue_query(const weft_lanes_queue_t *queue);

weft_status_t lanes_is_capturing(weft_lanes_queue_t *queue, void *const *stream, bool *capturing_p);
weft_status_t lanes_host_wait_enqueue(weft_lanes_queue_t *queue, void *const *stream,
                                      uint64_t number, bool *captured_p);
bool lanes_host_wait_reached(weft_lanes_queue_t *queue, uint64_t *number_p);
void lanes_host_wait_release(weft_lanes_queue_t *queue);
void lanes_host_wait_cancel(weft_lanes_queue_t *queue);

#endif
