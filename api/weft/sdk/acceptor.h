/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SDK: an acceptor for stream sockets that anybody may connect to. A new connection is a pending
 * peer until it has proved by the handshake that it holds the secret. A pending peer has a place in
 * a fixed table and two seconds; nothing is allocated for it, nothing it sends is parsed before the
 * proof, and every failure closes its connection without a word. Strangers are counted in one log
 * line per interval: peers that sent something wrong, or nothing in their two seconds. Those that
 * made room have a line of their own. Peers that ended before they had sent a byte, or that were
 * late after a good hello, are counted in lines for debug.
 *
 * Who gets a place. A peer that has sent a good hello keeps its place for its two seconds: its
 * proof is on the way. Any other peer may have to make room for a newer one, chosen by lot, so that
 * no rhythm of connections keeps a distant peer out. When all places belong to peers that have sent
 * good hellos, nobody is accepted: the rest waits in the backlog of the socket, which should be
 * deep. A hello counts once per acceptor, so a recorded one takes no place. The connector tries
 * again when it was dropped, and knows from the acknowledgement that it was not.
 *
 * Thread: one call at a time per acceptor. Nothing here blocks. */
#ifndef WEFT_SDK_ACCEPTOR_H
#define WEFT_SDK_ACCEPTOR_H

#include <weft/sdk/handshake.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_ACCEPTOR_SOCKETS 16u                           /* listening sockets of one acceptor */
#define WEFT_ACCEPTOR_PENDING 64u                           /* pending peers of one acceptor */
#define WEFT_ACCEPTOR_PATIENCE_NS UINT64_C(2000000000)      /* for one pending peer */
#define WEFT_ACCEPTOR_LOG_INTERVAL_NS UINT64_C(10000000000) /* between two log lines */

#define WEFT_ACCEPTOR_SEEN_BITS 32768u /* of one generation of hellos that were seen */
#define WEFT_ACCEPTOR_SEEN_MOST 1024u  /* hellos of one generation */

typedef struct weft_pending_peer {
    int fd;
    uint64_t deadline_ns;
    weft_handshake_t handshake;
} weft_pending_peer_t;

/* Which hellos were seen: a Bloom filter of two generations. The older one is forgotten when the
 * newer one is full. One new hello in 30,000 at most is taken for an old one; its connector comes
 * again with another. */
typedef struct weft_acceptor_seen {
    uint32_t count; /* hellos in the newer generation */
    uint64_t newer[WEFT_ACCEPTOR_SEEN_BITS / 64];
    uint64_t older[WEFT_ACCEPTOR_SEEN_BITS / 64];
} weft_acceptor_seen_t;

/* Peers since the last log line about them. */
typedef struct weft_acceptor_count {
    uint64_t peers;
    uint64_t logged_ns;
} weft_acceptor_count_t;

/* Called in weft_acceptor_poll() when a peer's stream ended after a good hello and before the
 * first byte of its proof: it died, was cut off, or sends a recorded hello again. errno says how
 * the stream ended; 0: in order. */
typedef void (*weft_acceptor_silent_fn_t)(void *arg, const weft_handshake_t *handshake);

/* Called when the acceptor has got a socket, listening or accepted (`has`), and before it closes
 * one. One that it gives out stays what it was. */
typedef void (*weft_acceptor_has_fn_t)(int fd, bool has);

/* In the caller's memory, about 40 KiB. Private from `watch` on. */
typedef struct weft_acceptor {
    const weft_host_t *host;
    weft_log_level_t log_level; /* of the line about strangers; INFO, the owner may change it */
    weft_acceptor_silent_fn_t silent; /* NULL: the owner does not ask */
    void *silent_arg;
    weft_acceptor_has_fn_t has; /* NULL: the owner does not ask; set before the first socket */
    int watch;                  /* epoll descriptor that watches all sockets, or −1 */
    bool owns_watch;
    bool full;         /* nobody can make room: the listening sockets are not watched */
    bool blind_told;   /* a warning was logged */
    uint64_t blind_ns; /* a socket could not be watched: when to look and try again; 0: all are */
    uint32_t sockets;
    int listening[WEFT_ACCEPTOR_SOCKETS];
    uint32_t places;  /* pending peers at most; the owner may lower it from WEFT_ACCEPTOR_PENDING */
    uint32_t pending; /* peers in the table, which has no gaps */
    weft_pending_peer_t peers[WEFT_ACCEPTOR_PENDING];
    weft_acceptor_seen_t seen;
    uint64_t lot;                    /* state of the lots that are drawn */
    weft_acceptor_count_t dropped;   /* strangers */
    weft_acceptor_count_t displaced; /* without a good hello, for a newer one */
    weft_acceptor_count_t ended;     /* by themselves, before the first byte */
    weft_acceptor_count_t late;      /* after a good hello */
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
 * apart. Where the system gives no more watches, there is a deadline every 10 ms instead. The
 * descriptor belongs to the acceptor, or is the caller's `watch`. ERR_RESOURCE: none is left. */
weft_status_t weft_acceptor_wait_fd(weft_acceptor_t *acceptor, int *fd_p);

/* The time of the host's clock at which weft_acceptor_poll() has a peer to drop, or looks at
 * sockets that cannot be watched; UINT64_MAX: neither. */
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
