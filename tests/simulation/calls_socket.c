/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sockets, events, and waiting for descriptors. */
#include "calls.h"

#include <ifaddrs.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "descriptor.h"
#include "stream.h"

/* Returns the socket, or NULL with errno. */
static object_t *socket_of(int fd)
{
    object_t *object = descriptor_of(fd);
    errno = object == NULL ? EBADF : errno;
    return object;
}

/* Sockets -------------------------------------------------------------------------------------- */

SIM_CALL int socket(int family, int type, int protocol)
{
    if (!machine_inside()) {
        return SIM_REAL(socket)(family, type, protocol);
    }
    thread_call("socket");
    object_t *object = object_make(OBJECT_SOCKET);
    object->local = family == AF_UNIX;
    object->host = machine.self->process->host;
    return descriptor_open(object);
}

SIM_CALL int bind(int fd, const struct sockaddr *at, socklen_t bytes)
{
    if (!machine_inside()) {
        return SIM_REAL(bind)(fd, at, bytes);
    }
    thread_call("bind");
    object_t *object = socket_of(fd);
    return object != NULL ? stream_bind(object, at, bytes) : -1;
}

SIM_CALL int listen(int fd, int backlog)
{
    if (!machine_inside()) {
        return SIM_REAL(listen)(fd, backlog);
    }
    thread_call("listen");
    object_t *object = socket_of(fd);
    return object != NULL ? stream_listen(object, backlog) : -1;
}

SIM_CALL int connect(int fd, const struct sockaddr *to, socklen_t bytes)
{
    if (!machine_inside()) {
        return SIM_REAL(connect)(fd, to, bytes);
    }
    thread_call("connect");
    object_t *object = socket_of(fd);
    return object != NULL ? stream_connect(object, to, bytes) : -1;
}

SIM_CALL int accept4(int fd, struct sockaddr *from, socklen_t *bytes, int flags)
{
    if (!machine_inside()) {
        return SIM_REAL(accept4)(fd, from, bytes, flags);
    }
    thread_call("accept");
    SIM_MAY_BE_INTERRUPTED();
    object_t *listener = socket_of(fd);
    object_t *object = listener != NULL ? stream_accept(listener) : NULL;
    if (object != NULL && from != NULL) {
        stream_address(object->peer_host, object->peer_port, from, bytes);
    }
    return object != NULL ? descriptor_open(object) : -1;
}

SIM_CALL int getsockname(int fd, struct sockaddr *at, socklen_t *bytes)
{
    if (!machine_inside()) {
        return SIM_REAL(getsockname)(fd, at, bytes);
    }
    const object_t *object = socket_of(fd);
    if (object == NULL) {
        return -1;
    }
    stream_address(object->host, object->port, at, bytes);
    return 0;
}

SIM_CALL int getpeername(int fd, struct sockaddr *at, socklen_t *bytes)
{
    if (!machine_inside()) {
        return SIM_REAL(getpeername)(fd, at, bytes);
    }
    const object_t *object = socket_of(fd);
    if (object == NULL || object->kind != OBJECT_STREAM || object->broken) {
        errno = ENOTCONN;
        return -1;
    }
    stream_address(object->peer_host, object->peer_port, at, bytes);
    return 0;
}

SIM_CALL int setsockopt(int fd, int level, int name, const void *value, socklen_t bytes)
{
    if (!machine_inside()) {
        return SIM_REAL(setsockopt)(fd, level, name, value, bytes);
    }
    object_t *object = socket_of(fd);
    if (object == NULL) {
        return -1;
    }
    object->keepalive = object->keepalive || (level == SOL_SOCKET && name == SO_KEEPALIVE);
    if (level == IPPROTO_TCP && name == TCP_USER_TIMEOUT) {
        object->patience = *(const unsigned *)value * SIM_MS;
    }
    return 0;
}

