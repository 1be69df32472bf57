/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which events of a connection's streams the device's epoll set watches for. Thread: [progress]. */
#ifndef WEFT_PLUGINS_NET_SOCKET_WATCH_H
#define WEFT_PLUGINS_NET_SOCKET_WATCH_H

#include "sock.h"

/* Watches for EPOLL* events of the stream; 0: for none. */
void sock_stream_watch(sock_stream_t *stream, uint32_t events);

/* Watches for what the streams of a ready connection wait for now. */
void sock_stream_arm(sock_stream_t *stream);
void sock_conn_arm(weft_net_conn_t *conn);

/* Takes the streams out of the epoll set. */
void sock_conn_disarm(weft_net_conn_t *conn);

#endif
