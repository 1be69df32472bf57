/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See sock_backoff.h. */
#include "sock_backoff.h"

#include <linux/tcp.h> /* netinet/tcp.h does not know the least round trip */
#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>

#ifndef TCP_RTO_MAX_MS
#define TCP_RTO_MAX_MS 44
#endif

#define ROUND_TRIP_MOST_US 100000 /* beyond that a queue on the way may make a second of it */
#define SYSTEM_MS 120000          /* RFC 6298, and what Linux begins with */

static bool sock_backoff_set(int fd, int option, int value)
{
    return setsockopt(fd, IPPROTO_TCP, option, &value, sizeof value) == 0;
}

void sock_backoff_limit_connect(int fd)
{
    if (sock_backoff_set(fd, TCP_RTO_MAX_MS, SOCK_BACKOFF_MS)) {
        (void)sock_backoff_set(fd, TCP_SYNCNT, SOCK_CONNECT_TRIES);
    }
}

bool sock_backoff_limit(int fd)
{
    struct tcp_info info = {0};
    socklen_t bytes = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0 ||
        info.tcpi_min_rtt >= ROUND_TRIP_MOST_US) {
        (void)sock_backoff_set(fd, TCP_RTO_MAX_MS, SYSTEM_MS);
        return false;
    }
    return sock_backoff_set(fd, TCP_RTO_MAX_MS, SOCK_BACKOFF_MS) &&
           sock_backoff_set(fd, TCP_USER_TIMEOUT, SOCK_GIVE_UP_MS);
}
