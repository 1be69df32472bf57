/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See sock_backoff.h. */
#include "sock_backoff.h"

#include <linux/tcp.h> /* netinet/tcp.h does not know the least round trip */
#include <netinet/in.h>
#include <sys/socket.h>

#ifndef TCP_RTO_MAX_MS
#define TCP_RTO_MAX_MS 44
#endif

#define ROUND_TRIP_MOST_US 100000 /* beyond that a queue on the way may make a second of it */

bool sock_backoff_limit(int fd)
{
    const int longest = SOCK_BACKOFF_MS, give_up = SOCK_GIVE_UP_MS;
    struct tcp_info info = {0};
    socklen_t bytes = sizeof info;
    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) == 0 &&
           info.tcpi_min_rtt < ROUND_TRIP_MOST_US &&
           setsockopt(fd, IPPROTO_TCP, TCP_RTO_MAX_MS, &longest, sizeof longest) == 0 &&
           setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &give_up, sizeof give_up) == 0;
}
