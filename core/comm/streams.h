/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations in streams of a device. A call puts one there and returns. What the device can run by itself
 * is launched (launch.c); for the rest the stream waits at a gate until the host has done it (gate.c).
 * Both keep the order of the calls: the device's queue has it, and the engine begins nothing before what
 * was called earlier is over.
 *
 * What a stream records runs with every replay, in the order of the streams: it has no number. */
#ifndef WEFT_COMM_STREAM_H
#define WEFT_COMM_STREAM_H

#include "core/comm/comm.h"

/* A run on the device; or all recorded runs of a program, as run 0. */
typedef struct weft_launched {
    struct weft_launched *next;
    weft_prepared_t *prepared;
    uint64_t run;
    uint64_t sequence;
    weft_signature_t signature;
    double timeout;
    uint64_t started, deadline; /* since the device came to it; 0: it has not */
    uint64_t moved;
    int32_t blocked; /* port, or −1 */
    bool noted;      /* in the history */
} weft_launched_t;

/* Operations behind one gate. */
typedef struct weft_batch {
    struct weft_batch *next;
    uint64_t gate;
    bool recorded; /* comes with every replay */
    uint32_t count;
    weft_request_t *request[];
} weft_batch_t;

/* Memory for inputs that a plan would overwrite. Runs come one after another, so all share one. */
typedef struct weft_staging {
    struct weft_staging *next;
    weft_allocation_t allocation;
} weft_staging_t;

typedef struct weft_stream {
    weft_launched_t *first, *last; /* in order */
    weft_launched_t *recorded;
    weft_batch_t *batches;   /* in order of their gates */
    weft_batch_t *reached;   /* the one of them that the engine has */
    uint64_t gates;          /* numbers given so far */
    weft_staging_t *staging; /* the largest, and those that it replaced */
    uint64_t leave_by;       /* weft_comm_destroy() waits no longer than this; 0: nobody leaves */
    bool unsent;             /* what a device sent has not left yet */
    bool stopped;            /* nothing runs any more */
} weft_stream_t;

/* What the first call in a stream needs. ERR_RESOURCE, or the kernel's failure. */
weft_status_t weft_stream_open(weft_comm_state_t *state);
/* Puts operations into the stream, one after another. `next` joins the requests, which belong to the
 * stream afterwards; on failure they stay the caller's, and nothing was started. weft_stream_open() and,
 * for messages, weft_p2p_open() have been called. Failures: the kernel's; ERR_RESOURCE. */
weft_status_t weft_stream_put(weft_comm_state_t *state, void *const *stream, weft_request_t *first);
/* One look at what is in streams; true if something moved. A failure has failed the communicator. */
bool weft_stream_step(weft_comm_state_t *state);
/* Judges what does not move. */
void weft_stream_look(weft_comm_state_t *state, uint64_t now);
/* The operation that comes next, and why it is not over: the end of a sentence. */
const char *weft_stream_text(const weft_comm_state_t *state, char *text, size_t bytes);
/* Something is in a stream that is not over; something may be replayed at any time. */
bool weft_stream_is_busy(const weft_comm_state_t *state);
bool weft_stream_listens(const weft_comm_state_t *state);
/* From now on the communicator waits for its streams no longer than an operation may take. */
void weft_stream_leave(weft_comm_state_t *state);
/* Ends everything in streams: runs stop, gates open for ever. Streams go on. */
void weft_stream_stop(weft_comm_state_t *state);
/* Stops them, and waits until they have ended, at most a second. */
void weft_stream_settle(weft_comm_state_t *state);
/* After the programs are gone. */
void weft_stream_close(weft_comm_state_t *state);

/* launch.c: as weft_stream_put(); ERR_UNSUPPORTED: the device does not run all of them. */
weft_status_t weft_launch_put(weft_comm_state_t *state, void *const *stream, weft_request_t *first);
bool weft_launch_step(weft_comm_state_t *state);
/* The run that executes and does not end, or false. */
bool weft_launch_pending(const weft_comm_state_t *state, weft_pending_t *pending);
void weft_launch_free(weft_comm_state_t *state);

/* gate.c: as weft_stream_put(). */
weft_status_t weft_gate_put(weft_comm_state_t *state, void *const *stream, weft_request_t *first);
bool weft_gate_step(weft_comm_state_t *state);
void weft_gate_free(weft_comm_state_t *state);
/* Does an operation behind a gate reduce with `op`? */
bool weft_gate_uses(const weft_comm_state_t *state, weft_op_t op);

#endif
