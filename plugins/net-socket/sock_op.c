/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ends of operations, and what the end of a connection is called. */
#include "sock_op.h"

#include <errno.h>

void sock_op_finish(weft_net_conn_t *conn, weft_op_queue_t *queue, weft_posted_op_t *op,
                    weft_status_t status)
{
    weft_op_finish(&conn->ops, queue, op, status);
    if (queue->open == 0) {
        sock_conn_set_busy(conn);
    }
}

weft_status_t sock_conn_lost(const weft_net_conn_t *conn, int cause)
{
    const weft_host_t *host = conn->host;
    if (cause == 0 || cause == EPIPE) {
        return host->set_error(host, WEFT_ERR_PEER_DEAD, 0, "peer %s closed the connection",
                               conn->info.peer);
    }
    return host->set_error(host, WEFT_ERR_LINK, cause, "connection to peer %s", conn->info.peer);
}
