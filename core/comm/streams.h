/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations in streams of a device. A call puts one there and returns. The device runs it by
 * itself where it can (stream_launch.h); else the stream waits until the host has done it
 * (host_wait.h). Both keep the order of the calls: the device's queue has it, and the engine
 * begins nothing before everything that was called earlier is completed.
 *
 * A captured operation runs with every launch of the graph, in the order of the streams, and has
 * no sequence number. The caller owns the communicator. */
#ifndef WEFT_COMM_STREAMS_H
#define WEFT_COMM_STREAMS_H

#include "core/comm/host_wait.h"
#include "core/comm/stream_launch.h"

typedef struct weft_streams {
    weft_launches_t launches;
    weft_host_waits_t waits;
    uint64_t leave_by; /* weft_comm_destroy() waits no longer than this; 0: it was not called */
    bool unsent;       /* something that a device sent has not left yet */
    bool stopped;      /* nothing runs any more */
} weft_streams_t;

/* Makes ready for the first call in a stream. The communicator is attached to the progress thread.
 * ERR_RESOURCE, or the kernel's failure. */
weft_status_t weft_streams_open(weft_comm_state_t *state);

/* Puts operations into the stream, one after another. `first` heads a list of requests, which
 * belong to the stream afterwards; on failure they stay the caller's, and nothing was started.
 * weft_streams_open() and weft_submit_open() have been called. The kernel's failure;
 * ERR_RESOURCE. */
weft_status_t weft_streams_put(weft_comm_state_t *state, void *const *stream,
                               weft_request_t *first);

/* Takes one look at everything in streams; true if something moved. A failure has failed the
 * communicator. */
bool weft_streams_step(weft_comm_state_t *state);
/* Judges operations that do not move. */
void weft_streams_look(weft_comm_state_t *state, uint64_t now);

/* Writes which operation comes next and why it is not completed, as the end of a sentence. Returns
 * `text`. */
const char *weft_streams_text(const weft_comm_state_t *state, char *text, size_t bytes);

/* True if an operation in a stream is not completed. */
bool weft_streams_are_busy(const weft_comm_state_t *state);
/* Whether they may have something to do for the host now: a stream that waits for it, or messages
 * of a device that it passes on. Else the device works alone. Thread: the owner. */
bool weft_streams_need_host(const weft_comm_state_t *state);
/* True if a graph may be launched at any time. */
bool weft_streams_listen(const weft_comm_state_t *state);
/* True if an operation that the host does for a stream reduces with `op`. */
bool weft_streams_use(const weft_comm_state_t *state, weft_op_t op);

/* From now on the communicator waits for its streams no longer than an operation may take. */
void weft_streams_leave(weft_comm_state_t *state);
/* Ends everything in streams: runs stop, host waits end for ever. Streams go on. */
void weft_streams_stop(weft_comm_state_t *state);
/* Stops them and waits until the runs have ended, at most a second. */
void weft_streams_settle(weft_comm_state_t *state);
/* Frees everything; called after the programs are gone. */
void weft_streams_close(weft_comm_state_t *state);

#endif
