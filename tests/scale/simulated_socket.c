/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sockets, poll and epoll of simulated processes. */
#include "tests/scale/simulated_socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/os/os.h"
#include "tests/scale/simulated_process.h"

#define FIRST_FD (1 << 24) /* lower descriptors are the system's */
#define PORTS 65536u
#define FIRST_PORT 1024u
#define SHARED_MOST 8

typedef struct end end_t;

typedef struct message {
    struct message *next;
    uint64_t arrives;
    const uint8_t *data; /* what is left of it */
    size_t bytes;
    uint8_t copy[];
} message_t;

/* Ends of connections that have a number in the table of ends: a descriptor. */
typedef enum { END_CLOSED, END_STREAM, END_LISTENER, END_EPOLL } end_kind_t;

struct end {
    end_kind_t kind;
    int error;         /* of connect */
    uint64_t answered; /* when connect ends; 0: not known yet */
    bool queued;       /* in the list of what is ready of `watch` */
    uint16_t port;
    uint32_t limit, waiting;         /* listener: its backlog */
    process_t *owner, *sleeper;      /* sleeper: waits in poll for this end, among others */
    end_t *peer;                     /* stream; NULL: none yet, or it was closed */
    message_t *first, *last;         /* stream: sent to this end */
    uint64_t peer_ended;             /* stream: when the end of the other side arrives; 0: not */
    end_t *watch, *next;             /* epoll that watches this end; next in a list of ends */
    uint64_t tag;                    /* for epoll_wait */
    end_t *first_ready, *last_ready; /* epoll: may be ready; listener: connections, by `next` */
    uint32_t tries;                  /* connect */
    uint64_t began;
};

static struct {
    end_t **ends;
    size_t nends, ends_room;
    end_t *ports[PORTS];
    uint32_t port;
    const uint8_t *shared[SHARED_MOST], *shared_end[SHARED_MOST];
    uint32_t nshared;
} network;

void kernel_share(const void *memory, size_t bytes)
{
    network.shared[network.nshared] = memory;
    network.shared_end[network.nshared++] = (const uint8_t *)memory + bytes;
}

/* Ends ----------------------------------------------------------------------------------------- */

static end_t *end_make(end_kind_t kind, process_t *owner, int *fd_p)
{
    end_t *end = kernel_must(calloc(1, sizeof *end));
    if (network.nends == network.ends_room) {
        network.ends_room = network.ends_room > 0 ? 2 * network.ends_room : 1024;
        network.ends = kernel_must(realloc(network.ends, network.ends_room * sizeof *network.ends));
    }
    end->kind = kind;
    end->owner = owner;
    end->tag = network.nends; /* until it is watched: its number, for accept */
    *fd_p = FIRST_FD + (int)network.nends;
    network.ends[network.nends++] = end;
    return end;
}

/* Counts the descriptor among those of its process. */
static void end_count(const end_t *end)
{
    kernel_load_t *load = end->owner->load;
    if (load != NULL && ++load->descriptors > load->descriptors_most) {
        load->descriptors_most = load->descriptors;
    }
}

static end_t *end_of(int fd)
{
    return fd >= FIRST_FD && (size_t)(fd - FIRST_FD) < network.nends ? network.ends[fd - FIRST_FD]
                                                                     : NULL;
}

static bool end_has_ended(const end_t *end)
{
    return end->peer_ended != 0 && end->peer_ended <= kernel_state.now;
}

static bool end_is_answered(const end_t *end)
{
    return end->answered != 0 && end->answered <= kernel_state.now;
}

static bool end_is_readable(const end_t *end);

/* Drops what is ready no more from the front. */
static end_t *epoll_first(end_t *epoll)
{
    while (epoll->first_ready != NULL && !end_is_readable(epoll->first_ready)) {
        end_t *gone = epoll->first_ready;
        epoll->first_ready = gone->next;
        gone->queued = false;
    }
    return epoll->first_ready;
}

