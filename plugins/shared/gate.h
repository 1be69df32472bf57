/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The door of a transport that meets peers over byte streams: the authentication handshake of both
 * ends on a non-blocking socket, and a gate that accepts strangers into a fixed number of slots until
 * they have proved that they hold the secret. Compiled into each plugin that needs it; not a plugin,
 * and no part of the ABI. */
#ifndef WEFT_PLUGINS_SHARED_GATE_H
#define WEFT_PLUGINS_SHARED_GATE_H

#include <weft/plugin/host.h>

#define GATE_DOORS 8u /* listening sockets */
#define GATE_SLOTS 64u
#define GATE_PATIENCE_NS UINT64_C(2000000000) /* for one stranger */

/* One handshake under way. The socket is the caller's. */
typedef struct gate_shake {
    weft_auth_state_t state;
    uint8_t message[WEFT_AUTH_HELLO]; /* being sent or received */
    uint32_t bytes;                   /* length of the message */
    uint32_t done;                    /* bytes of it that are through */
    uint32_t step;
} gate_shake_t;

/* What: starts the connector's side. gate_shake_connect() advances it. Returns: OK (the proof is
 * sent), IN_PROGRESS, ERR_AUTH, ERR_LINK (closed by the acceptor), ERR_SYSTEM. */
weft_status_t gate_shake_begin(const weft_host_t *host, gate_shake_t *shake,
                               const uint8_t label[WEFT_AUTH_LABEL]);
weft_status_t gate_shake_connect(const weft_host_t *host, gate_shake_t *shake, int fd);

/* What: advances the acceptor's side, which starts with zeroed bytes. Returns: OK and the label,
 * IN_PROGRESS, or a failure, after which the socket is to be closed in silence. */
weft_status_t gate_shake_accept(const weft_host_t *host, gate_shake_t *shake, int fd,
                                uint8_t label[WEFT_AUTH_LABEL]);

/* What: sends or receives the rest of `bytes` of a small fixed-size record; *done_p counts. Returns:
 * OK, IN_PROGRESS, ERR_LINK with errno in place (0 = closed by the peer), no error text. */
weft_status_t gate_send(int fd, const void *record, uint32_t bytes, uint32_t *done_p);
weft_status_t gate_receive(int fd, void *record, uint32_t bytes, uint32_t *done_p);

typedef struct gate_slot {
    int fd; /* −1: free */
    uint64_t deadline_ns;
    gate_shake_t shake;
} gate_slot_t;

typedef struct gate {
    const weft_host_t *host;
    uint32_t doors;
    int fds[GATE_DOORS]; /* listening, non-blocking */
    int watch;           /* epoll that watches the strangers as well, or −1 */
    uint32_t used;       /* slots in use */
    uint64_t dropped;    /* strangers since the last log line */
    uint64_t logged_ns;
    gate_slot_t slots[GATE_SLOTS];
} gate_t;

/* What: sets up a gate without doors. */
void gate_init(gate_t *gate, const weft_host_t *host, int watch);
/* What: adds a listening socket, GATE_DOORS at most; the gate owns it from now on. */
void gate_add(gate_t *gate, int fd);
void gate_fini(gate_t *gate);

/* What: gives out one peer that passed. Returns: OK (the socket is the caller's, no longer watched),
 * AGAIN (nobody), or a failure of the listening socket. */
weft_status_t gate_poll(gate_t *gate, int *fd_p, uint8_t label[WEFT_AUTH_LABEL]);

#endif
