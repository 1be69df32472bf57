/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The listener of control connections: a TCP socket on all addresses behind the acceptor of the
 * SDK. It gives out connections whose peer has proved that it holds the key. Never blocks. */
#ifndef WEFT_BOOT_CONTROL_LISTENER_H
#define WEFT_BOOT_CONTROL_LISTENER_H

#include <weft/sdk/acceptor.h>
#include <weft/sdk/endpoint.h>

#include "core/boot/auth_host.h"
#include "core/os/os_socket.h"

typedef struct weft_control_listener {
    bool open;
    uint16_t port;
    weft_port_range_t ports;
    int wait_fd;           /* readable when there is something to do */
    uint64_t paused_until; /* cannot accept: does not try before this time */
    bool refused;          /* the last attempt failed, and the log says so */
    weft_auth_host_t host;
    weft_acceptor_t acceptor;
} weft_control_listener_t;

/* Starts to listen on listener->port, or if that is 0 on one of listener->ports, or if there are
 * none on a port that the kernel chooses. Of a range the port of a fixed id that this process was
 * given comes last: rank 0 listens there. `name` is for the log and must outlive the listener, of
 * which all else is zeros before. AGAIN: the port is in use. ERR_CONFIG: all of the range are;
 * ERR_RESOURCE, ERR_SYSTEM. */
weft_status_t weft_control_listener_open(weft_control_listener_t *listener, const char *name,
                                         const uint8_t key[32]);
/* Closes the socket and all pending peers, and wipes the key. A listener of zeros is allowed. */
void weft_control_listener_close(weft_control_listener_t *listener);

/* From now on ranks are leaving and may give up connections half made: no reason to warn. */
void weft_control_listener_expect_leavers(weft_control_listener_t *listener);

/* Fills one poll entry and lowers *until to the time at which weft_control_listener_poll() must be
 * called even if the entry is quiet. */
void weft_control_listener_prepare(const weft_control_listener_t *listener, struct pollfd *entry,
                                   uint64_t *until);
/* Serves what the poll found, and deadlines. Returns OK and a connection, which is the caller's,
 * with the label that its peer has proved; call again for the next one. AGAIN: there is none, or
 * the system refuses to accept one, which is logged once. */
weft_status_t weft_control_listener_poll(weft_control_listener_t *listener,
                                         const struct pollfd *entry, int *fd_p,
                                         uint8_t label[WEFT_AUTH_LABEL]);

#endif
