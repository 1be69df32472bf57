/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Listening, and accepting connections. Nothing here blocks. */
#ifndef WEFT_PLUGINS_NET_SHM_LISTENER_H
#define WEFT_PLUGINS_NET_SHM_LISTENER_H

#include "shm_instance.h"

weft_status_t shm_listen(weft_net_device_t *device, weft_net_address_t *address_p,
                         weft_net_listener_t **listener_p);
void shm_listener_close(weft_net_listener_t *listener);
weft_status_t shm_accept(weft_net_listener_t *listener, weft_net_conn_t **conn_p);

#endif
