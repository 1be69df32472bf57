/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The listener. Thread: [control] for listen and close, [progress] for accept. */
#ifndef WEFT_PLUGINS_NET_SOCKET_ACCEPT_H
#define WEFT_PLUGINS_NET_SOCKET_ACCEPT_H

#include "sock.h"

/* weft_net_ops_t.listen, .listener_close and .accept. */
weft_status_t sock_listen(weft_net_device_t *device, weft_net_address_t *address_p,
                          weft_net_listener_t **listener_p);
void sock_listener_close(weft_net_listener_t *listener);
weft_status_t sock_accept(weft_net_listener_t *listener, weft_net_conn_t **conn_p);

#endif
