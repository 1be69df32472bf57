/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What descriptors stand for: streams of TCP and UNIX sockets, listeners, epoll, events, processes
 * and files in memory. */
#ifndef WEFT_SIMULATION_DESCRIPTOR_H
#define WEFT_SIMULATION_DESCRIPTOR_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "machine.h"

typedef struct framer framer_t; /* changes.c */

typedef enum {
    OBJECT_SOCKET, /* not connected, not listening */
    OBJECT_STREAM,
    OBJECT_LISTENER,
    OBJECT_EPOLL,
    OBJECT_EVENT,
    OBJECT_PIDFD,
    OBJECT_FILE, /* in memory */
} object_kind_t;

typedef struct message {
    struct message *next;
    uint64_t arrives;
    object_t *passed; /* a descriptor on its way */
    size_t bytes, taken;
    uint8_t data[];
} message_t;

typedef struct watched {
    struct watched *next;
    object_t *object;
    int fd;
    struct epoll_event event;
} watched_t;

struct object {
    object_t *next; /* of all */
    object_kind_t kind;
    uint32_t holders, number;
    process_t *owner;
    bool local; /* a UNIX socket */
    /* sockets */
    char name[128]; /* abstract name of a UNIX socket */
    uint32_t name_bytes;
    uint16_t port, peer_port;
    uint32_t host, peer_host;
    int error;                      /* once for SO_ERROR */
    bool connecting, broken;        /* broken: reset, or timed out */
    bool sent_end, has_ended, gone; /* our FIN; the peer's has arrived; nobody holds the peer */
    bool keepalive;
    uint64_t patience; /* TCP_USER_TIMEOUT; 0: not set */
    bool unanswered;   /* behind a cut nobody holds the peer any more, and what was sent waits */
    object_t *peer;    /* NULL: none, or it was closed */
    process_t *peer_process;
    message_t *first, *last; /* to this end, in order */
    size_t unread, room;     /* bytes in them; and how many there may be */
    uint64_t last_arrival;   /* of what was sent to this end: it stays in order */
    uint32_t attempts;
    framer_t *framer; /* of what this end sends; NULL: none yet */
    /* listeners */
    object_t *pending[128];
    uint32_t npending, backlog;
    /* the others */
    watched_t *watched;
    uint64_t count;
    process_t *process;
    int real; /* the file behind a file in memory */
    int seals;
    char label[64];
    uint64_t bytes;
};

object_t *object_make(object_kind_t kind);
void object_hold(object_t *object);
/* The last one who holds it closes it. */
void object_drop(object_t *object);
/* Something about it has changed: who waits for it looks again. */
void object_changed(object_t *object);
short object_ready(const object_t *object);

/* Descriptors of the running process. −1 with errno. */
int descriptor_open(object_t *object);
object_t *descriptor_of(int fd);
object_t *descriptor_of_process(const process_t *process, int fd);
int descriptor_close(int fd);
/* As at the end of a process; `silent`: nobody hears of it. */
void descriptor_close_all(process_t *process, bool silent);
/* Forgets all objects. */
void descriptor_fini(void);
object_t *descriptor_first(void);

int descriptor_poll(struct pollfd *entries, nfds_t count, uint64_t wait_ns);
int descriptor_epoll_ctl(int epoll, int op, int fd, struct epoll_event *event);
int descriptor_epoll_wait(int epoll, struct epoll_event *events, int room, uint64_t wait_ns);

#endif