static bool end_is_readable(const end_t *end)
{
    switch (end->kind) {
    case END_STREAM:
        return (end->error != 0 && end_is_answered(end)) ||
               (end->first != NULL && end->first->arrives <= kernel_state.now) ||
               (end->first == NULL && end_has_ended(end));
    case END_LISTENER:
        return end->waiting > 0;
    case END_EPOLL:
        return epoll_first((end_t *)(uintptr_t)end) != NULL;
    default:
        return false;
    }
}

static void epoll_queue(end_t *epoll, end_t *end)
{
    end->next = NULL;
    end->queued = true;
    *(epoll_first(epoll) != NULL ? &epoll->last_ready->next : &epoll->first_ready) = end;
    epoll->last_ready = end;
}

/* Something about the end has changed: who waits for it is woken. */
static void end_signal(void *of)
{
    for (end_t *end = of; end != NULL; end = end->watch) {
        if (end->sleeper != NULL && end->sleeper->asleep) {
            process_turn_at(end->sleeper, kernel_state.now);
        }
        if (end->watch != NULL && !end->queued && end_is_readable(end)) {
            epoll_queue(end->watch, end);
        }
    }
}

static void epoll_forget(end_t *end)
{
    end_t **at = end->watch != NULL ? &end->watch->first_ready : NULL, *last = NULL;
    if (end->queued) {
        for (; *at != end; at = &(*at)->next) {
            last = *at;
        }
        *at = end->next;
        if (end->watch->last_ready == end) {
            end->watch->last_ready = last;
        }
    }
    end->queued = false;
    end->watch = NULL;
}

/* Connections ---------------------------------------------------------------------------------- */

static void connect_answer(end_t *client, int error)
{
    client->error = error;
    client->answered = kernel_state.now + kernel_ns(kernel_state.model.latency);
    kernel_at(client->answered, end_signal, client);
}

/* The client's SYN has arrived. */
static void connect_ask(void *asks)
{
    end_t *client = asks;
    end_t *listener = network.ports[client->port];
    int fd;
    if (client->kind == END_CLOSED) {
        return;
    }
    if (listener == NULL) {
        connect_answer(client, ECONNREFUSED);
        return;
    }
    if (listener->waiting > listener->limit) {
        /* 1, 3, 7 … seconds after the first time. */
        uint64_t after = ((UINT64_C(2) << client->tries++) - 1) * WEFT_NS_PER_S;
        client->owner->load->asked_again++;
        kernel_at(client->began + after + kernel_ns(kernel_state.model.latency), connect_ask,
                  client);
        return;
    }
    end_t *server = end_make(END_STREAM, listener->owner, &fd);
    server->answered = kernel_state.now;
    server->peer = client;
    client->peer = server;
    *(listener->first_ready != NULL ? &listener->last_ready->next : &listener->first_ready) =
        server;
    listener->last_ready = server;
    listener->waiting++;
    connect_answer(client, 0);
    end_signal(listener);
}

int kernel_connect(int fd, const struct sockaddr *to, socklen_t bytes)
{
    end_t *end = end_of(fd);
    const struct sockaddr_in *in = (const struct sockaddr_in *)to;
    (void)bytes; /* the port of an IPv6 address lies at the same place */
    process_call();
    end->port = ntohs(in->sin_port);
    end->began = kernel_state.now;
    kernel_at(kernel_state.now + kernel_ns(kernel_state.model.latency), connect_ask, end);
    errno = EINPROGRESS;
    return -1;
}

int kernel_accept4(int fd, struct sockaddr *from, socklen_t *bytes, int flags)
{
    end_t *listener = end_of(fd);
    (void)from;
    (void)bytes;
    (void)flags;
    process_call();
    end_t *end = listener->first_ready;
    if (end == NULL) {
        errno = EAGAIN;
        return -1;
    }
    listener->first_ready = end->next;
    listener->waiting--;
    end->next = NULL;
    end_count(end);
    return FIRST_FD + (int)end->tag;
}

int kernel_socket(int family, int type, int protocol)
{
    int fd;
    (void)family;
    (void)type;
    (void)protocol;
    process_call();
    end_count(end_make(END_STREAM, kernel_state.self, &fd));
    return fd;
}

