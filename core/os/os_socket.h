/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The OS seam for sockets: TCP without blocking, addresses as bytes, waiting for several descriptors,
 * a wake-up. Every descriptor is close-on-exec and non-blocking, EINTR is retried, no call raises
 * SIGPIPE. */
#ifndef WEFT_OS_SOCKET_H
#define WEFT_OS_SOCKET_H

#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>

#include "core/os/os_address.h"

/* Listens on all addresses, IPv6 and IPv4 by one socket where the system can, on a port that the
 * kernel chooses. ERR_SYSTEM, ERR_RESOURCE. */
weft_status_t weft_os_listen(int backlog, int *fd_p, uint16_t *port_p);
/* AGAIN: nobody waits. ERR_RESOURCE: out of descriptors; stop asking for a while. ERR_SYSTEM. */
weft_status_t weft_os_accept(int listener, int *fd_p);
/* Starts to connect; when the descriptor is writable, weft_os_connect_result() tells the outcome. */
weft_status_t weft_os_connect(const weft_os_addr_t *addr, int *fd_p);
/* 0 or the errno of the attempt. */
int weft_os_connect_result(int fd);

/* For control connections: no delay, and death of a silent host found within about 3 s. Failures are
 * ignored: the options only improve things. */
void weft_os_tune_control(int fd);

/* Bytes moved (at least 1), or 0 = the stream has ended (receive only), −1 = none now, −2 = broken,
 * errno in *errno_p. `bytes` must not be 0. */
ssize_t weft_os_send(int fd, const void *data, size_t bytes, int *errno_p);
ssize_t weft_os_recv(int fd, void *data, size_t bytes, int *errno_p);
/* As receive, but leaves the bytes in place. */
ssize_t weft_os_peek(int fd, void *data, size_t bytes, int *errno_p);
#define WEFT_OS_NONE ((ssize_t)-1)
#define WEFT_OS_BROKEN ((ssize_t)-2)

/* Ends the sending direction. */
void weft_os_shutdown(int fd);
/* −1 is allowed. */
void weft_os_close(int fd);

/* Waits until an entry with fd ≥ 0 is ready or the monotonic time `until` has come. Returns how many
 * are ready. */
int weft_os_poll(struct pollfd *entries, uint32_t count, uint64_t until);

/* A descriptor that becomes readable when any thread wakes it. */
weft_status_t weft_os_wake_open(int *fd_p);
void weft_os_wake(int fd);
void weft_os_wake_clear(int fd);

#endif
