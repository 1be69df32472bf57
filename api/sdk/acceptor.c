/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The acceptor: listening sockets, the table of pending peers and who leaves it. */
#include <weft/sdk/acceptor.h>

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* Connections accepted per socket and poll: fewer than the table has slots, so that a burst cannot
 * push out a peer before its first bytes were looked at. */
#define ACCEPTOR_BURST 16u

void weft_acceptor_init(weft_acceptor_t *acceptor, const weft_host_t *host, int watch)
{
    memset(acceptor, 0, sizeof *acceptor);
    acceptor->host = host;
    acceptor->log_level = WEFT_LOG_INFO;
    acceptor->watch = watch;
    for (uint32_t i = 0; i < WEFT_ACCEPTOR_PENDING; i++) {
        acceptor->peers[i].fd = -1;
    }
}

static void acceptor_watch(weft_acceptor_t *acceptor, int fd)
{
    if (acceptor->watch >= 0) {
        struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = NULL}};
        epoll_ctl(acceptor->watch, EPOLL_CTL_ADD, fd, &event);
    }
}

/* Explicitly: a copy of the descriptor in a forked child would keep it in the watch after
 * close(). */
static void acceptor_unwatch(weft_acceptor_t *acceptor, int fd)
{
    if (acceptor->watch >= 0) {
        epoll_ctl(acceptor->watch, EPOLL_CTL_DEL, fd, NULL);
    }
}

void weft_acceptor_add(weft_acceptor_t *acceptor, int fd)
{
    acceptor->listening[acceptor->sockets++] = fd;
    acceptor_watch(acceptor, fd);
}

/* Frees the slot. The socket stays open. */
static void acceptor_release(weft_acceptor_t *acceptor, weft_pending_peer_t *peer)
{
    acceptor_unwatch(acceptor, peer->fd);
    explicit_bzero(&peer->handshake, sizeof peer->handshake);
    peer->fd = -1;
    acceptor->pending--;
}

static void acceptor_close(weft_acceptor_t *acceptor, weft_pending_peer_t *peer)
{
    int fd = peer->fd;
    acceptor_release(acceptor, peer);
    close(fd);
}

static void acceptor_drop(weft_acceptor_t *acceptor, weft_pending_peer_t *peer)
{
    acceptor_close(acceptor, peer);
    acceptor->dropped++;
}

/* However many connect, the log gets one line per interval. */
static void acceptor_report(weft_acceptor_t *acceptor, uint64_t now)
{
    const weft_host_t *host = acceptor->host;
    if (acceptor->dropped == 0 ||
        (acceptor->logged_ns != 0 && now - acceptor->logged_ns < WEFT_ACCEPTOR_LOG_INTERVAL_NS)) {
        return;
    }
    host->log(host, acceptor->log_level, "closed %llu connection%s that did not authenticate",
              (unsigned long long)acceptor->dropped, acceptor->dropped == 1 ? "" : "s");
    acceptor->dropped = 0;
    acceptor->logged_ns = now;
}

/* Advances one pending peer. True: it has passed. */
static bool acceptor_advance(weft_acceptor_t *acceptor, weft_pending_peer_t *peer, uint64_t now,
                             uint8_t label[WEFT_AUTH_LABEL])
{
    weft_status_t status = weft_handshake_accept(acceptor->host, &peer->handshake, peer->fd, label);
    if (status == WEFT_ERR_LINK && weft_handshake_was_greeted(&peer->handshake)) {
        /* A rank that failed or left meanwhile, not worth a line. */
        acceptor_close(acceptor, peer);
    } else if (status != WEFT_OK && (status != WEFT_IN_PROGRESS || now >= peer->deadline_ns)) {
        acceptor_drop(acceptor, peer);
    }
    return status == WEFT_OK;
}

/* Advances all pending peers until one has passed, which is returned. */
static weft_pending_peer_t *acceptor_sweep(weft_acceptor_t *acceptor, uint64_t now,
                                           uint8_t label[WEFT_AUTH_LABEL])
{
    for (uint32_t i = 0; i < WEFT_ACCEPTOR_PENDING && acceptor->pending > 0; i++) {
        weft_pending_peer_t *peer = &acceptor->peers[i];
        if (peer->fd >= 0 && acceptor_advance(acceptor, peer, now, label)) {
            return peer;
        }
    }
    return NULL;
}

/* The policy of a full table: who makes room for a new peer. All peers were swept a moment ago, so
 * a peer whose bytes have arrived is no candidate any more. */
static weft_pending_peer_t *acceptor_choose_victim(weft_acceptor_t *acceptor)
{
    weft_pending_peer_t *oldest = &acceptor->peers[0];
    for (uint32_t i = 1; i < WEFT_ACCEPTOR_PENDING; i++) {
        if (acceptor->peers[i].deadline_ns < oldest->deadline_ns) {
            oldest = &acceptor->peers[i];
        }
    }
    return oldest;
}

static weft_pending_peer_t *acceptor_slot(weft_acceptor_t *acceptor)
{
    for (uint32_t i = 0; i < WEFT_ACCEPTOR_PENDING; i++) {
        if (acceptor->peers[i].fd < 0) {
            return &acceptor->peers[i];
        }
    }
    weft_pending_peer_t *victim = acceptor_choose_victim(acceptor);
    acceptor_drop(acceptor, victim);
    return victim;
}

