/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The acceptor: listening sockets, the table of pending peers and who leaves it. */
#include <weft/sdk/acceptor.h>

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <weft/sdk/endpoint.h>

/* Connections accepted per socket and poll, so that pending peers are served in between. */
#define ACCEPTOR_BURST 16u
#define ACCEPTOR_ENTRIES (WEFT_ACCEPTOR_SOCKETS + WEFT_ACCEPTOR_PENDING)
#define ACCEPTOR_NOBODY UINT32_MAX
/* How often sockets are looked at that the system does not watch. */
#define ACCEPTOR_BLIND_NS UINT64_C(10000000)
/* A transport listens at each of its addresses. */
_Static_assert(WEFT_ACCEPTOR_SOCKETS >= WEFT_ENDPOINTS_MAX, "a socket for each address");
/* Bits of the filter per hello; with 32 bits of room for each hello 0.003 % at most are taken for
 * others. */
#define ACCEPTOR_SEEN_HASHES 8u

void weft_acceptor_init(weft_acceptor_t *acceptor, const weft_host_t *host, int watch)
{
    memset(acceptor, 0, sizeof *acceptor);
    acceptor->host = host;
    acceptor->log_level = WEFT_LOG_INFO;
    acceptor->watch = watch;
    acceptor->places = WEFT_ACCEPTOR_PENDING;
    acceptor->lot = host->clock_ns(host) | 1;
}

/* There may be too many watches of this user (fs.epoll.max_user_watches), or no memory. */
static void acceptor_watch(weft_acceptor_t *acceptor, int fd)
{
    const weft_host_t *host = acceptor->host;
    struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = NULL}};
    if (acceptor->watch < 0 || epoll_ctl(acceptor->watch, EPOLL_CTL_ADD, fd, &event) == 0 ||
        errno == EEXIST) {
        return;
    }
    if (!acceptor->blind_told) {
        host->log(host, WEFT_LOG_WARN,
                  "cannot watch a socket, so it is looked at every 10 ms%s: %s",
                  errno == ENOSPC ? " (see fs.epoll.max_user_watches)" : "", strerror(errno));
    }
    acceptor->blind_told = true;
    acceptor->blind_ns = host->clock_ns(host) + ACCEPTOR_BLIND_NS;
}

