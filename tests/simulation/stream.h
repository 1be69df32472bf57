/* SPDX-License-Identifier: BSD-3-Clause
 *
 * TCP and UNIX sockets. What is sent arrives after the latency between the hosts, in order and
 * once. While the way between two hosts is cut it waits; if that lasts for machine.patience, or a
 * shorter TCP_USER_TIMEOUT of the socket, or the host is gone, the connection ends with
 * ETIMEDOUT. */
#ifndef WEFT_SIMULATION_STREAM_H
#define WEFT_SIMULATION_STREAM_H

#include <sys/socket.h>

#include "descriptor.h"

/* An end whose peer was reset hears of it so late if it sends nothing and its socket has
 * keepalive. */
#define STREAM_KEEPALIVE (SIM_S + SIM_MS)

/* −1 with errno, as the system calls of these names; `passed` may be NULL. */
int stream_bind(object_t *object, const struct sockaddr *at, socklen_t bytes);
int stream_listen(object_t *object, int backlog);
int stream_connect(object_t *object, const struct sockaddr *to, socklen_t bytes);
object_t *stream_accept(object_t *listener);
ssize_t stream_send(object_t *object, const void *data, size_t bytes, object_t *passed);
ssize_t stream_receive(object_t *object, void *data, size_t bytes, bool peek, object_t **passed_p);
/* Sends what was taken by changes_take(): it has room. What follows comes `ns` later than it
 * would. */
void stream_pass(object_t *object, const void *data, size_t bytes);
void stream_delay(object_t *object, uint64_t ns);
int stream_shutdown(object_t *object);
/* Bytes that were sent and have not arrived, and one for the end. */
size_t stream_on_the_way(const object_t *object);
short stream_ready(const object_t *object);
void stream_close(object_t *object, bool silent);
/* Frees what it holds, without a word to anybody; `last`: what it passes on may be freed
 * already. */
void stream_forget(object_t *object, bool last);
/* The address of the end, or of its peer. */
void stream_address(uint32_t host, uint16_t port, struct sockaddr *at, socklen_t *bytes);

/* Faults --------------------------------------------------------------------------------------- */

/* This end, or both, find the connection reset. What the other end sends is answered by a reset. */
void stream_reset(object_t *object, bool both);
/* Cuts, or mends, the ways of these directions between hosts. */
void stream_cut(uint32_t from, uint32_t to, bool cut);

#endif
