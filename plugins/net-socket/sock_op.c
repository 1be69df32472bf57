/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the end of a connection is called. */
#include "sock_op.h"

#include <errno.h>

weft_status_t sock_conn_lost(weft_net_conn_t *conn, int cause)
{
    const weft_host_t *host = conn->host;
    conn->loss.told = true;
    conn->loss.cause = cause;
    if (cause == 0 || cause == EPIPE) {
        return host->set_error(host, WEFT_ERR_PEER_DEAD, 0, "peer %s closed the connection",
                               conn->info.peer);
    }
    if (cause == ENOMEM || cause == ENOBUFS) {
        /* What is lacking is lacking here: it is no fault of the peer. */
        return host->set_error(host, WEFT_ERR_RESOURCE, cause, "no memory for the connection to %s",
                               conn->info.peer);
    }
    if (cause == EFAULT) {
        return host->set_error(host, WEFT_ERR_SYSTEM, cause,
                               "the memory of a message with %s is not mapped, or must not be "
                               "written",
                               conn->info.peer);
    }
    if (cause == ETIMEDOUT) {
        return host->set_error(host, WEFT_ERR_LINK, cause,
                               "connection to peer %s; if its rank lives, a firewall swallows what "
                               "is sent, or a network on the way whose MTU is smaller than that of "
                               "the interface",
                               conn->info.peer);
    }
    return host->set_error(host, WEFT_ERR_LINK, cause, "connection to peer %s", conn->info.peer);
}
