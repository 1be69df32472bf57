/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Objects, descriptors, and waiting for them. */
#include "descriptor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stream.h"

static object_t *objects;
static uint32_t made;

/* Objects -------------------------------------------------------------------------------------- */

object_t *object_make(object_kind_t kind)
{
    object_t *object = machine_alloc(sizeof *object);
    *object = (object_t){.next = objects,
                         .kind = kind,
                         .number = ++made,
                         .holders = 1,
                         .real = -1,
                         .owner = machine.self != NULL ? machine.self->process : NULL};
    objects = object;
    return object;
}

object_t *descriptor_first(void)
{
    return objects;
}

void object_hold(object_t *object)
{
    object->holders++;
}

static void object_close(object_t *object, bool silent)
{
    if (object->kind == OBJECT_STREAM || object->kind == OBJECT_LISTENER ||
        object->kind == OBJECT_SOCKET) {
        stream_close(object, silent);
    }
    while (object->watched != NULL) {
        watched_t *watched = object->watched;
        object->watched = watched->next;
        machine_free(watched);
    }
    if (object->real >= 0) {
        close(object->real);
        object->real = -1;
    }
}

void object_drop(object_t *object)
{
    if (--object->holders == 0) {
        object_close(object, false);
    }
}

void object_changed(object_t *object)
{
    if (object->owner != NULL) {
        process_wake_pollers(object->owner, machine.now + 200 + machine_below(2000));
    }
}

static bool epoll_is_ready(const object_t *epoll)
{
    for (const watched_t *w = epoll->watched; w != NULL; w = w->next) {
        if ((object_ready(w->object) & (short)(w->event.events | EPOLLHUP | EPOLLERR)) != 0) {
            return true;
        }
    }
    return false;
}

short object_ready(const object_t *object)
{
    switch (object->kind) {
    case OBJECT_STREAM:
        return stream_ready(object);
    case OBJECT_LISTENER:
        return object->npending > 0 ? POLLIN : 0;
    case OBJECT_EPOLL:
        return epoll_is_ready(object) ? POLLIN : 0;
    case OBJECT_EVENT:
        return (short)((object->count > 0 ? POLLIN : 0) | POLLOUT);
    case OBJECT_PIDFD:
        return object->process->dead ? POLLIN : 0;
    case OBJECT_FILE:
        return POLLIN | POLLOUT;
    default:
        return POLLHUP;
    }
}

/* Descriptors ---------------------------------------------------------------------------------- */

int descriptor_open(object_t *object)
{
    process_t *process = machine.self->process;
    uint32_t fd = 0;
    while (fd < process->files_room && process->files[fd] != NULL) {
        fd++;
    }
    if (process->files_open >= process->files_most || machine_odd(machine.odd.refused)) {
        object_drop(object);
        errno = EMFILE;
        return -1;
    }
    if (fd == process->files_room) {
        process->files_room = process->files_room > 0 ? 2 * process->files_room : 64;
        object_t **more = machine_alloc(process->files_room * sizeof *more);
        if (fd > 0) {
            memcpy(more, process->files, fd * sizeof *more);
        }
        machine_free(process->files);
        process->files = more;
    }
    process->files[fd] = object;
    process->files_open++;
    object->owner = process;
    return SIM_FIRST_FD + (int)fd;
}

object_t *descriptor_of_process(const process_t *process, int fd)
{
    uint32_t at = (uint32_t)(fd - SIM_FIRST_FD);
    return fd >= SIM_FIRST_FD && at < process->files_room ? process->files[at] : NULL;
}

object_t *descriptor_of(int fd)
{
    return descriptor_of_process(machine.self->process, fd);
}

/* As in Linux, an object that nobody holds leaves all epolls. */
static void descriptor_unwatch(object_t *object)
{
    for (object_t *o = objects; o != NULL; o = o->next) {
        for (watched_t **link = &o->watched; o->kind == OBJECT_EPOLL && *link != NULL;) {
            watched_t *watched = *link;
            if (watched->object == object) {
                *link = watched->next;
                machine_free(watched);
            } else {
                link = &watched->next;
            }
        }
    }
}

static void descriptor_drop(process_t *process, uint32_t at, bool silent)
{
    object_t *object = process->files[at];
    process->files[at] = NULL;
    process->files_open--;
    if (object->holders == 1) {
        descriptor_unwatch(object);
        if (silent) {
            object_close(object, true);
            object->holders = 0;
            return;
        }
    }
    object_drop(object);
}

int descriptor_close(int fd)
{
    if (descriptor_of(fd) == NULL) {
        errno = EBADF;
        return -1;
    }
    descriptor_drop(machine.self->process, (uint32_t)(fd - SIM_FIRST_FD), false);
    return 0;
}

