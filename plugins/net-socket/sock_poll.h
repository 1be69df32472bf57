/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Progress of a device. Thread: [progress]. */
#ifndef WEFT_PLUGINS_NET_SOCKET_POLL_H
#define WEFT_PLUGINS_NET_SOCKET_POLL_H

#include "sock.h"

/* weft_net_ops_t.poll and .wait_fd. */
weft_status_t sock_poll(weft_net_device_t *device, weft_net_completion_t *completions, uint32_t max,
                        uint32_t *count_p);
weft_status_t sock_wait_fd(weft_net_device_t *device, int *fd_p);

#endif
