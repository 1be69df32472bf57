/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The connecting side. */
#ifndef WEFT_PLUGINS_NCCLNET_CONNECT_H
#define WEFT_PLUGINS_NCCLNET_CONNECT_H

#include "ncclnet.h"

/* connect_begin and connect_poll of net.h. */
weft_status_t ncclnet_connect_begin(weft_net_device_t *device, const weft_net_address_t *address,
                                    const weft_net_conn_params_t *params, weft_net_conn_t **conn_p);
weft_status_t ncclnet_connect_poll(weft_net_conn_t *conn);

#endif