SIM_CALL int getsockopt(int fd, int level, int name, void *value, socklen_t *bytes)
{
    if (!machine_inside()) {
        return SIM_REAL(getsockopt)(fd, level, name, value, bytes);
    }
    object_t *object = socket_of(fd);
    if (object == NULL) {
        return -1;
    }
    memset(value, 0, *bytes);
    if (level == SOL_SOCKET && name == SO_ERROR) {
        memcpy(value, &object->error, sizeof object->error);
        object->error = 0;
    } else if (level == SOL_SOCKET && name == SO_PEERCRED) {
        struct ucred peer = {.uid = 1000};
        peer.pid = object->peer_process != NULL ? object->peer_process->pid : 0;
        memcpy(value, &peer, sizeof peer);
    } else if (level == SOL_SOCKET && (name == SO_SNDBUF || name == SO_RCVBUF)) {
        memcpy(value, &(int){256 << 10}, sizeof(int));
    } else {
        errno = ENOPROTOOPT;
        return -1;
    }
    return 0;
}

SIM_CALL int ioctl(int fd, unsigned long request, ...)
{
    va_list args;
    va_start(args, request);
    void *value = va_arg(args, void *);
    va_end(args);
    if (!machine_inside()) {
        return SIM_REAL(ioctl)(fd, request, value);
    }
    object_t *object = socket_of(fd);
    if (object == NULL || request != SIOCOUTQ) {
        errno = object == NULL ? EBADF : ENOTTY;
        return -1;
    }
    *(int *)value = (int)stream_on_the_way(object);
    return 0;
}

SIM_CALL int shutdown(int fd, int how)
{
    if (!machine_inside()) {
        return SIM_REAL(shutdown)(fd, how);
    }
    thread_call("shutdown");
    object_t *object = socket_of(fd);
    return object != NULL ? stream_shutdown(object) : -1;
}

/* Data ----------------------------------------------------------------------------------------- */

SIM_CALL ssize_t send(int fd, const void *data, size_t bytes, int flags)
{
    if (!machine_inside()) {
        return SIM_REAL(send)(fd, data, bytes, flags);
    }
    thread_call("send");
    SIM_MAY_BE_INTERRUPTED();
    object_t *object = socket_of(fd);
    return object != NULL ? stream_send(object, data, bytes, NULL) : -1;
}

SIM_CALL ssize_t recv(int fd, void *data, size_t bytes, int flags)
{
    if (!machine_inside()) {
        return SIM_REAL(recv)(fd, data, bytes, flags);
    }
    thread_call("recv");
    SIM_MAY_BE_INTERRUPTED();
    object_t *object = socket_of(fd);
    return object != NULL ? stream_receive(object, data, bytes, (flags & MSG_PEEK) != 0, NULL) : -1;
}

static size_t vectors_bytes(const struct iovec *vec, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += vec[i].iov_len;
    }
    return bytes;
}

static void vectors_scatter(const struct iovec *vec, size_t count, const uint8_t *from,
                            size_t bytes)
{
    for (size_t i = 0; i < count && bytes > 0; i++) {
        size_t now = vec[i].iov_len < bytes ? vec[i].iov_len : bytes;
        memcpy(vec[i].iov_base, from, now);
        from += now;
        bytes -= now;
    }
}

static object_t *passed_in(const struct msghdr *message)
{
    const struct cmsghdr *header = message->msg_control != NULL ? CMSG_FIRSTHDR(message) : NULL;
    int fd;
    if (header == NULL || header->cmsg_type != SCM_RIGHTS) {
        return NULL;
    }
    memcpy(&fd, CMSG_DATA(header), sizeof fd);
    object_t *object = descriptor_of(fd);
    if (object != NULL) {
        object_hold(object);
    }
    return object;
}

static void passed_out(struct msghdr *message, object_t *passed)
{
    int fd = passed != NULL ? descriptor_open(passed) : -1;
    message->msg_flags = passed != NULL && fd < 0 ? MSG_CTRUNC : 0;
    if (fd < 0 || message->msg_control == NULL) {
        message->msg_controllen = 0;
        return;
    }
    struct cmsghdr *header = message->msg_control;
    *header = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
    message->msg_controllen = CMSG_SPACE(sizeof fd);
}