static void acceptor_watch_all(weft_acceptor_t *acceptor)
{
    acceptor->blind_ns = 0;
    for (uint32_t i = 0; i < acceptor->sockets && !acceptor->full; i++) {
        acceptor_watch(acceptor, acceptor->listening[i]);
    }
    for (uint32_t i = 0; i < acceptor->pending; i++) {
        acceptor_watch(acceptor, acceptor->peers[i].fd);
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

static void acceptor_tell_has(const weft_acceptor_t *acceptor, int fd, bool has)
{
    if (acceptor->has != NULL) {
        acceptor->has(fd, has);
    }
}

void weft_acceptor_add(weft_acceptor_t *acceptor, int fd)
{
    acceptor_tell_has(acceptor, fd, true);
    acceptor->listening[acceptor->sockets++] = fd;
    if (!acceptor->full) {
        acceptor_watch(acceptor, fd);
    }
}

/* While nobody can make room the connections in the backlog are no reason to wake up. */
static void acceptor_set_full(weft_acceptor_t *acceptor, bool full)
{
    for (uint32_t i = 0; full != acceptor->full && i < acceptor->sockets; i++) {
        if (full) {
            acceptor_unwatch(acceptor, acceptor->listening[i]);
        } else {
            acceptor_watch(acceptor, acceptor->listening[i]);
        }
    }
    acceptor->full = full;
}

/* Takes the peer out of the table; the last one gets its place. The socket stays open. */
static void acceptor_release(weft_acceptor_t *acceptor, uint32_t at)
{
    weft_pending_peer_t *last = &acceptor->peers[--acceptor->pending];
    acceptor_unwatch(acceptor, acceptor->peers[at].fd);
    if (last != &acceptor->peers[at]) {
        acceptor->peers[at] = *last;
    }
    explicit_bzero(last, sizeof *last);
    acceptor_set_full(acceptor, false);
}

static void acceptor_close(weft_acceptor_t *acceptor, uint32_t at)
{
    int fd = acceptor->peers[at].fd;
    acceptor_release(acceptor, at);
    acceptor_tell_has(acceptor, fd, false);
    close(fd);
}

static void acceptor_drop(weft_acceptor_t *acceptor, uint32_t at, weft_acceptor_count_t *count)
{
    acceptor_close(acceptor, at);
    count->peers++;
}

/* However many connect, the log gets one line of each kind per interval. */
static void acceptor_report_count(const weft_acceptor_t *acceptor, weft_log_level_t level,
                                  const char *what, uint64_t now, weft_acceptor_count_t *count)
{
    const weft_host_t *host = acceptor->host;
    if (count->peers == 0 ||
        (count->logged_ns != 0 && now - count->logged_ns < WEFT_ACCEPTOR_LOG_INTERVAL_NS)) {
        return;
    }
    host->log(host, level, "closed %llu connection%s that %s", (unsigned long long)count->peers,
              count->peers == 1 ? "" : "s", what);
    *count = (weft_acceptor_count_t){.logged_ns = now};
}

static void acceptor_report(weft_acceptor_t *acceptor, uint64_t now)
{
    acceptor_report_count(acceptor, acceptor->log_level, "did not authenticate", now,
                          &acceptor->dropped);
    acceptor_report_count(acceptor, acceptor->log_level,
                          "made room for others before they said hello", now, &acceptor->displaced);
    acceptor_report_count(acceptor, WEFT_LOG_DEBUG, "ended before they said a word", now,
                          &acceptor->ended);
    acceptor_report_count(acceptor, WEFT_LOG_DEBUG, "said a good hello and no more", now,
                          &acceptor->late);
}

/* Where a hello has its bit of number i: two halves of the fingerprint stand for any number of hash
 * functions (Kirsch and Mitzenmacher, 2006). */
static uint64_t acceptor_seen_bit(uint64_t fingerprint, uint32_t i)
{
    return ((fingerprint & UINT32_MAX) + i * (fingerprint >> 32 | 1)) % WEFT_ACCEPTOR_SEEN_BITS;
}

static bool acceptor_seen_has(const uint64_t *bits, uint64_t fingerprint)
{
    for (uint32_t i = 0; i < ACCEPTOR_SEEN_HASHES; i++) {
        uint64_t bit = acceptor_seen_bit(fingerprint, i);
        if ((bits[bit / 64] >> (bit % 64) & 1) == 0) {
            return false;
        }
    }
    return true;
}

/* Notes a good hello. Returns false if it was seen before: then it was recorded and sent again. */
static bool acceptor_is_new(weft_acceptor_seen_t *seen, uint64_t fingerprint)
{
    if (acceptor_seen_has(seen->newer, fingerprint) ||
        acceptor_seen_has(seen->older, fingerprint)) {
        return false;
    }
    if (seen->count == WEFT_ACCEPTOR_SEEN_MOST) {
        memcpy(seen->older, seen->newer, sizeof seen->older);
        memset(seen->newer, 0, sizeof seen->newer);
        seen->count = 0;
    }
    for (uint32_t i = 0; i < ACCEPTOR_SEEN_HASHES; i++) {
        uint64_t bit = acceptor_seen_bit(fingerprint, i);
        seen->newer[bit / 64] |= UINT64_C(1) << (bit % 64);
    }
    seen->count++;
    return true;
}

/* Advances one pending peer. Returns true when it has passed. A peer that fails leaves the
 * table. */
static bool acceptor_advance(weft_acceptor_t *acceptor, uint32_t at, uint64_t now,
                             uint8_t label[WEFT_AUTH_LABEL])
{
    weft_pending_peer_t *peer = &acceptor->peers[at];
    bool before = weft_handshake_was_greeted(&peer->handshake);
    weft_status_t status = weft_handshake_accept(acceptor->host, &peer->handshake, peer->fd, label);
    bool greeted = weft_handshake_was_greeted(&peer->handshake);
    /* Who has passed by now was told so, and no recorded hello leads so far: the filter was
     * wrong. */
    if (greeted && !before && !acceptor_is_new(&acceptor->seen, peer->handshake.fingerprint) &&
        status != WEFT_OK) {
        acceptor_drop(acceptor, at, &acceptor->dropped);
        return false;
    }
    if (status == WEFT_ERR_LINK && greeted) {
        /* A rank that failed or left meanwhile, not worth a line. */
        if (acceptor->silent != NULL && weft_handshake_fell_silent(&peer->handshake)) {
            acceptor->silent(acceptor->silent_arg, &peer->handshake);
        }
        acceptor_close(acceptor, at);
    } else if (status == WEFT_ERR_LINK && weft_handshake_said_nothing(&peer->handshake)) {
        /* A rank that ended while it connected, or somebody who looked whether the port is open. */
        acceptor_drop(acceptor, at, &acceptor->ended);
    } else if (status == WEFT_IN_PROGRESS && now >= peer->deadline_ns) {
        /* Who holds the secret is no stranger, but busy, or stopped. */
        acceptor_drop(acceptor, at, greeted ? &acceptor->late : &acceptor->dropped);
    } else if (status != WEFT_OK && status != WEFT_IN_PROGRESS) {
        acceptor_drop(acceptor, at, &acceptor->dropped);
    }
    return status == WEFT_OK;
}

/* Asks the system which sockets have something, in one call. Where it cannot tell, all may. */
static void acceptor_look(const weft_acceptor_t *acceptor, struct pollfd *entries)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < acceptor->sockets; i++) {
        entries[count++] = (struct pollfd){.fd = acceptor->listening[i], .events = POLLIN};
    }
    for (uint32_t i = 0; i < acceptor->pending; i++) {
        entries[count++] = (struct pollfd){.fd = acceptor->peers[i].fd, .events = POLLIN};
    }
    bool known = poll(entries, count, 0) >= 0;
    for (uint32_t i = 0; i < count && !known; i++) {
        entries[i].revents = POLLIN;
    }
}

