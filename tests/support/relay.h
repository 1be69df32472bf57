/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A TCP relay between the two ends of a connection, in a thread of its own, which changes one thing
 * of what passes: what a faulty peer, or one of another version, would have sent. */
#ifndef WEFT_TESTS_SUPPORT_RELAY_H
#define WEFT_TESTS_SUPPORT_RELAY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define RELAY_LINKS 16u

typedef enum relay_act {
    RELAY_PASS,
    RELAY_FLIP,   /* bits of `mask` in `bytes` bytes from `at` on */
    RELAY_CUT,    /* both ends see the end of the connection in front of byte `at` */
    RELAY_HOLD,   /* nothing passes in that direction from byte `at` on */
    RELAY_SKIP,   /* `bytes` bytes from `at` on are left out */
    RELAY_REPEAT, /* `bytes` bytes from `at` on come twice */
} relay_act_t;

/* What is changed, on one link: they are counted as they are accepted, from 0. */
typedef struct relay_change {
    relay_act_t act;
    uint32_t link;
    int from; /* 0: bytes of the connector; 1: of the acceptor */
    uint64_t at, bytes;
    uint8_t mask;
} relay_change_t;

typedef struct relay_link {
    int fds[2];
    bool ended[2];
    uint64_t passed[2]; /* bytes from each end */
} relay_link_t;

typedef struct relay {
    int listener;
    uint16_t port, to; /* of the relay, and of the acceptor, both of 127.0.0.1 */
    relay_change_t change;
    uint32_t nlinks;
    relay_link_t links[RELAY_LINKS];
    _Atomic bool done; /* the change was made */
    _Atomic bool stop;
    pthread_t thread;
} relay_t;

/* Begins to listen and to pass on to `port`. */
void relay_open(relay_t *relay, uint16_t port, const relay_change_t *change);
/* Ends the thread and all links. The counters stay. */
void relay_close(relay_t *relay);

#endif
