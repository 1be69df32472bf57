/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SDK: the messages of a connection over one stream socket: post, progress, completions, cancel,
 * the end. The plugin brings the socket: connected, authenticated and non-blocking. Most plugins
 * use it by way of stream_net.h, which brings devices, listeners and connecting too.
 *
 * A message that is posted is on its way when post() returns, if the kernel takes it. At most
 * WEFT_STREAM_STAGE bytes are read ahead of the posted receives; the rest stays in the kernel, so
 * the flow control of the wire holds. Nothing here allocates or blocks. Functions that fail set the
 * error; its text names the peer. Thread: [progress] of the device. */
#ifndef WEFT_SDK_MESSAGE_STREAM_H
#define WEFT_SDK_MESSAGE_STREAM_H

#include <weft/plugin/host.h>
#include <weft/sdk/op_queue.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_STREAM_STAGE 4096u                     /* bytes that are read ahead */
#define WEFT_STREAM_MESSAGE_MAX (UINT64_C(1) << 30) /* bytes of the largest message */

/* In the connection of the plugin. Only `fd` is for its eyes. */
typedef struct weft_message_stream {
    int fd; /* −1: none. The stream owns it */
    const weft_host_t *host;
    const char *peer;          /* for texts; the owner's */
    weft_status_t failed;      /* OK, or what operations get */
    weft_status_t send_failed; /* OK, or what sends get while the rest of the peer's data comes */
    bool dry;                  /* the last read brought less than it could */
    weft_posted_op_t *in_op;   /* of the message that is being received, or NULL */
    uint32_t stage_at, stage_end;
    uint8_t stage[WEFT_STREAM_STAGE];
    weft_op_queues_t ops;
} weft_message_stream_t;

/* Sets the stream up, in zeroed memory, over `fd`, which it owns from now on. `host` and `peer`,
 * the name of the peer in texts, outlive it. Completions name `conn` and are given out by way of
 * `done`, the device's list. */
void weft_message_stream_init(weft_message_stream_t *stream, const weft_host_t *host, int fd,
                              const char *peer, weft_net_conn_t *conn, weft_op_done_t *done);

/* Moves the stream to the list of another device. ERR_STATE: something was posted already. */
weft_status_t weft_message_stream_attach(weft_message_stream_t *stream, weft_op_done_t *done);

/* Ends the stream, and closes the socket. Operations in flight never complete. */
void weft_message_stream_close(weft_message_stream_t *stream);

/* As weft_net_ops_t.post. */
weft_status_t weft_message_stream_post(weft_message_stream_t *stream, const weft_net_op_t *ops,
                                       uint32_t count, uint32_t *posted_p);

/* Moves what can be moved now; poll() calls it for each connection and then
 * weft_op_done_take(). Costs no system call for a connection with nothing posted. */
void weft_message_stream_progress(weft_message_stream_t *stream);

/* Ends the connection: all that is open completes with `status`. ERR_ABORTED makes it
 * weft_net_ops_t.cancel. A second call does nothing. */
void weft_message_stream_fail(weft_message_stream_t *stream, weft_status_t status);

/* As weft_net_ops_t.conn_check. */
weft_status_t weft_message_stream_check(weft_message_stream_t *stream);

/* The events of poll(2) and epoll(7) that would let the stream go on: POLLIN, POLLOUT, or 0. */
uint32_t weft_message_stream_events(const weft_message_stream_t *stream);

/* Returns whether the next weft_message_stream_progress() has something to do without an event. */
bool weft_message_stream_goes_on(const weft_message_stream_t *stream);

#ifdef __cplusplus
}
#endif

#endif
