/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Listeners and their addresses. A listener of weft takes many peers, one of the library often a
 * single one, so the address is that of control streams, and the library listens once per
 * connection. */
#ifndef WEFT_PLUGINS_NCCLNET_LISTEN_H
#define WEFT_PLUGINS_NCCLNET_LISTEN_H

#include "ncclnet.h"

/* listen, listener_close, accept and reachable of net.h. */
weft_status_t ncclnet_listen(weft_net_device_t *device, weft_net_address_t *address_p,
                             weft_net_listener_t **listener_p);
void ncclnet_listener_close(weft_net_listener_t *listener);
weft_status_t ncclnet_accept(weft_net_listener_t *listener, weft_net_conn_t **conn_p);
weft_status_t ncclnet_reachable(weft_net_device_t *device, const weft_net_address_t *address);

/* Checks an address and lists the control addresses that can be tried from here. ERR_PROTO,
 * ERR_UNSUPPORTED, recorded. */
weft_status_t ncclnet_address_decode(weft_net_device_t *device, const weft_net_address_t *address,
                                     weft_endpoint_list_t *list);

#endif
