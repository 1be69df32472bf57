/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sockets, poll and epoll of simulated processes (simulated_process.h), in place of the functions
 * of these names. */
#ifndef WEFT_TESTS_SIMULATED_SOCKET_H
#define WEFT_TESTS_SIMULATED_SOCKET_H

#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>

#include "tests/scale/wrap.h"

/* Memory that is the same on all processes: what is sent from there is not copied. */
void kernel_share(const void *memory, size_t bytes);

int kernel_real_close(int fd) WEFT_TEST_REAL(close);
int kernel_socket(int family, int type, int protocol) WEFT_TEST_WRAP(socket);
int kernel_bind(int fd, const struct sockaddr *at, socklen_t bytes) WEFT_TEST_WRAP(bind);
int kernel_listen(int fd, int backlog) WEFT_TEST_WRAP(listen);
int kernel_connect(int fd, const struct sockaddr *to, socklen_t bytes) WEFT_TEST_WRAP(connect);
int kernel_accept4(int fd, struct sockaddr *from, socklen_t *bytes, int flags)
    WEFT_TEST_WRAP(accept4);
int kernel_getsockname(int fd, struct sockaddr *at, socklen_t *bytes) WEFT_TEST_WRAP(getsockname);
int kernel_setsockopt(int fd, int level, int name, const void *value, socklen_t bytes)
    WEFT_TEST_WRAP(setsockopt);
int kernel_getsockopt(int fd, int level, int name, void *value, socklen_t *bytes)
    WEFT_TEST_WRAP(getsockopt);
ssize_t kernel_send(int fd, const void *data, size_t bytes, int flags) WEFT_TEST_WRAP(send);
ssize_t kernel_recv(int fd, void *data, size_t bytes, int flags) WEFT_TEST_WRAP(recv);
int kernel_close(int fd) WEFT_TEST_WRAP(close);
int kernel_poll(struct pollfd *entries, nfds_t count, int timeout) WEFT_TEST_WRAP(poll);
int kernel_ppoll(struct pollfd *entries, nfds_t count, const struct timespec *t,
                 const sigset_t *signals) WEFT_TEST_WRAP(ppoll);
int kernel_epoll_create1(int flags) WEFT_TEST_WRAP(epoll_create1);
int kernel_epoll_ctl(int epoll, int op, int fd, struct epoll_event *event)
    WEFT_TEST_WRAP(epoll_ctl);
int kernel_epoll_wait(int fd, struct epoll_event *events, int room, int timeout)
    WEFT_TEST_WRAP(epoll_wait);

#endif
