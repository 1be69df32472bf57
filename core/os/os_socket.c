/* SPDX-License-Identifier: BSD-3-Clause
 *
 * OS seam: TCP streams, waiting and waking. Addresses are in os_address.c. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/os/os_cancel.h"
#include "core/os/os_fork.h"
#include "core/os/os_select.h"
#include "core/os/os_socket.h"

/* Waits for more descriptors are not those of a join. */
#define CANCELLED_MOST 7u

/* Sets an integer option; used where a failure changes nothing that matters. */
static void os_socket_set_option(int fd, int level, int name, int value)
{
    (void)setsockopt(fd, level, name, &value, sizeof value);
}

static socklen_t os_socket_to_sockaddr(const weft_os_addr_t *addr, struct sockaddr_storage *out)
{
    memset(out, 0, sizeof *out);
    if (addr->family == 4) {
        struct sockaddr_in *in = (struct sockaddr_in *)out;
        in->sin_family = AF_INET;
        in->sin_port = htons(addr->port);
        memcpy(&in->sin_addr, addr->bytes, 4);
        return sizeof *in;
    }
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)out;
    in6->sin6_family = AF_INET6;
    in6->sin6_port = htons(addr->port);
    memcpy(&in6->sin6_addr, addr->bytes, 16);
    return sizeof *in6;
}

#define NO_EVENTFD "make an event descriptor (eventfd)"

static weft_status_t os_socket_open_failed(const char *what)
{
    bool scarce = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    return weft_fail(scarce ? WEFT_ERR_RESOURCE : WEFT_ERR_SYSTEM, errno, "cannot %s", what);
}

/* Binds and listens; −1 with errno set. */
static int os_socket_try_listen(int family, int backlog, uint16_t port)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -1;
    }
    if (family == AF_INET6) {
        os_socket_set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    }
    if (port != 0) {
        /* Connections of an earlier listener that have ended do not stand in the way. */
        os_socket_set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    }
    weft_os_addr_t any = {.family = family == AF_INET6 ? 6 : 4, .port = port};
    struct sockaddr_storage at;
    socklen_t bytes = os_socket_to_sockaddr(&any, &at);
    if (bind(fd, (struct sockaddr *)&at, bytes) != 0 || listen(fd, backlog) != 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

weft_status_t weft_os_listen(int backlog, int *fd_p, uint16_t *port_p)
{
    int fd = os_socket_try_listen(AF_INET6, backlog, *port_p);
    if (fd < 0 && errno != EADDRINUSE) {
        fd = os_socket_try_listen(AF_INET, backlog, *port_p);
    }
    if (fd < 0 && errno == EADDRINUSE && *port_p != 0) {
        return WEFT_AGAIN;
    }
    if (fd < 0) {
        return os_socket_open_failed("listen on a TCP port");
    }
    struct sockaddr_storage at;
    socklen_t bytes = sizeof at;
    if (getsockname(fd, (struct sockaddr *)&at, &bytes) != 0) {
        weft_status_t status = os_socket_open_failed("ask for the port of a socket");
        close(fd);
        return status;
    }
    *port_p = ntohs(at.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&at)->sin6_port
                                             : ((struct sockaddr_in *)&at)->sin_port);
    *fd_p = fd;
    return WEFT_OK;
}

weft_status_t weft_os_connect(const weft_os_addr_t *addr, int *fd_p)
{
    struct sockaddr_storage to;
    socklen_t bytes = os_socket_to_sockaddr(addr, &to);
    weft_os_open_standard();
    weft_os_hold_forks(); /* no child between the socket and its mark */
    int fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int lack = errno;
    weft_os_close_in_children(fd);
    weft_os_release_forks();
    if (fd < 0) {
        errno = lack;
        return os_socket_open_failed("make a socket");
    }
    /* An interrupted connect goes on by itself, as one that is in progress. */
    if (connect(fd, (struct sockaddr *)&to, bytes) != 0 && errno != EINPROGRESS && errno != EINTR) {
        char text[WEFT_OS_ADDR_TEXT];
        int error = errno;
        weft_os_close(fd);
        weft_os_addr_text(addr, text);
        return weft_fail(WEFT_ERR_LINK, error, "cannot connect to %s", text);
    }
    *fd_p = fd;
    return WEFT_OK;
}

/* Where nobody listens at a port of this host, the system may choose the same one for the end that
 * connects, and connect it to itself. */
static bool os_socket_is_its_own_peer(int fd)
{
    struct sockaddr_storage own, peer;
    socklen_t bytes = sizeof own, of_peer = sizeof peer;
    memset(&own, 0, sizeof own);
    memset(&peer, 0, sizeof peer);
    return getsockname(fd, (struct sockaddr *)&own, &bytes) == 0 &&
           getpeername(fd, (struct sockaddr *)&peer, &of_peer) == 0 && bytes == of_peer &&
           memcmp(&own, &peer, bytes) == 0;
}