static void acceptor_admit(weft_acceptor_t *acceptor, int fd, uint64_t now)
{
    weft_pending_peer_t *peer = acceptor_slot(acceptor);
    memset(peer, 0, sizeof *peer);
    peer->fd = fd;
    peer->deadline_ns = now + WEFT_ACCEPTOR_PATIENCE_NS;
    acceptor->pending++;
    acceptor_watch(acceptor, fd);
}

/* Returns OK (look for the next one), AGAIN (nobody is left), or a failure of the listening
 * socket. */
static weft_status_t acceptor_accept(weft_acceptor_t *acceptor, int listening, uint64_t now)
{
    const weft_host_t *host = acceptor->host;
    int fd = accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
        acceptor_admit(acceptor, fd, now);
        return WEFT_OK;
    }
    switch (errno) {
    case EAGAIN:
        return WEFT_AGAIN;
    case EMFILE:
    case ENFILE:
        return host->set_error(host, WEFT_ERR_RESOURCE, errno,
                               "cannot accept a connection; raise the limit of open files "
                               "(ulimit -n)");
    case ENOMEM:
    case ENOBUFS:
        return host->set_error(host, WEFT_ERR_RESOURCE, errno, "cannot accept a connection");
    case EBADF:
    case EINVAL:
    case ENOTSOCK:
        return host->set_error(host, WEFT_ERR_SYSTEM, errno, "cannot accept a connection");
    default:
        /* EINTR, or a network error of the new connection. */
        return WEFT_OK;
    }
}

/* Serves one listening socket. A full table is swept before each further connection, so a flood
 * cannot push out a peer whose bytes have arrived. */
static weft_status_t acceptor_serve(weft_acceptor_t *acceptor, int listening, uint64_t now,
                                    weft_pending_peer_t **peer_p, uint8_t label[WEFT_AUTH_LABEL])
{
    weft_status_t status = WEFT_OK;
    for (uint32_t i = 0; i < ACCEPTOR_BURST && status == WEFT_OK && *peer_p == NULL; i++) {
        status = acceptor_accept(acceptor, listening, now);
        if (acceptor->pending == WEFT_ACCEPTOR_PENDING) {
            *peer_p = acceptor_sweep(acceptor, now, label);
        }
    }
    return status == WEFT_AGAIN ? WEFT_OK : status;
}

weft_status_t weft_acceptor_poll(weft_acceptor_t *acceptor, int *fd_p,
                                 uint8_t label[WEFT_AUTH_LABEL])
{
    uint64_t now = acceptor->host->clock_ns(acceptor->host);
    weft_status_t status = WEFT_OK;
    weft_pending_peer_t *peer = NULL;
    for (uint32_t i = 0; i < acceptor->sockets && status == WEFT_OK && peer == NULL; i++) {
        status = acceptor_serve(acceptor, acceptor->listening[i], now, &peer, label);
    }
    if (peer == NULL) {
        peer = acceptor_sweep(acceptor, now, label);
    }
    acceptor_report(acceptor, now);
    if (peer != NULL) {
        *fd_p = peer->fd;
        acceptor_release(acceptor, peer);
        return WEFT_OK;
    }
    return status == WEFT_OK ? WEFT_AGAIN : status;
}

uint64_t weft_acceptor_deadline_ns(const weft_acceptor_t *acceptor)
{
    uint64_t next = UINT64_MAX;
    for (uint32_t i = 0; i < WEFT_ACCEPTOR_PENDING && acceptor->pending > 0; i++) {
        const weft_pending_peer_t *peer = &acceptor->peers[i];
        next = peer->fd >= 0 && peer->deadline_ns < next ? peer->deadline_ns : next;
    }
    return next;
}

weft_status_t weft_acceptor_wait_fd(weft_acceptor_t *acceptor, int *fd_p)
{
    if (acceptor->watch < 0) {
        acceptor->watch = epoll_create1(EPOLL_CLOEXEC);
        if (acceptor->watch < 0) {
            return acceptor->host->set_error(acceptor->host, WEFT_ERR_RESOURCE, errno,
                                             "cannot watch the listening sockets");
        }
        acceptor->owns_watch = true;
        for (uint32_t i = 0; i < acceptor->sockets; i++) {
            acceptor_watch(acceptor, acceptor->listening[i]);
        }
        for (uint32_t i = 0; i < WEFT_ACCEPTOR_PENDING; i++) {
            if (acceptor->peers[i].fd >= 0) {
                acceptor_watch(acceptor, acceptor->peers[i].fd);
            }
        }
    }
    *fd_p = acceptor->watch;
    return WEFT_OK;
}

void weft_acceptor_fini(weft_acceptor_t *acceptor)
{
    for (uint32_t i = 0; i < WEFT_ACCEPTOR_PENDING; i++) {
        if (acceptor->peers[i].fd >= 0) {
            acceptor_close(acceptor, &acceptor->peers[i]);
        }
    }
    while (acceptor->sockets > 0) {
        int fd = acceptor->listening[--acceptor->sockets];
        acceptor_unwatch(acceptor, fd);
        close(fd);
    }
    if (acceptor->owns_watch) {
        close(acceptor->watch);
        acceptor->owns_watch = false;
    }
    acceptor->watch = -1;
}