SIM_CALL ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    if (!machine_inside()) {
        return SIM_REAL(sendmsg)(fd, message, flags);
    }
    thread_call("send");
    SIM_MAY_BE_INTERRUPTED();
    object_t *object = socket_of(fd);
    if (object == NULL) {
        return -1;
    }
    size_t bytes = vectors_bytes(message->msg_iov, message->msg_iovlen), at = 0;
    uint8_t *all = malloc(bytes > 0 ? bytes : 1);
    if (all == NULL) {
        errno = ENOBUFS;
        return -1;
    }
    for (size_t i = 0; i < message->msg_iovlen; i++) {
        memcpy(all + at, message->msg_iov[i].iov_base, message->msg_iov[i].iov_len);
        at += message->msg_iov[i].iov_len;
    }
    object_t *passed = passed_in(message);
    ssize_t sent = stream_send(object, all, bytes, passed);
    if (sent <= 0 && passed != NULL) {
        object_drop(passed);
    }
    free(all);
    return sent;
}

static ssize_t receive_vectors(int fd, const struct iovec *vec, size_t count, bool peek,
                               object_t **passed_p)
{
    object_t *object = socket_of(fd);
    size_t bytes = vectors_bytes(vec, count);
    uint8_t *all = object != NULL ? malloc(bytes > 0 ? bytes : 1) : NULL;
    if (all == NULL) {
        errno = object != NULL ? ENOMEM : errno;
        return -1;
    }
    ssize_t got = stream_receive(object, all, bytes, peek, passed_p);
    if (got > 0) {
        vectors_scatter(vec, count, all, (size_t)got);
    }
    free(all);
    return got;
}

SIM_CALL ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    object_t *passed = NULL;
    if (!machine_inside()) {
        return SIM_REAL(recvmsg)(fd, message, flags);
    }
    thread_call("recv");
    SIM_MAY_BE_INTERRUPTED();
    ssize_t got = receive_vectors(fd, message->msg_iov, message->msg_iovlen,
                                  (flags & MSG_PEEK) != 0, &passed);
    passed_out(message, passed);
    return got;
}

SIM_CALL ssize_t readv(int fd, const struct iovec *vec, int count)
{
    if (!machine_inside() || fd < SIM_FIRST_FD) {
        return SIM_REAL(readv)(fd, vec, count);
    }
    thread_call("recv");
    SIM_MAY_BE_INTERRUPTED();
    return receive_vectors(fd, vec, (size_t)count, false, NULL);
}

SIM_CALL ssize_t read(int fd, void *data, size_t bytes)
{
    if (!machine_inside() || fd < SIM_FIRST_FD) {
        return SIM_REAL(read)(fd, data, bytes);
    }
    thread_call("read");
    SIM_MAY_BE_INTERRUPTED();
    object_t *object = socket_of(fd);
    if (object == NULL || object->kind != OBJECT_EVENT) {
        return object != NULL ? stream_receive(object, data, bytes, false, NULL) : -1;
    }
    if (object->count == 0) {
        errno = EAGAIN;
        return -1;
    }
    memcpy(data, &object->count, sizeof object->count);
    object->count = 0;
    return sizeof object->count;
}

/* What a process says goes nowhere, unless somebody listens. */
SIM_CALL ssize_t write(int fd, const void *data, size_t bytes)
{
    if (!machine_inside() || (fd < SIM_FIRST_FD && fd != STDERR_FILENO)) {
        return SIM_REAL(write)(fd, data, bytes);
    }
    if (fd == STDERR_FILENO) {
        machine_tell(data, bytes);
        return (ssize_t)bytes;
    }
    thread_call("write");
    object_t *object = socket_of(fd);
    if (object == NULL || object->kind != OBJECT_EVENT) {
        return object != NULL ? stream_send(object, data, bytes, NULL) : -1;
    }
    uint64_t more;
    memcpy(&more, data, sizeof more);
    object->count += more;
    object_changed(object);
    return sizeof more;
}

SIM_CALL int close(int fd)
{
    if (!machine_inside() || fd < SIM_FIRST_FD) {
        return SIM_REAL(close)(fd);
    }
    thread_call("close");
    return descriptor_close(fd);
}

/* Waiting -------------------------------------------------------------------------------------- */

SIM_CALL int eventfd(unsigned count, int flags)
{
    if (!machine_inside()) {
        return SIM_REAL(eventfd)(count, flags);
    }
    thread_call("eventfd");
    object_t *object = object_make(OBJECT_EVENT);
    object->count = count;
    return descriptor_open(object);
}