int weft_os_connect_result(int fd)
{
    int error = 0;
    socklen_t bytes = sizeof error;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0 || error != 0) {
        return error != 0 ? error : errno;
    }
    if (os_socket_is_its_own_peer(fd)) {
        /* Closed in the ordinary way it would keep the port from its listener for a minute. */
        const struct linger at_once = {.l_onoff = 1};
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        return ECONNREFUSED;
    }
    return 0;
}

bool weft_os_own_addr(int fd, weft_os_addr_t *addr)
{
    struct sockaddr_storage at = {.ss_family = AF_UNSPEC};
    const struct sockaddr_in *in = (const struct sockaddr_in *)&at;
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&at;
    socklen_t bytes = sizeof at;
    memset(addr, 0, sizeof *addr);
    if (getsockname(fd, (struct sockaddr *)&at, &bytes) != 0) {
        return false;
    }
    if (at.ss_family == AF_INET) {
        addr->family = 4;
        addr->port = ntohs(in->sin_port);
        memcpy(addr->bytes, &in->sin_addr, sizeof in->sin_addr);
    } else {
        addr->family = 6;
        addr->port = ntohs(in6->sin6_port);
        memcpy(addr->bytes, &in6->sin6_addr, sizeof in6->sin6_addr);
    }
    return true;
}

void weft_os_tune_control(int fd)
{
    os_socket_set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    os_socket_set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    os_socket_set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 1);
    os_socket_set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 1);
    os_socket_set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
    /* Keepalive is silent while data is unacknowledged; this covers that case. */
    os_socket_set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 3000);
    weft_os_close_in_children(fd);
}

static ssize_t os_socket_moved(ssize_t bytes, int *errno_p)
{
    if (bytes >= 0) {
        return bytes;
    }
    if (errno == EAGAIN) {
        return WEFT_OS_NONE;
    }
    *errno_p = errno;
    return WEFT_OS_BROKEN;
}

ssize_t weft_os_send(int fd, const void *data, size_t bytes, int *errno_p)
{
    ssize_t done;
    do {
        done = send(fd, data, bytes, MSG_NOSIGNAL);
    } while (done < 0 && errno == EINTR);
    return os_socket_moved(done, errno_p);
}

bool weft_os_send_all(int fd, const void *data, size_t bytes, int *errno_p)
{
    const uint8_t *from = data;
    ssize_t done = 0;
    while (bytes > 0 && (done = weft_os_send(fd, from, bytes, errno_p)) > 0) {
        from += done;
        bytes -= (size_t)done;
    }
    return bytes == 0;
}

static ssize_t os_socket_receive(int fd, void *data, size_t bytes, int flags, int *errno_p)
{
    ssize_t done;
    do {
        done = recv(fd, data, bytes, flags);
    } while (done < 0 && errno == EINTR);
    return os_socket_moved(done, errno_p);
}

ssize_t weft_os_recv(int fd, void *data, size_t bytes, int *errno_p)
{
    return os_socket_receive(fd, data, bytes, 0, errno_p);
}

ssize_t weft_os_peek(int fd, void *data, size_t bytes, int *errno_p)
{
    return os_socket_receive(fd, data, bytes, MSG_PEEK, errno_p);
}

bool weft_os_was_reset(int error)
{
    return error == ECONNRESET || error == EPIPE;
}

uint32_t weft_os_unacknowledged(int fd)
{
    int bytes = 0;
    return ioctl(fd, SIOCOUTQ, &bytes) == 0 && bytes > 0 ? (uint32_t)bytes : 0;
}

void weft_os_shutdown(int fd)
{
    (void)shutdown(fd, SHUT_WR);
}

void weft_os_close(int fd)
{
    if (fd >= 0) {
        weft_os_leave_to_children(fd);
        close(fd);
    }
}

/* The time until `until`, bounded, so that no conversion can overflow; callers loop anyway. */
static uint64_t os_socket_time_left(uint64_t until)
{
    uint64_t now = weft_os_clock_ns();
    uint64_t left = until > now ? until - now : 0;
    return left < 3600 * WEFT_NS_PER_S ? left : 3600 * WEFT_NS_PER_S;
}

static void os_socket_poll_failed(uint32_t count)
{
    int error = errno;
    weft_fail(error == ENOMEM ? WEFT_ERR_RESOURCE : WEFT_ERR_SYSTEM, error,
              "cannot wait for %u descriptors", count);
}

static int os_socket_poll(struct pollfd *entries, uint32_t count, uint64_t until)
{
    for (;;) {
        uint64_t left = os_socket_time_left(until);
        struct timespec t = {.tv_sec = (time_t)(left / WEFT_NS_PER_S),
                             .tv_nsec = (long)(left % WEFT_NS_PER_S)};
        int ready = ppoll(entries, count, &t, NULL);
        if (ready < 0 && errno == EINVAL) {
            /* A program may have lowered RLIMIT_NOFILE since they were opened, as services do that
             * shut themselves in: then poll(2) takes no more entries than that. */
            ready = weft_os_select(entries, count, &t);
        }
        if (ready >= 0) {
            return ready;
        }
        if (errno != EINTR) {
            os_socket_poll_failed(count);
            return -1;
        }
    }
}

