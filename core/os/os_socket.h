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

#include <weft/types.h>

/* An address as it travels: port 0 in address lists of interfaces. */
typedef struct weft_os_addr {
    uint8_t family; /* 4, 6, or 0 = none */
    uint8_t reserved;
    uint16_t port;
    uint8_t bytes[16]; /* network order; IPv4 uses the first four */
} weft_os_addr_t;

#define WEFT_OS_ADDR_BYTES 20
#define WEFT_OS_ADDR_TEXT 56

void weft_os_addr_encode(const weft_os_addr_t *addr, uint8_t bytes[WEFT_OS_ADDR_BYTES]);
/* ERR_PROTO: unknown family, or port 0. A family of 0 is legal and means none. */
weft_status_t weft_os_addr_decode(const uint8_t bytes[WEFT_OS_ADDR_BYTES], weft_os_addr_t *addr);
/* "10.0.0.1:4711", "[fe80::1]:4711". */
void weft_os_addr_text(const weft_os_addr_t *addr, char text[WEFT_OS_ADDR_TEXT]);

/* Usable addresses of this host, best first: real interfaces, then bridges of containers and virtual
 * machines, then loopback. `filter` is a comma list of name prefixes; a leading '^' excludes them, a
 * leading '=' takes whole names, "^=" both; NULL or "" takes all. A list that names loopback or a
 * bridge first gets it. Returns how many of `max` were filled; 0 with an error recorded if none. */
uint32_t weft_os_addrs(const char *filter, weft_os_addr_t *addrs, uint32_t max);
/* Whether interface `name` passes `filter`. */
bool weft_os_interface_match(const char *filter, const char *name);

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