static uint64_t wait_of_ms(int ms)
{
    return ms < 0 ? SIM_NEVER : (uint64_t)ms * SIM_MS;
}

SIM_CALL int poll(struct pollfd *entries, nfds_t count, int timeout)
{
    return machine_inside() ? descriptor_poll(entries, count, wait_of_ms(timeout))
                            : SIM_REAL(poll)(entries, count, timeout);
}

SIM_CALL int ppoll(struct pollfd *entries, nfds_t count, const struct timespec *t,
                   const sigset_t *signals)
{
    if (!machine_inside()) {
        return SIM_REAL(ppoll)(entries, count, t, signals);
    }
    return descriptor_poll(
        entries, count, t != NULL ? (uint64_t)t->tv_sec * SIM_S + (uint64_t)t->tv_nsec : SIM_NEVER);
}

SIM_CALL int epoll_create1(int flags)
{
    if (!machine_inside()) {
        return SIM_REAL(epoll_create1)(flags);
    }
    thread_call("epoll_create");
    return descriptor_open(object_make(OBJECT_EPOLL));
}

SIM_CALL int epoll_ctl(int epoll, int op, int fd, struct epoll_event *event)
{
    return machine_inside() ? descriptor_epoll_ctl(epoll, op, fd, event)
                            : SIM_REAL(epoll_ctl)(epoll, op, fd, event);
}

SIM_CALL int epoll_wait(int epoll, struct epoll_event *events, int room, int timeout)
{
    return machine_inside() ? descriptor_epoll_wait(epoll, events, room, wait_of_ms(timeout))
                            : SIM_REAL(epoll_wait)(epoll, events, room, timeout);
}

/* Interfaces ----------------------------------------------------------------------------------- */

typedef struct interfaces {
    struct ifaddrs list[2];
    struct sockaddr_storage at[2], mask[2];
    char name[2][8];
} interfaces_t;

SIM_CALL int getifaddrs(struct ifaddrs **list)
{
    if (!machine_inside()) {
        return SIM_REAL(getifaddrs)(list);
    }
    interfaces_t *all = calloc(1, sizeof *all);
    if (all == NULL) {
        errno = ENOMEM;
        return -1;
    }
    for (int i = 0; i < 2; i++) {
        struct sockaddr_in *at = (struct sockaddr_in *)&all->at[i];
        struct sockaddr_in *mask = (struct sockaddr_in *)&all->mask[i];
        socklen_t bytes = sizeof all->at[i];
        strcpy(all->name[i], i == 0 ? "lo" : "sim0");
        stream_address(machine.self->process->host, 0, (struct sockaddr *)at, &bytes);
        at->sin_addr.s_addr = i == 0 ? htonl(INADDR_LOOPBACK) : at->sin_addr.s_addr;
        mask->sin_family = AF_INET;
        mask->sin_addr.s_addr = htonl(i == 0 ? 0xff000000u : 0xffffff00u);
        all->list[i] =
            (struct ifaddrs){.ifa_next = i == 0 ? &all->list[1] : NULL,
                             .ifa_name = all->name[i],
                             .ifa_flags = IFF_UP | IFF_RUNNING | (i == 0 ? IFF_LOOPBACK : 0u),
                             .ifa_addr = (struct sockaddr *)at,
                             .ifa_netmask = (struct sockaddr *)mask};
    }
    *list = all->list;
    return 0;
}

SIM_CALL void freeifaddrs(struct ifaddrs *list)
{
    if (machine_inside()) {
        free(list);
    } else {
        SIM_REAL(freeifaddrs)(list);
    }
}

SIM_CALL unsigned if_nametoindex(const char *name)
{
    if (!machine_inside()) {
        return SIM_REAL(if_nametoindex)(name);
    }
    return strcmp(name, "lo") == 0 ? 1 : strcmp(name, "sim0") == 0 ? 2 : 0;
}

SIM_CALL char *if_indextoname(unsigned index, char name[IF_NAMESIZE])
{
    if (!machine_inside()) {
        return SIM_REAL(if_indextoname)(index, name);
    }
    return index == 1 ? strcpy(name, "lo") : index == 2 ? strcpy(name, "sim0") : NULL;
}
