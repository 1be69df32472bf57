/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The descriptors that a device watches for whoever sleeps on it. Nothing blocks. Thread:
 * [progress]. */
#ifndef WEFT_PLUGINS_NET_IB_WATCH_H
#define WEFT_PLUGINS_NET_IB_WATCH_H

#include "ib.h"

/* Lets the device's epoll descriptor watch `fd`, as epoll_ctl() does; events are those of `watch`,
 * or of nobody (NULL). Returns false where the system refuses (fs.epoll.max_user_watches, or no
 * memory): then wait_fd() says so, and polls look at what no event tells of. */
bool ib_device_watch(weft_net_device_t *device, int verb, int fd, uint32_t events,
                     ib_watch_t *watch);

#endif
