/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The side channel of a connection: the TCP socket over which the ends met, and control messages
 * on it. Nothing here blocks. Thread: [progress]. */
#ifndef WEFT_PLUGINS_NET_IB_SIDE_H
#define WEFT_PLUGINS_NET_IB_SIDE_H

#include "ib.h"

/* Lets the device's epoll set watch the socket of a connection under way for EPOLL* events; 0: for
 * none. */
void ib_side_await(weft_net_conn_t *conn, uint32_t events);
/* Returns whether the peer of a connection under way has closed its end. What it sent before stays
 * unread. */
bool ib_side_is_closed(const weft_net_conn_t *conn);
/* The same for a ready connection, until the socket is watched no longer. */
void ib_side_watch(weft_net_conn_t *conn);
void ib_side_unwatch(weft_net_conn_t *conn);

/* Sends a control message; the magic is added. Returns OK, also when the peer has closed its
 * end, which is still to be found; or ERR_LINK with the error set. */
weft_status_t ib_side_send(weft_net_conn_t *conn, ib_control_t *control);

/* Receives the next control message. Returns true if a step of failover is in
 * conn->side.control. The end of the channel, a LEAVE and foreign bytes are noted in conn->side,
 * and nothing is received after them. */
bool ib_side_receive(weft_net_conn_t *conn);

/* Notes that the peer must not send what is in conn->side.control. Nothing is received after it. */
void ib_side_refuse(weft_net_conn_t *conn);

/* Tells the peer why this end leaves, as far as the message gets through, and shuts the channel
 * down. */
void ib_side_leave(weft_net_conn_t *conn, weft_status_t status);

#endif
