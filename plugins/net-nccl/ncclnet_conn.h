/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections: creation, failure, end. */
#ifndef WEFT_PLUGINS_NCCLNET_CONN_H
#define WEFT_PLUGINS_NCCLNET_CONN_H

#include "ncclnet.h"

/* Creates a connection that is to be made; NULL, recorded, if there is no memory. */
weft_net_conn_t *ncclnet_conn_create(weft_net_device_t *device,
                                     const uint8_t label[WEFT_AUTH_LABEL]);
/* Puts it into the list of its device. */
void ncclnet_conn_ready(weft_net_conn_t *conn);

/* Closes the library's comms, after which it touches no buffer, and finishes all operations with
 * `status`. */
void ncclnet_conn_fail(weft_net_conn_t *conn, weft_status_t status);
/* Records that the connection failed before. Returns its status. */
weft_status_t ncclnet_conn_unusable(const weft_net_conn_t *conn);

/* conn_info, conn_check, conn_close, cancel of net.h, and attach of its extension. */
weft_status_t ncclnet_conn_info(weft_net_conn_t *conn, weft_net_conn_info_t *info);
weft_status_t ncclnet_conn_check(weft_net_conn_t *conn);
void ncclnet_conn_close(weft_net_conn_t *conn);
weft_status_t ncclnet_conn_cancel(weft_net_conn_t *conn);
weft_status_t ncclnet_conn_attach(weft_net_conn_t *conn, weft_net_device_t *device);

#endif