int weft_os_poll(struct pollfd *entries, uint32_t count, uint64_t until)
{
    struct pollfd all[CANCELLED_MOST + 1];
    int cancel = weft_os_cancel_fd();
    if (cancel < 0 || until == 0 || count > CANCELLED_MOST) {
        return os_socket_poll(entries, count, until);
    }
    memcpy(all, entries, count * sizeof *entries);
    all[count] = (struct pollfd){.fd = cancel, .events = POLLIN};
    int ready = os_socket_poll(all, count + 1, until);
    if (ready > 0 && weft_os_cancelled() != WEFT_OK) {
        return -1;
    }
    memcpy(entries, all, count * sizeof *entries);
    return ready > 0 && all[count].revents != 0 ? ready - 1 : ready;
}

weft_status_t weft_os_watch_open(int *watch_p)
{
    weft_os_open_standard();
    int fd = epoll_create1(EPOLL_CLOEXEC);
    if (fd < 0) {
        return os_socket_open_failed("make an epoll descriptor");
    }
    *watch_p = fd;
    return WEFT_OK;
}

weft_status_t weft_os_watch_add(int watch, int fd, uint64_t tag)
{
    struct epoll_event event = {.events = EPOLLIN, .data = {.u64 = tag}};
    if (epoll_ctl(watch, EPOLL_CTL_ADD, fd, &event) != 0) {
        return weft_fail(errno == ENOSPC || errno == ENOMEM ? WEFT_ERR_RESOURCE : WEFT_ERR_SYSTEM,
                         errno, "cannot watch a descriptor%s",
                         errno == ENOSPC ? " (see fs.epoll.max_user_watches)" : "");
    }
    return WEFT_OK;
}

void weft_os_watch_remove(int watch, int fd)
{
    (void)epoll_ctl(watch, EPOLL_CTL_DEL, fd, NULL);
}

int weft_os_watch_wait(int watch, uint64_t *tags, uint32_t room, uint64_t until)
{
    struct epoll_event events[64];
    room = room < 64 ? room : 64;
    for (;;) {
        /* Rounded up: to wake up early would be to ask again and again in the last millisecond. */
        uint64_t left = (os_socket_time_left(until) + WEFT_NS_PER_MS - 1) / WEFT_NS_PER_MS;
        int ready = epoll_wait(watch, events, (int)room, (int)left);
        for (int i = 0; i < ready; i++) {
            tags[i] = events[i].data.u64;
        }
        if (ready >= 0) {
            return ready;
        }
        if (errno != EINTR) {
            os_socket_poll_failed(room);
            return -1;
        }
    }
}

weft_status_t weft_os_files_reserve(uint32_t count, const char *what)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) {
        return WEFT_OK;
    }
    /* The lowest free number is close to the number in use. */
    int probe = eventfd(0, EFD_CLOEXEC);
    if (probe < 0 && errno != EMFILE) {
        return os_socket_open_failed(NO_EVENTFD);
    }
    rlim_t need = (probe >= 0 ? (rlim_t)probe : files.rlim_cur) + count;
    weft_os_close(probe);
    if (need <= files.rlim_cur) {
        return WEFT_OK;
    }
    rlim_t before = files.rlim_cur;
    files.rlim_cur = files.rlim_max;
    if (need <= files.rlim_max && setrlimit(RLIMIT_NOFILE, &files) == 0) {
        return WEFT_OK;
    }
    return weft_fail(WEFT_ERR_RESOURCE, 0,
                     "%s needs more open files than RLIMIT_NOFILE allows: the limit is %llu "
                     "(ulimit -n; hard limit %llu), %llu are needed",
                     what, (unsigned long long)before, (unsigned long long)files.rlim_max,
                     (unsigned long long)need);
}

uint64_t weft_os_files_most(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_max == RLIM_INFINITY) {
        return UINT64_MAX;
    }
    return files.rlim_max;
}

weft_status_t weft_os_wake_open(int *fd_p)
{
    weft_os_open_standard();
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0) {
        return os_socket_open_failed(NO_EVENTFD);
    }
    *fd_p = fd;
    return WEFT_OK;
}

void weft_os_wake(int fd)
{
    uint64_t one = 1;
    /* Fails only when the counter is full, and then the sleeper is awake already. */
    ssize_t ignored = write(fd, &one, sizeof one);
    (void)ignored;
}

void weft_os_wake_clear(int fd)
{
    uint64_t count;
    ssize_t ignored = read(fd, &count, sizeof count);
    (void)ignored;
}
