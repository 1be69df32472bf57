/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SDK: an acceptor for stream sockets that anybody may connect to. A new connection is a pending
 * peer until it has proved by the handshake that it holds the secret. A pending peer has a slot of
 * a fixed table and two seconds; nothing is allocated for it, nothing it sends is parsed before the
 * proof, and every failure closes its connection without a word. When the table is full the oldest
 * pending peer makes room. What is dropped is counted in one log line per interval.
 *
 * Thread: one call at a time per acceptor. Nothing here blocks. */
#ifndef WEFT_SDK_ACCEPTOR_H
#define WEFT_SDK_ACCEPTOR_H

#include <weft/sdk/handshake.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_ACCEPTOR_SOCKETS 8u                            /* listening sockets of one acceptor */
#define WEFT_ACCEPTOR_PENDING 64u                           /* pending peers of one acceptor */
#define WEFT_ACCEPTOR_PATIENCE_NS UINT64_C(2000000000)      /* for one pending peer */
#define WEFT_ACCEPTOR_LOG_INTERVAL_NS UINT64_C(10000000000) /* between two log lines */

typedef struct weft_pending_peer {
    int fd; /* −1: the slot is free */
    uint64_t deadline_ns;
    weft_handshake_t handshake;
} weft_pending_peer_t;

/* In the caller's memory, about 30 KiB. Fields are private except log_level. */
typedef struct weft_acceptor {
    const weft_host_t *host;
    weft_log_level_t log_level; /* of the line about dropped peers; INFO, the owner may change it */
    int watch;                  /* epoll descriptor that watches all sockets, or −1 */
    bool owns_watch;
    uint32_t sockets;
    int listening[WEFT_ACCEPTOR_SOCKETS];
    uint32_t pending; /* slots in use */
    weft_pending_peer_t peers[WEFT_ACCEPTOR_PENDING];
    uint64_t dropped; /* peers since the last log line */
    uint64_t logged_ns;
} weft_acceptor_t;

/* Sets up an acceptor without sockets. `watch` is an epoll descriptor of the caller's that shall
 * watch the sockets of the acceptor for input (the event's data is NULL), or −1. `host` must
 * outlive the acceptor. */
void weft_acceptor_init(weft_acceptor_t *acceptor, const weft_host_t *host, int watch);

/* Adds a listening, non-blocking socket, WEFT_ACCEPTOR_SOCKETS at most. The acceptor owns it. */
void weft_acceptor_add(weft_acceptor_t *acceptor, int fd);

/* Closes all sockets of the acceptor and forgets all pending peers. */
void weft_acceptor_fini(weft_acceptor_t *acceptor);

/* Gives out a descriptor that is readable while weft_acceptor_poll() has something to do, deadlines
 * apart. It belongs to the acceptor, or is the caller's `watch`. ERR_RESOURCE: no descriptor is
 * left. */
weft_status_t weft_acceptor_wait_fd(weft_acceptor_t *acceptor, int *fd_p);

/* The time of the host's clock at which weft_acceptor_poll() has a peer to drop; UINT64_MAX:
 * none. */
uint64_t weft_acceptor_deadline_ns(const weft_acceptor_t *acceptor);

/* Accepts new connections, advances the handshakes, drops who is late, and gives out one peer that
 * has passed. Returns OK (the socket is the caller's and no longer watched; call again for the next
 * one), AGAIN (nobody), ERR_RESOURCE (out of descriptors or memory: the listening socket stays
 * readable, so a caller that waits for it should pause) or ERR_SYSTEM. */
weft_status_t weft_acceptor_poll(weft_acceptor_t *acceptor, int *fd_p,
                                 uint8_t label[WEFT_AUTH_LABEL]);

#ifdef __cplusplus
}
#endif

#endif
