/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How long TCP waits before it sends again what was not acknowledged. The waits double from 0.2 s
 * to two minutes, so after a network was away for 7 s nothing is sent for 5.6 s more. Here a wait
 * is a second at most (TCP_RTO_MAX_MS, Linux 6.15 and later; older systems keep their own). RFC
 * 6298, section 5. */
#ifndef WEFT_PLUGINS_NET_SOCKET_BACKOFF_H
#define WEFT_PLUGINS_NET_SOCKET_BACKOFF_H

#include <stdbool.h>

#define SOCK_BACKOFF_MS 1000 /* the least that the system takes */
/* TCP gives up after a number of waits, which would be 15 s now instead of 15 minutes. Who waits
 * for how long is for boot.unresponsive and exec.op_timeout to say, so this is longer than both are
 * by default. */
#define SOCK_GIVE_UP_MS 3600000

/* Limits the waits of a connected socket. False: its round trip is too long for that, or the system
 * cannot. */
bool sock_backoff_limit(int fd);

#endif
