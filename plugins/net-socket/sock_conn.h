/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections: creation, posting, failure, end. Thread: [progress], but sock_conn_info() [any]. */
#ifndef WEFT_PLUGINS_NET_SOCKET_CONN_H
#define WEFT_PLUGINS_NET_SOCKET_CONN_H

#include "sock.h"

/* Creates a connection without sockets. Returns NULL if there is no memory. */
weft_net_conn_t *sock_conn_create(weft_net_device_t *device, uint32_t nstreams,
                                  const uint8_t label[WEFT_AUTH_LABEL]);

/* Makes a connected connection usable: its device visits it from now on. */
void sock_conn_ready(weft_net_conn_t *conn);

/* Ends the connection: everything open completes with `status`. The caller has set the error with
 * sock_conn_blame(). A second call does nothing. */
void sock_conn_fail(weft_net_conn_t *conn, weft_status_t status);
/* Sets the error of a connection that has failed: why it failed, where that is known. */
weft_status_t sock_conn_unusable(weft_net_conn_t *conn);

/* weft_net_ops_t.post, .cancel, .conn_info, .conn_check, .conn_close, and the weft.net.attach
 * extension. */
weft_status_t sock_post(weft_net_conn_t *conn, const weft_net_op_t *ops, uint32_t count,
                        uint32_t *posted_p);
weft_status_t sock_cancel(weft_net_conn_t *conn);
weft_status_t sock_conn_info(weft_net_conn_t *conn, weft_net_conn_info_t *info);
weft_status_t sock_conn_check(weft_net_conn_t *conn);
void sock_conn_close(weft_net_conn_t *conn);
weft_status_t sock_conn_attach(weft_net_conn_t *conn, weft_net_device_t *device);

/* weft_net_payload_t. */
weft_status_t sock_send_payload(weft_net_conn_t *conn, const weft_net_op_t *op, const void *payload,
                                uint64_t bytes);
weft_status_t sock_place_payload(weft_net_conn_t *conn, const void *context, uint64_t header,
                                 void *payload, uint64_t bytes);

#endif
