/* SPDX-License-Identifier: BSD-3-Clause
 *
 * TCP's word. */
#include "silent_tcp.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include "tests/support/unit.h"

uint32_t silent_fds;

int __real_getsockopt(int fd, int level, int name, void *value, socklen_t *length);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *length);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *length)
{
    /* Who asks for more wants to know the round trip. */
    if (level != IPPROTO_TCP || name != TCP_INFO || *length > sizeof(struct tcp_info)) {
        return __real_getsockopt(fd, level, name, value, length);
    }
    assert_true(fd < 32 && *length == sizeof(struct tcp_info));
    *(struct tcp_info *)value = (silent_fds >> fd & 1u) != 0 ? said_of_silent : said_of_others;
    return 0;
}