void descriptor_close_all(process_t *process, bool silent)
{
    for (uint32_t at = 0; at < process->files_room; at++) {
        if (process->files[at] != NULL) {
            descriptor_drop(process, at, silent);
        }
    }
    machine_free(process->files);
    process->files = NULL;
    process->files_room = 0;
}

void descriptor_fini(void)
{
    for (object_t *o = objects; o != NULL; o = o->next) {
        stream_forget(o, true);
        object_close(o, true);
    }
    while (objects != NULL) {
        object_t *object = objects;
        objects = object->next;
        machine_free(object);
    }
    made = 0;
}

/* Waiting -------------------------------------------------------------------------------------- */

static int poll_look(struct pollfd *entries, nfds_t count)
{
    int ready = 0;
    for (nfds_t i = 0; i < count; i++) {
        const object_t *object = descriptor_of(entries[i].fd);
        short now = 0;
        if (entries[i].fd >= 0) {
            now = object != NULL ? object_ready(object) : POLLNVAL;
        }
        entries[i].revents = (short)(now & (entries[i].events | POLLERR | POLLHUP | POLLNVAL));
        ready += entries[i].revents != 0;
    }
    return ready;
}

static bool wait_is_interrupted(uint64_t wait_ns)
{
    if (wait_ns > 0 && machine_odd(machine.odd.interrupted)) {
        errno = EINTR;
        return true;
    }
    return false;
}

static uint64_t wait_until(uint64_t wait_ns)
{
    return wait_ns < SIM_NEVER - machine.now ? machine.now + wait_ns : SIM_NEVER;
}

int descriptor_poll(struct pollfd *entries, nfds_t count, uint64_t wait_ns)
{
    if (count == 1 && entries[0].fd == STDERR_FILENO) { /* see machine_tell(): the log has room */
        entries[0].revents = entries[0].events;
        return 1;
    }
    thread_call("poll");
    uint64_t until = wait_until(wait_ns);
    int ready;
    if (wait_is_interrupted(wait_ns)) {
        return -1;
    }
    while ((ready = poll_look(entries, count)) == 0 && machine.now < until) {
        (void)thread_sleep("poll", until);
    }
    return ready;
}

int descriptor_epoll_ctl(int epoll_fd, int op, int fd, struct epoll_event *event)
{
    object_t *epoll = descriptor_of(epoll_fd), *object = descriptor_of(fd);
    thread_call("epoll_ctl");
    if (epoll == NULL || object == NULL || epoll->kind != OBJECT_EPOLL) {
        errno = EBADF;
        return -1;
    }
    watched_t **link = &epoll->watched;
    while (*link != NULL && ((*link)->object != object || (*link)->fd != fd)) {
        link = &(*link)->next;
    }
    if ((*link == NULL) != (op == EPOLL_CTL_ADD)) {
        errno = *link == NULL ? ENOENT : EEXIST;
        return -1;
    }
    watched_t *watched = *link;
    if (op == EPOLL_CTL_DEL) {
        *link = watched->next;
        machine_free(watched);
        return 0;
    }
    if (op == EPOLL_CTL_ADD) {
        watched = *link = machine_alloc(sizeof *watched);
    }
    watched->object = object;
    watched->fd = fd;
    watched->event = *event;
    object_changed(epoll);
    return 0;
}

/* What was given out last comes last the next time, as in Linux. */
static int epoll_look(object_t *epoll, struct epoll_event *events, int room)
{
    watched_t *given = NULL, **given_end = &given, **link = &epoll->watched;
    int count = 0;
    while (*link != NULL && count < room) {
        watched_t *w = *link;
        uint32_t now =
            (uint32_t)(uint16_t)object_ready(w->object) & (w->event.events | EPOLLHUP | EPOLLERR);
        if (now == 0) {
            link = &w->next;
            continue;
        }
        events[count++] = (struct epoll_event){.events = now, .data = w->event.data};
        *link = w->next;
        w->next = NULL;
        *given_end = w;
        given_end = &w->next;
    }
    while (*link != NULL) {
        link = &(*link)->next;
    }
    *link = given;
    return count;
}

int descriptor_epoll_wait(int epoll_fd, struct epoll_event *events, int room, uint64_t wait_ns)
{
    object_t *epoll = descriptor_of(epoll_fd);
    thread_call("poll");
    uint64_t until = wait_until(wait_ns);
    int count;
    if (epoll == NULL || epoll->kind != OBJECT_EPOLL) {
        errno = EBADF;
        return -1;
    }
    if (wait_is_interrupted(wait_ns)) {
        return -1;
    }
    while ((count = epoll_look(epoll, events, room)) == 0 && machine.now < until) {
        (void)thread_sleep("poll", until);
    }
    return count;
}