int kernel_bind(int fd, const struct sockaddr *at, socklen_t bytes)
{
    (void)bytes;
    process_call();
    end_of(fd)->port = ntohs(((const struct sockaddr_in *)at)->sin_port);
    return 0;
}

int kernel_listen(int fd, int backlog)
{
    end_t *end = end_of(fd);
    process_call();
    while (end->port == 0) {
        network.port = network.port < FIRST_PORT ? FIRST_PORT : network.port;
        end->port = network.ports[network.port] == NULL ? (uint16_t)network.port : 0;
        network.port = (network.port + 1) % PORTS;
    }
    end->kind = END_LISTENER;
    end->limit = (uint32_t)backlog < kernel_state.model.backlog ? (uint32_t)backlog
                                                                : kernel_state.model.backlog;
    network.ports[end->port] = end;
    return 0;
}

int kernel_getsockname(int fd, struct sockaddr *at, socklen_t *bytes)
{
    (void)bytes;
    process_call();
    *(struct sockaddr_in *)at =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(end_of(fd)->port)};
    return 0;
}

int kernel_setsockopt(int fd, int level, int name, const void *value, socklen_t bytes)
{
    (void)fd;
    (void)level;
    (void)name;
    (void)value;
    (void)bytes;
    process_call();
    return 0;
}

int kernel_getsockopt(int fd, int level, int name, void *value, socklen_t *bytes)
{
    (void)level;
    (void)name;
    (void)bytes;
    process_call();
    memcpy(value, &end_of(fd)->error, sizeof(int));
    return 0;
}

/* Data ----------------------------------------------------------------------------------------- */

static bool kernel_is_shared(const uint8_t *data)
{
    for (uint32_t i = 0; i < network.nshared; i++) {
        if (data >= network.shared[i] && data < network.shared_end[i]) {
            return true;
        }
    }
    return false;
}

/* Returns when the last of `bytes` that leave now arrives. */
static uint64_t line_send(process_t *from, size_t bytes)
{
    uint64_t begins = from->line_free > kernel_state.now ? from->line_free : kernel_state.now;
    from->line_free = begins + kernel_ns((double)bytes * kernel_state.model.per_byte);
    return from->line_free + kernel_ns(kernel_state.model.latency);
}

ssize_t kernel_send(int fd, const void *data, size_t bytes, int flags)
{
    end_t *end = end_of(fd);
    (void)flags;
    process_call();
    if (end == NULL || end->peer == NULL || end_has_ended(end)) {
        errno = end == NULL ? EBADF : EPIPE;
        return -1;
    }
    bool copies = !kernel_is_shared(data);
    message_t *message = kernel_must(malloc(sizeof *message + (copies ? bytes : 0)));
    *message =
        (message_t){.arrives = line_send(kernel_state.self, bytes), .data = data, .bytes = bytes};
    if (copies) {
        message->data = memcpy(message->copy, data, bytes);
    }
    end_t *to = end->peer;
    *(to->first != NULL ? &to->last->next : &to->first) = message;
    to->last = message;
    kernel_at(message->arrives, end_signal, to);
    if (kernel_state.self->load != NULL) {
        kernel_state.self->load->messages++;
        kernel_state.self->load->bytes += bytes;
    }
    return (ssize_t)bytes;
}

/* Moves what has arrived, or a copy of it. */
static size_t end_take(end_t *end, uint8_t *to, size_t bytes, bool peek)
{
    size_t taken = 0;
    message_t *message = end->first;
    while (message != NULL && message->arrives <= kernel_state.now && taken < bytes) {
        size_t now = message->bytes < bytes - taken ? message->bytes : bytes - taken;
        if (to + taken != message->data) {
            memmove(to + taken, message->data, now);
        }
        taken += now;
        if (peek) {
            message = message->next;
            continue;
        }
        message->data += now;
        message->bytes -= now;
        if (message->bytes == 0) {
            end->first = message->next;
            free(message);
            message = end->first;
        }
    }
    return taken;
}

ssize_t kernel_recv(int fd, void *data, size_t bytes, int flags)
{
    end_t *end = end_of(fd);
    process_call();
    size_t taken = end_take(end, data, bytes, (flags & MSG_PEEK) != 0);
    if (taken > 0 || (end->first == NULL && end_has_ended(end))) {
        return (ssize_t)taken;
    }
    errno = EAGAIN;
    return -1;
}

