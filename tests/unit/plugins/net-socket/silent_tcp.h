/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What TCP would say of a test's sockets, whose peers' systems are silent or are not: TCP_INFO in a
 * program that is linked with --wrap=getsockopt. */
#ifndef WEFT_TESTS_UNIT_PLUGINS_NET_SOCKET_SILENT_TCP_H
#define WEFT_TESTS_UNIT_PLUGINS_NET_SOCKET_SILENT_TCP_H

#include <netinet/tcp.h>
#include <stdint.h>

/* The test defines what is said of a socket on which nothing comes any more, and of others. */
extern const struct tcp_info said_of_silent, said_of_others;
extern uint32_t silent_fds; /* bit mask */

#endif