/* Advances the pending peers that have sent something, or are late, until one has passed.
 * Backwards: the place of one that leaves is taken by one that was looked at. */
static uint32_t acceptor_sweep(weft_acceptor_t *acceptor, const struct pollfd *entries,
                               uint64_t now, uint8_t label[WEFT_AUTH_LABEL])
{
    for (uint32_t i = acceptor->pending; i-- > 0;) {
        if ((entries[i].revents != 0 || now >= acceptor->peers[i].deadline_ns) &&
            acceptor_advance(acceptor, i, now, label)) {
            return i;
        }
    }
    return ACCEPTOR_NOBODY;
}

/* The policy of a full table: who makes room for a new peer. All peers whose bytes have arrived
 * were advanced a moment ago. Those that have sent a good hello are no candidates; among the others
 * the lot decides. */
static uint32_t acceptor_choose_victim(weft_acceptor_t *acceptor)
{
    uint32_t candidates = 0, victim = ACCEPTOR_NOBODY;
    for (uint32_t i = 0; i < acceptor->pending; i++) {
        if (!weft_handshake_was_greeted(&acceptor->peers[i].handshake)) {
            /* xorshift64: no rhythm of connections meets a lot that nobody sees. */
            acceptor->lot ^= acceptor->lot << 13;
            acceptor->lot ^= acceptor->lot >> 7;
            acceptor->lot ^= acceptor->lot << 17;
            victim = acceptor->lot % ++candidates == 0 ? i : victim;
        }
    }
    return victim;
}

/* Puts a new connection into the table and looks at what it has sent: most connectors send their
 * hello at once. Returns its place if it has passed. */
static uint32_t acceptor_admit(weft_acceptor_t *acceptor, int fd, uint64_t now,
                               uint8_t label[WEFT_AUTH_LABEL])
{
    if (acceptor->pending == acceptor->places) {
        acceptor_drop(acceptor, acceptor_choose_victim(acceptor), &acceptor->displaced);
    }
    uint32_t at = acceptor->pending++;
    acceptor->peers[at] =
        (weft_pending_peer_t){.fd = fd, .deadline_ns = now + WEFT_ACCEPTOR_PATIENCE_NS};
    acceptor_watch(acceptor, fd);
    return acceptor_advance(acceptor, at, now, label) ? at : ACCEPTOR_NOBODY;
}

static weft_status_t acceptor_accept_failed(const weft_host_t *host, int error)
{
    switch (error) {
    case EAGAIN:
        return WEFT_AGAIN;
    case EMFILE:
    case ENFILE:
        return host->set_error(host, WEFT_ERR_RESOURCE, error,
                               "cannot accept a connection; raise the limit of open files "
                               "(ulimit -n)");
    case ENOMEM:
    case ENOBUFS:
        return host->set_error(host, WEFT_ERR_RESOURCE, error, "cannot accept a connection");
    case EBADF:
    case EINVAL:
    case ENOTSOCK:
        return host->set_error(host, WEFT_ERR_SYSTEM, error, "cannot accept a connection");
    case EPERM:
    case EACCES:
    case ENOSYS:
        /* A filter of the container, which stays. */
        return host->set_error(host, WEFT_ERR_SYSTEM, error,
                               "cannot accept a connection (accept4)");
    default:
        /* EINTR, or a network error of the new connection. */
        return WEFT_OK;
    }
}

