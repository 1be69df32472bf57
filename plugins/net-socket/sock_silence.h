/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections of one rail where the plugin has several devices: one whose peer's system does not answer
 * ends, so that the ranks can go on over another device. With one device that would help nobody, and
 * TCP waits some quarter of an hour. Thread: [progress]. */
#ifndef WEFT_PLUGINS_NET_SOCKET_SILENCE_H
#define WEFT_PLUGINS_NET_SOCKET_SILENCE_H

#include "sock.h"

/* Now and then looks at the busy connections of a device, and fails those that are silent. */
void sock_silence_watch(weft_net_device_t *device);

#endif
