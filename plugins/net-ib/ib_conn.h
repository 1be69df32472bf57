/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections: creation, posting, failure, end. Thread: [progress], but ib_conn_info() [any]. */
#ifndef WEFT_PLUGINS_NET_IB_CONN_H
#define WEFT_PLUGINS_NET_IB_CONN_H

#include "ib.h"

/* Creates a connection without queue pairs. Returns NULL if there is no memory. */
weft_net_conn_t *ib_conn_create(weft_net_device_t *device, const uint8_t label[WEFT_AUTH_LABEL]);

/* Makes a connected connection usable: its device watches and visits it from now on. */
void ib_conn_ready(weft_net_conn_t *conn);

/* Ends the connection: everything open completes with `status`, or ERR_LINK in place of
 * ERR_RESOURCE, and the peer is told. The caller has set the error. A second call does nothing. */
void ib_conn_fail(weft_net_conn_t *conn, weft_status_t status);

/* Sets the error of a call on a connection that has failed. Returns its status. */
weft_status_t ib_conn_unusable(const weft_net_conn_t *conn);

/* weft_net_ops_t.post, .cancel, .conn_info, .conn_close, and the weft.net.attach extension. */
weft_status_t ib_post(weft_net_conn_t *conn, const weft_net_op_t *ops, uint32_t count,
                      uint32_t *posted_p);
weft_status_t ib_cancel(weft_net_conn_t *conn);
weft_status_t ib_conn_info(weft_net_conn_t *conn, weft_net_conn_info_t *info);
void ib_conn_close(weft_net_conn_t *conn);
weft_status_t ib_conn_attach(weft_net_conn_t *conn, weft_net_device_t *device);

#endif
