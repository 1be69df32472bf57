/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The connector. Thread: [progress]. */
#ifndef WEFT_PLUGINS_NET_IB_CONNECT_H
#define WEFT_PLUGINS_NET_IB_CONNECT_H

#include "ib.h"

/* weft_net_ops_t.connect_begin and .connect_poll. */
weft_status_t ib_connect_begin(weft_net_device_t *device, const weft_net_address_t *address,
                               const weft_net_conn_params_t *params, weft_net_conn_t **conn_p);
weft_status_t ib_connect_poll(weft_net_conn_t *conn);

#endif
