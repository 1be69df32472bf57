/* SPDX-License-Identifier: BSD-3-Clause
 *
 * TCP sockets that do not block, waiting for several descriptors, and a wake-up. Every descriptor
 * is close-on-exec and non-blocking. Calls retry on EINTR and raise no SIGPIPE. */
#ifndef WEFT_OS_SOCKET_H
#define WEFT_OS_SOCKET_H

#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>

#include "core/os/os_address.h"

/* Listens on all addresses, on *port_p, or if that is 0 on a port that the kernel chooses and that
 * is returned there; one socket serves IPv6 and IPv4 where the system can. AGAIN: another socket
 * listens there. ERR_SYSTEM, ERR_RESOURCE. */
weft_status_t weft_os_listen(int backlog, int *fd_p, uint16_t *port_p);
/* Starts to connect; children of fork() keep no copy of the descriptor, and weft_os_close() ends
 * that. Once the descriptor is writable, weft_os_connect_result() returns the outcome. */
weft_status_t weft_os_connect(const weft_os_addr_t *addr, int *fd_p);
/* Returns 0, or the errno of the attempt. A socket that was connected to itself is refused. */
int weft_os_connect_result(int fd);
/* Gives out the address of this end of a connection, with its port. False: there is none. */
bool weft_os_own_addr(int fd, weft_os_addr_t *addr);

/* Tunes a control connection: no delay, a dead host is noticed after about 3 s, and children of
 * fork() keep no copy; weft_os_close() ends it. Failures are ignored. */
void weft_os_tune_control(int fd);

/* Return the number of bytes moved, at least 1; 0 at the end of the stream (receive only);
 * WEFT_OS_NONE if none can move now; WEFT_OS_BROKEN with errno in *errno_p. `bytes` is not 0. */
ssize_t weft_os_send(int fd, const void *data, size_t bytes, int *errno_p);
ssize_t weft_os_recv(int fd, void *data, size_t bytes, int *errno_p);
/* Sends bytes that fit the socket's buffer. False: not all of them went. */
bool weft_os_send_all(int fd, const void *data, size_t bytes, int *errno_p);
/* Receives but leaves the bytes in the socket. */
ssize_t weft_os_peek(int fd, void *data, size_t bytes, int *errno_p);
#define WEFT_OS_NONE ((ssize_t)-1)
#define WEFT_OS_BROKEN ((ssize_t)-2)
/* True if an errno of those says that the stream was reset: the peer ended, or the network between.
 * Else the peer is not heard of. */
bool weft_os_was_reset(int error);

/* Returns how many bytes of a TCP connection, the end of sending too, the peer's kernel has not
 * acknowledged; 0 if that is not known. */
uint32_t weft_os_unacknowledged(int fd);

/* Ends the direction of sending. */
void weft_os_shutdown(int fd);
/* −1 is allowed. */
void weft_os_close(int fd);

/* Waits until an entry with fd ≥ 0 is ready or the monotonic time `until` has come. Returns how
 * many are ready; −1 if the system cannot wait for them, with the cause as error record:
 * ERR_RESOURCE, ERR_SYSTEM; ERR_ABORTED: os_cancel.h. Descriptors that are open may be more than
 * RLIMIT_NOFILE allows now. */
int weft_os_poll(struct pollfd *entries, uint32_t count, uint64_t until);

/* A watch: any number of descriptors that are waited for together, at a cost per event. It tells
 * them apart by the tag that came with each. Each belongs to its owner; remove it before it is
 * closed, if a forked child may hold a copy. ERR_RESOURCE, ERR_SYSTEM. */
weft_status_t weft_os_watch_open(int *watch_p);
weft_status_t weft_os_watch_add(int watch, int fd, uint64_t tag);
void weft_os_watch_remove(int watch, int fd);
/* As weft_os_poll(); the tags of those that are ready are in `tags`, at most `room` ≤ 64. */
int weft_os_watch_wait(int watch, uint64_t *tags, uint32_t room, uint64_t until);

/* Sees to it that this process may open `count` more descriptors, by raising the soft limit towards
 * the hard one if it must. ERR_RESOURCE: names RLIMIT_NOFILE, its value, and the value that is
 * needed for `what`. */
weft_status_t weft_os_files_reserve(uint32_t count, const char *what);
/* Returns how many descriptors this process may have at most; UINT64_MAX: no limit. */
uint64_t weft_os_files_most(void);

/* Opens a descriptor that becomes readable when any thread wakes it. */
weft_status_t weft_os_wake_open(int *fd_p);
void weft_os_wake(int fd);
void weft_os_wake_clear(int fd);

#endif
