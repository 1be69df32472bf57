/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The extension weft.kernel.lanes/1 of this plugin, and what its files share: programs on the device,
 * ends of FIFOs, queues. */
#ifndef KERNEL_CUDA_LANES_RUN_H
#define KERNEL_CUDA_LANES_RUN_H

#include "device/gate.h"
#include "kernel_cuda.h"
#include "lanes_image.h"

extern const weft_kernel_lanes_t cuda_lanes;

/* Handles ------------------------------------------------------------------------------------------ */

/* Memory that a run needs until it is over. */
typedef struct lanes_loan lanes_loan_t;
struct lanes_loan {
    lanes_loan_t *next;
    void *device, *visible; /* one of them */
    uint64_t run;           /* 0: until the handle is released */
};

struct weft_lanes_handle {
    weft_kernel_t *kernel;
    lanes_image_t image;
    lanes_run_t run; /* what all runs have in common */
    uint8_t *device, *visible;
    uint64_t tmp_bytes;
    uint64_t *aimed;     /* numbers of the ends that run.ports are made of */
    uint64_t slot_bytes; /* of the smallest of their slots */
    lanes_loan_t *loans;
    uint64_t started;    /* number of the last run */
    uint64_t good, lost; /* runs above `good`, up to `lost`, failed before the last clearing */
    bool recorded;       /* a stream has recorded a run */
    bool aborted;        /* … the runs started so far */
    bool broken;         /* the device failed */
    weft_lanes_queue_t *queue; /* of the last run */
    uint64_t moved, asked_ns;  /* of the run that is looked at */
};

weft_status_t lanes_prepare(weft_kernel_t *kernel, const weft_lanes_program_t *program,
                            weft_lanes_handle_t **handle_p);
void lanes_release(weft_lanes_handle_t *handle);

/* Whether no numbered run waits or is under way, and no replay is. */
bool lanes_handle_idle(const weft_lanes_handle_t *handle);
/* What: an entry for memory that is lent; it is the handle's when lent. Failure: NULL. */
lanes_loan_t *lanes_loan_make(const weft_lanes_handle_t *handle);
void lanes_loan_put(weft_lanes_handle_t *handle, lanes_loan_t *loan, uint64_t run);
/* Takes back what no run needs any more; all of it. */
void lanes_loans_sweep(weft_lanes_handle_t *handle);
void lanes_loans_end(weft_lanes_handle_t *handle);

/* Ends --------------------------------------------------------------------------------------------- */

struct weft_lanes_end {
    weft_kernel_t *kernel;
    uint64_t number; /* no other end of the kernel ever has it */
    uint64_t slot_bytes;
    lanes_port_t port; /* as the device has it */
    const uint8_t *fifo, *payloads;
    uint64_t fifo_bytes, payload_bytes; /* that are registered; 0: none */
    void *table;                        /* lanes_windows_t of the device, or NULL */
};

weft_status_t lanes_end_open(weft_kernel_t *kernel, const weft_lanes_port_t *port,
                             weft_lanes_end_t **end_p);
void lanes_end_close(weft_lanes_end_t *end);
uint64_t lanes_end_next(const weft_lanes_end_t *end);
void lanes_end_seek(weft_lanes_end_t *end, uint64_t next);
weft_status_t lanes_end_windows(weft_lanes_end_t *end, const weft_lanes_window_t *windows);

/* Queues ------------------------------------------------------------------------------------------- */

/* Behind the last thing that the queue has put into a stream. */
typedef struct lanes_point {
    cudaEvent_t event;
    unsigned long long stream;    /* number of the stream; 0: nothing so far */
    unsigned long long recording; /* … of the recording, or 0 */
} lanes_point_t;

struct weft_lanes_queue {
    weft_kernel_t *kernel;
    weft_lanes_queue_t
        *next; /* of those that were closed while streams had not come to their gates */
    cudaStream_t own;
    lanes_point_t live, recorded;
    uint64_t *arrived; /* of the device: a word for each number of blocks of a launch */
    lanes_gate_t *gate;
    lanes_run_t *runs; /* of the launch that is being made */
    uint32_t runs_room;
};

weft_status_t lanes_queue_open(weft_kernel_t *kernel, weft_lanes_queue_t **queue_p);
void lanes_queue_close(weft_lanes_queue_t *queue);
/* With the kernel: those that were left. */
void lanes_queues_end(weft_kernel_t *kernel);
weft_status_t lanes_start(weft_lanes_queue_t *queue, void *const *stream, weft_lanes_job_t *jobs,
                          uint32_t njobs);

/* Where something is put. */
typedef struct lanes_place {
    cudaStream_t stream;
    unsigned long long number;    /* of the stream; 0: the queue's own, which waits for no other */
    unsigned long long recording; /* 0: it is done once; else at every replay of that recording */
} lanes_place_t;

/* What: looks at a stream of the caller's, NULL is the queue's own. Failure: ERR_ARG, ERR_STATE,
 * ERR_SYSTEM. */
weft_status_t lanes_place_find(const weft_lanes_queue_t *queue, void *const *stream,
                               lanes_place_t *place);
/* What: makes the stream wait for what the queue has put into others; notes that something was put
 * there. */
cudaError_t lanes_place_enter(weft_lanes_queue_t *queue, const lanes_place_t *place);
cudaError_t lanes_place_leave(weft_lanes_queue_t *queue, const lanes_place_t *place);
/* What: words for a failure there. */
weft_status_t lanes_place_failed(const weft_lanes_queue_t *queue, cudaError_t error,
                                 const char *what);
/* Whether everything that was put into streams has been done, or the device's failure. */
cudaError_t lanes_queue_ask(const weft_lanes_queue_t *queue);

weft_status_t lanes_records(weft_lanes_queue_t *queue, void *const *stream, bool *records_p);
weft_status_t lanes_gate_put(weft_lanes_queue_t *queue, void *const *stream, uint64_t number,
                             bool *recorded_p);
bool lanes_gate_reached(weft_lanes_queue_t *queue, uint64_t *number_p);
void lanes_gate_pass(weft_lanes_queue_t *queue);
void lanes_gate_break(weft_lanes_queue_t *queue);

#endif
