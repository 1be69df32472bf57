/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The data path of a connection. Nothing here blocks. Thread: [progress]. */
#ifndef WEFT_PLUGINS_NET_SOCKET_STREAM_H
#define WEFT_PLUGINS_NET_SOCKET_STREAM_H

#include "sock.h"

/* Sends what has been posted, as far as the kernel takes it. Returns OK, or a failure of the
 * connection with the error set. */
weft_status_t sock_conn_send(weft_net_conn_t *conn);

/* Receives what the stream has, as far as receives are posted. Returns as sock_conn_send(). */
weft_status_t sock_stream_receive(sock_stream_t *stream);

/* Returns whether the stage holds the next header, behind a large message or before a receive that
 * is not posted yet (stalled). */
static inline bool sock_stream_pauses(const sock_stream_t *stream)
{
    return stream->in_op == NULL &&
           stream->stage_end - stream->stage_at >= (uint32_t)sizeof(sock_header_t);
}

/* Sets an error about the loss of a stream; `cause` is the errno, or 0 for an orderly end. Returns
 * ERR_PEER_DEAD or ERR_LINK. */
weft_status_t sock_conn_lost(const weft_net_conn_t *conn, int cause);

/* Counts the connection's streams as busy, or as idle, depending on whether an operation is
 * open. */
static inline void sock_conn_set_busy(weft_net_conn_t *conn)
{
    bool busy = conn->ops.send.open + conn->ops.recv.open > 0;
    if (busy != conn->busy) {
        conn->busy = busy;
        conn->device->busy += busy ? conn->nstreams : 0u - conn->nstreams;
    }
}

/* Finishes an operation of one of the connection's queues. */
void sock_op_finish(weft_net_conn_t *conn, weft_op_queue_t *queue, weft_posted_op_t *op,
                    weft_status_t status);

#endif
