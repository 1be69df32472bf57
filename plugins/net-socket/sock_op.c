/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the end of a connection is called. */
#include "sock_op.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

weft_status_t sock_conn_blame(weft_net_conn_t *conn, weft_status_t status, int cause,
                              const char *format, ...)
{
    char text[sizeof conn->loss.text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (conn->failed == WEFT_OK) {
        conn->loss.cause = cause;
        memcpy(conn->loss.text, text, strlen(text) + 1);
    }
    return conn->host->set_error(conn->host, status, cause, "%s", text);
}

weft_status_t sock_conn_lost(weft_net_conn_t *conn, int cause)
{
    if (cause == 0 || cause == EPIPE) {
        return sock_conn_blame(conn, WEFT_ERR_PEER_DEAD, 0, "peer %s closed the connection",
                               conn->info.peer);
    }
    if (cause == ENOMEM || cause == ENOBUFS) {
        /* What is lacking is lacking here: it is no fault of the peer. */
        return sock_conn_blame(conn, WEFT_ERR_RESOURCE, cause, "no memory for the connection to %s",
                               conn->info.peer);
    }
    if (cause == EFAULT) {
        return sock_conn_blame(conn, WEFT_ERR_SYSTEM, cause,
                               "the memory of a message with %s is not mapped, or must not be "
                               "written",
                               conn->info.peer);
    }
    if (cause == ETIMEDOUT) {
        return sock_conn_blame(conn, WEFT_ERR_LINK, cause,
                               "connection to peer %s; if its rank lives, a firewall swallows what "
                               "is sent, or a network on the way whose MTU is smaller than that of "
                               "the interface",
                               conn->info.peer);
    }
    return sock_conn_blame(conn, WEFT_ERR_LINK, cause, "connection to peer %s", conn->info.peer);
}