int kernel_close(int fd)
{
    end_t *end = end_of(fd);
    if (end == NULL) {
        return kernel_real_close(fd);
    }
    process_call();
    epoll_forget(end);
    if (end->kind == END_LISTENER) {
        network.ports[end->port] = NULL;
    }
    if (end->kind == END_STREAM && end->peer != NULL) {
        end->peer->peer_ended = line_send(kernel_state.self, 0);
        kernel_at(end->peer->peer_ended, end_signal, end->peer);
        end->peer->peer = NULL;
    }
    end->kind = END_CLOSED;
    end->owner->load->descriptors--;
    return 0;
}

/* Waiting -------------------------------------------------------------------------------------- */

static short poll_ready(const end_t *end, short events)
{
    bool writable = end->kind == END_STREAM && end_is_answered(end);
    return (short)((end_is_readable(end) ? events & POLLIN : 0) |
                   (writable ? events & POLLOUT : 0));
}

static int poll_look(struct pollfd *entries, nfds_t count)
{
    int ready = 0;
    for (nfds_t i = 0; i < count; i++) {
        const end_t *end = end_of(entries[i].fd);
        entries[i].revents = end != NULL ? poll_ready(end, entries[i].events) : 0;
        ready += entries[i].revents != 0;
    }
    return ready;
}

static void poll_mark(const struct pollfd *entries, nfds_t count, process_t *sleeper)
{
    for (nfds_t i = 0; i < count; i++) {
        end_t *end = end_of(entries[i].fd);
        if (end != NULL) {
            end->sleeper = sleeper;
        }
    }
}

static int poll_wait(struct pollfd *entries, nfds_t count, uint64_t wait)
{
    process_call();
    uint64_t until = wait < WEFT_NEVER - kernel_state.now ? kernel_state.now + wait : WEFT_NEVER;
    int ready;
    while ((ready = poll_look(entries, count)) == 0 && kernel_state.now < until) {
        poll_mark(entries, count, kernel_state.self);
        process_sleep(until);
        poll_mark(entries, count, NULL);
    }
    return ready;
}

int kernel_poll(struct pollfd *entries, nfds_t count, int timeout)
{
    return poll_wait(entries, count, timeout < 0 ? WEFT_NEVER : (uint64_t)timeout * WEFT_NS_PER_MS);
}

int kernel_ppoll(struct pollfd *entries, nfds_t count, const struct timespec *t,
                 const sigset_t *signals)
{
    (void)signals;
    return poll_wait(entries, count, (uint64_t)t->tv_sec * WEFT_NS_PER_S + (uint64_t)t->tv_nsec);
}

int kernel_epoll_create1(int flags)
{
    int fd;
    (void)flags;
    process_call();
    end_count(end_make(END_EPOLL, kernel_state.self, &fd));
    return fd;
}

int kernel_epoll_ctl(int epoll, int op, int fd, struct epoll_event *event)
{
    end_t *end = end_of(fd);
    process_call();
    if (op == EPOLL_CTL_DEL) {
        epoll_forget(end);
        return 0;
    }
    end->watch = end_of(epoll);
    end->tag = event->data.u64;
    end_signal(end);
    return 0;
}

/* Those that are given out go to the end of the list, as in Linux. */
int kernel_epoll_wait(int fd, struct epoll_event *events, int room, int timeout)
{
    struct pollfd entry = {.fd = fd, .events = POLLIN};
    int count = 0;
    end_t *epoll = end_of(fd), *end, *first = NULL;
    (void)poll_wait(&entry, 1, timeout < 0 ? WEFT_NEVER : (uint64_t)timeout * WEFT_NS_PER_MS);
    while (count < room && (end = epoll_first(epoll)) != NULL && end != first) {
        first = first == NULL ? end : first;
        epoll->first_ready = end->next;
        epoll_queue(epoll, end);
        events[count++] = (struct epoll_event){.events = EPOLLIN, .data = {.u64 = end->tag}};
    }
    return count;
}
