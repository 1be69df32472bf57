/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The data path of a connection. Nothing here blocks. Thread: [progress]. */
#ifndef WEFT_PLUGINS_NET_SOCKET_STREAM_H
#define WEFT_PLUGINS_NET_SOCKET_STREAM_H

#include "sock.h"

/* Returns whether there may be something to send. */
static inline bool sock_conn_has_to_send(const weft_net_conn_t *conn)
{
    return conn->ops.send.open > 0 || (conn->rails != NULL && conn->rails->due);
}

/* Returns whether something is wanted from the peer: with several rails also acknowledgements. */
static inline bool sock_conn_has_to_receive(const weft_net_conn_t *conn)
{
    return conn->ops.recv.open > 0 || (conn->rails != NULL && conn->ops.send.open > 0);
}

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

#endif
