/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ends of operations and of connections. Thread: [progress]. */
#ifndef WEFT_PLUGINS_NET_SOCKET_OP_H
#define WEFT_PLUGINS_NET_SOCKET_OP_H

#include "sock.h"

/* Counts the connection's streams as busy, or as idle, depending on whether an operation is
 * open. */
static inline void sock_conn_set_busy(weft_net_conn_t *conn)
{
    bool busy =
        conn->ops.send.open + conn->ops.recv.open > 0 || (conn->rails != NULL && conn->rails->due);
    if (busy != conn->busy) {
        conn->busy = busy;
        conn->device->busy += busy ? conn->nstreams : 0u - conn->nstreams;
    }
}

/* Says that time may decide about a connection that is ready: from now on its device looks at it
 * without an event too. */
static inline void sock_conn_set_timed(weft_net_conn_t *conn)
{
    conn->device->timed += conn->timed ? 0 : 1;
    conn->timed = true;
}

/* Finishes an operation of one of the connection's queues. */
static inline void sock_op_finish(weft_net_conn_t *conn, weft_op_queue_t *queue,
                                  weft_posted_op_t *op, weft_status_t status)
{
    weft_op_finish(&conn->ops, queue, op, status);
    if (queue->open == 0) {
        sock_conn_set_busy(conn);
    }
}

/* Sets the error with which the connection is going to fail, as weft_host_t.set_error() does, and
 * keeps it for whoever asks later. Of a connection that has failed the first error is kept. Returns
 * `status`. */
weft_status_t sock_conn_blame(weft_net_conn_t *conn, weft_status_t status, int cause,
                              const char *format, ...) WEFT_PRINTF(4, 5);

/* Sets an error about the loss of a stream; `cause` is the errno, or 0 for an orderly end. Returns
 * ERR_PEER_DEAD or ERR_LINK, and of what is wrong here ERR_RESOURCE or ERR_SYSTEM. */
weft_status_t sock_conn_lost(weft_net_conn_t *conn, int cause);

#endif
