/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The connector. Thread: [progress]. */
#ifndef WEFT_PLUGINS_NET_SOCKET_CONNECT_H
#define WEFT_PLUGINS_NET_SOCKET_CONNECT_H

#include "sock.h"

/* weft_net_ops_t.connect_begin and .connect_poll. */
weft_status_t sock_connect_begin(weft_net_device_t *device, const weft_net_address_t *address,
                                 const weft_net_conn_params_t *params, weft_net_conn_t **conn_p);
weft_status_t sock_connect_poll(weft_net_conn_t *conn);

/* Sets the options that every data socket gets. Failures are ignored: the connection works
 * without. */
void sock_tune(const weft_net_t *net, int fd);

#endif
