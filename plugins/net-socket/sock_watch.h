/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which events of a connection's streams the device's epoll set watches for. Thread: [progress]. */
#ifndef WEFT_PLUGINS_NET_SOCKET_WATCH_H
#define WEFT_PLUGINS_NET_SOCKET_WATCH_H

#include "sock.h"

/* Watches for what the stream waits for now; for nothing if that is nothing. */
void sock_stream_arm(sock_stream_t *stream);
void sock_conn_arm(weft_net_conn_t *conn);

/* Takes the stream out of the epoll set. */
void sock_stream_disarm(sock_stream_t *stream);

#endif
