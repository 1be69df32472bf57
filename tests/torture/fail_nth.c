/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Preloaded: the n-th call of one class that a process makes after fail_nth_arm() fails as the
 * system would fail it. Memory and waits: ENOMEM; descriptors: EMFILE; threads: EAGAIN; io:
 * ECONNRESET. */
#include "fail_nth.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);

static _Atomic int armed = -1; /* class; −1: none */
static _Atomic long left;      /* calls of the class until the one that fails */

__attribute__((visibility("default"))) void fail_nth_arm(int class, long n)
{
    atomic_store(&left, n);
    atomic_store(&armed, class);
}

__attribute__((visibility("default"))) bool fail_nth_disarm(void)
{
    atomic_store(&armed, -1);
    return atomic_load(&left) <= 0;
}

static bool fails(int class)
{
    return atomic_load_explicit(&armed, memory_order_relaxed) == class &&
           atomic_fetch_sub(&left, 1) == 1;
}

static bool fails_with(int class, int error)
{
    bool now = fails(class);
    if (now) {
        errno = error;
    }
    return now;
}

#define NO_MEMORY fails_with(FAIL_MEMORY, ENOMEM)
#define NO_DESCRIPTOR fails_with(FAIL_DESCRIPTORS, EMFILE)
#define RESET fails_with(FAIL_IO, ECONNRESET)
#define NO_WAIT fails_with(FAIL_WAITS, ENOMEM)

/* The next definition of a function: that of the C library. */
#define NEXT(name)                                                                                 \
    ({                                                                                             \
        static _Atomic(void *) found;                                                              \
        if (atomic_load_explicit(&found, memory_order_relaxed) == NULL) {                          \
            atomic_store(&found, dlsym(RTLD_NEXT, #name));                                         \
        }                                                                                          \
        (__typeof__(&(name)))atomic_load(&found);                                                  \
    })
#define EXPORT __attribute__((visibility("default")))

EXPORT void *malloc(size_t bytes)
{
    return NO_MEMORY ? NULL : __libc_malloc(bytes);
}

EXPORT void *calloc(size_t count, size_t bytes)
{
    return NO_MEMORY ? NULL : __libc_calloc(count, bytes);
}

EXPORT void *realloc(void *old, size_t bytes)
{
    return NO_MEMORY ? NULL : __libc_realloc(old, bytes);
}

EXPORT void *aligned_alloc(size_t alignment, size_t bytes)
{
    return NO_MEMORY ? NULL : __libc_memalign(alignment, bytes);
}

EXPORT int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    void *got = fails(FAIL_MEMORY) ? NULL : __libc_memalign(alignment, bytes);
    *out = got != NULL ? got : *out;
    return got != NULL ? 0 : ENOMEM;
}

EXPORT void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    return NO_MEMORY ? MAP_FAILED : NEXT(mmap)(at, bytes, protection, flags, fd, offset);
}

EXPORT int socket(int domain, int type, int protocol)
{
    return NO_DESCRIPTOR ? -1 : NEXT(socket)(domain, type, protocol);
}

EXPORT int socketpair(int domain, int type, int protocol, int pair[2])
{
    return NO_DESCRIPTOR ? -1 : NEXT(socketpair)(domain, type, protocol, pair);
}

EXPORT int accept4(int fd, struct sockaddr *addr, socklen_t *length, int flags)
{
    return NO_DESCRIPTOR ? -1 : NEXT(accept4)(fd, addr, length, flags);
}

EXPORT int epoll_create1(int flags)
{
    return NO_DESCRIPTOR ? -1 : NEXT(epoll_create1)(flags);
}

EXPORT int eventfd(unsigned count, int flags)
{
    return NO_DESCRIPTOR ? -1 : NEXT(eventfd)(count, flags);
}

EXPORT int memfd_create(const char *name, unsigned flags)
{
    return NO_DESCRIPTOR ? -1 : NEXT(memfd_create)(name, flags);
}

EXPORT int open(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;
    va_end(list);
    return NO_DESCRIPTOR ? -1 : NEXT(open)(path, flags, mode);
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *arg)
{
    return fails(FAIL_THREADS) ? EAGAIN : NEXT(pthread_create)(thread, attributes, start, arg);
}

EXPORT int connect(int fd, const struct sockaddr *addr, socklen_t length)
{
    return RESET ? -1 : NEXT(connect)(fd, addr, length);
}

EXPORT ssize_t send(int fd, const void *data, size_t bytes, int flags)
{
    return RESET ? -1 : NEXT(send)(fd, data, bytes, flags);
}

EXPORT ssize_t recv(int fd, void *data, size_t bytes, int flags)
{
    return RESET ? -1 : NEXT(recv)(fd, data, bytes, flags);
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    return RESET ? -1 : NEXT(sendmsg)(fd, message, flags);
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    return RESET ? -1 : NEXT(recvmsg)(fd, message, flags);
}

EXPORT int poll(struct pollfd *entries, nfds_t count, int most)
{
    return NO_WAIT ? -1 : NEXT(poll)(entries, count, most);
}

EXPORT int ppoll(struct pollfd *entries, nfds_t count, const struct timespec *most,
                 const sigset_t *mask)
{
    return NO_WAIT ? -1 : NEXT(ppoll)(entries, count, most, mask);
}

EXPORT int epoll_wait(int epoll, struct epoll_event *events, int room, int most)
{
    return NO_WAIT ? -1 : NEXT(epoll_wait)(epoll, events, room, most);
}

EXPORT int epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event)
{
    return operation == EPOLL_CTL_ADD && NO_WAIT ? -1
                                                 : NEXT(epoll_ctl)(epoll, operation, fd, event);
}