/* Takes one connection, or none. Returns OK (look for the next one), AGAIN (nobody is left, or
 * nobody can make room), or a failure of the listening socket. */
static weft_status_t acceptor_accept(weft_acceptor_t *acceptor, int listening, int *fd_p)
{
    if (acceptor->pending == acceptor->places &&
        acceptor_choose_victim(acceptor) == ACCEPTOR_NOBODY) {
        acceptor_set_full(acceptor, true);
        return WEFT_AGAIN;
    }
    *fd_p = accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (*fd_p >= 0) {
        acceptor_tell_has(acceptor, *fd_p, true);
        return WEFT_OK;
    }
    int error = errno;
    uint32_t victim = ACCEPTOR_NOBODY;
    if (error == EMFILE) {
        victim = acceptor_choose_victim(acceptor);
    }
    if (victim != ACCEPTOR_NOBODY) {
        /* The process has fewer descriptors than the table has places. */
        acceptor_drop(acceptor, victim, &acceptor->displaced);
        return WEFT_OK;
    }
    return acceptor_accept_failed(acceptor->host, error);
}

/* Serves one listening socket until somebody has passed. */
static weft_status_t acceptor_serve(weft_acceptor_t *acceptor, int listening, uint64_t now,
                                    uint32_t *passed_p, uint8_t label[WEFT_AUTH_LABEL])
{
    weft_status_t status = WEFT_OK;
    for (uint32_t i = 0; i < ACCEPTOR_BURST && status == WEFT_OK && *passed_p == ACCEPTOR_NOBODY;
         i++) {
        int fd = -1;
        status = acceptor_accept(acceptor, listening, &fd);
        if (fd >= 0) {
            *passed_p = acceptor_admit(acceptor, fd, now, label);
        }
    }
    return status == WEFT_AGAIN ? WEFT_OK : status;
}

weft_status_t weft_acceptor_poll(weft_acceptor_t *acceptor, int *fd_p,
                                 uint8_t label[WEFT_AUTH_LABEL])
{
    struct pollfd entries[ACCEPTOR_ENTRIES];
    uint64_t now = acceptor->host->clock_ns(acceptor->host);
    weft_status_t status = WEFT_OK;
    acceptor_look(acceptor, entries);
    uint32_t passed = acceptor_sweep(acceptor, entries + acceptor->sockets, now, label);
    for (uint32_t i = 0; i < acceptor->sockets && status == WEFT_OK && passed == ACCEPTOR_NOBODY;
         i++) {
        if (entries[i].revents != 0) {
            status = acceptor_serve(acceptor, acceptor->listening[i], now, &passed, label);
        }
    }
    acceptor_report(acceptor, now);
    if (acceptor->blind_ns != 0 && now >= acceptor->blind_ns) {
        acceptor_watch_all(acceptor);
    }
    if (passed != ACCEPTOR_NOBODY) {
        *fd_p = acceptor->peers[passed].fd;
        acceptor_release(acceptor, passed);
        return WEFT_OK;
    }
    return status == WEFT_OK ? WEFT_AGAIN : status;
}

uint64_t weft_acceptor_deadline_ns(const weft_acceptor_t *acceptor)
{
    uint64_t next = acceptor->blind_ns != 0 ? acceptor->blind_ns : UINT64_MAX;
    for (uint32_t i = 0; i < acceptor->pending; i++) {
        next = acceptor->peers[i].deadline_ns < next ? acceptor->peers[i].deadline_ns : next;
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
        acceptor_watch_all(acceptor);
    }
    *fd_p = acceptor->watch;
    return WEFT_OK;
}

void weft_acceptor_fini(weft_acceptor_t *acceptor)
{
    while (acceptor->pending > 0) {
        acceptor_close(acceptor, acceptor->pending - 1);
    }
    while (acceptor->sockets > 0) {
        int fd = acceptor->listening[--acceptor->sockets];
        acceptor_unwatch(acceptor, fd);
        acceptor_tell_has(acceptor, fd, false);
        close(fd);
    }
    if (acceptor->owns_watch) {
        close(acceptor->watch);
        acceptor->owns_watch = false;
    }
    acceptor->watch = -1;
}
