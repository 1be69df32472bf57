/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/connections.h"

#include <sys/socket.h>

long connections_count(long *kept_p)
{
    long all = 0;
    *kept_p = 0;
    for (int fd = 0; fd < 1024; fd++) {
        struct sockaddr_storage peer;
        socklen_t bytes = sizeof peer;
        int kept = 0;
        if (getpeername(fd, (struct sockaddr *)&peer, &bytes) != 0 || peer.ss_family == AF_UNIX) {
            continue;
        }
        bytes = sizeof kept;
        all++;
        *kept_p += getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &kept, &bytes) == 0 && kept != 0;
    }
    return all;
}
