/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections whose peer's system does not answer, although TCP has sent again for ten times
 * rail_patience. Where the plugin has several devices such a connection of one rail ends, so that
 * the ranks can go on over another device. Elsewhere that would help nobody, and TCP waits some
 * quarter of an hour: a warning says what is the matter. Thread: [progress]. */
#ifndef WEFT_PLUGINS_NET_SOCKET_SILENCE_H
#define WEFT_PLUGINS_NET_SOCKET_SILENCE_H

#include "sock.h"

/* Now and then looks at the connections of a device, at the busy ones only where they may end. */
void sock_silence_watch(weft_net_device_t *device);

#endif
