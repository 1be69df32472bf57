/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The gate: strangers in slots. A stranger costs no allocation, has two seconds, and makes room for
 * a newer one when all slots are taken. */
#include "gate.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define LOG_PAUSE_NS UINT64_C(1000000000)

void gate_init(gate_t *gate, const weft_host_t *host, int watch)
{
    gate->host = host;
    gate->doors = 0;
    gate->watch = watch;
    gate->used = 0;
    gate->dropped = 0;
    gate->logged_ns = 0;
    for (uint32_t i = 0; i < GATE_SLOTS; i++) {
        gate->slots[i].fd = -1;
    }
}

static void gate_watch(gate_t *gate, int fd)
{
    if (gate->watch >= 0) {
        struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = NULL}};
        epoll_ctl(gate->watch, EPOLL_CTL_ADD, fd, &event);
    }
}

void gate_add(gate_t *gate, int fd)
{
    gate->fds[gate->doors++] = fd;
    gate_watch(gate, fd);
}

/* Leaves the slot without closing the socket. */
static void gate_release(gate_t *gate, gate_slot_t *slot)
{
    if (gate->watch >= 0) {
        epoll_ctl(gate->watch, EPOLL_CTL_DEL, slot->fd, NULL);
    }
    memset(&slot->shake, 0, sizeof slot->shake);
    slot->fd = -1;
    gate->used--;
}

static void gate_drop(gate_t *gate, gate_slot_t *slot)
{
    int fd = slot->fd;
    gate_release(gate, slot);
    close(fd);
    gate->dropped++;
}

/* One line a second at most, however many knock. */
static void gate_report(gate_t *gate, uint64_t now)
{
    const weft_host_t *host = gate->host;
    if (gate->dropped == 0 || (gate->logged_ns != 0 && now - gate->logged_ns < LOG_PAUSE_NS)) {
        return;
    }
    host->log(host, WEFT_LOG_INFO, "dropped %llu connections that did not authenticate",
              (unsigned long long)gate->dropped);
    gate->dropped = 0;
    gate->logged_ns = now;
}

static gate_slot_t *gate_sweep(gate_t *gate, uint64_t now, uint8_t label[WEFT_AUTH_LABEL])
{
    for (uint32_t i = 0; i < GATE_SLOTS && gate->used > 0; i++) {
        gate_slot_t *slot = &gate->slots[i];
        if (slot->fd < 0) {
            continue;
        }
        weft_status_t status = gate_shake_accept(gate->host, &slot->shake, slot->fd, label);
        if (status == WEFT_OK) {
            return slot;
        }
        if (status != WEFT_IN_PROGRESS || now >= slot->deadline_ns) {
            gate_drop(gate, slot);
        }
    }
    return NULL;
}

/* A free slot; the oldest stranger leaves when there is none. */
static gate_slot_t *gate_room(gate_t *gate)
{
    gate_slot_t *oldest = &gate->slots[0];
    for (uint32_t i = 0; i < GATE_SLOTS; i++) {
        gate_slot_t *slot = &gate->slots[i];
        if (slot->fd < 0) {
            return slot;
        }
        if (slot->deadline_ns < oldest->deadline_ns) {
            oldest = slot;
        }
    }
    gate_drop(gate, oldest);
    return oldest;
}

static void gate_admit(gate_t *gate, int fd, uint64_t now)
{
    gate_slot_t *slot = gate_room(gate);
    slot->fd = fd;
    slot->deadline_ns = now + GATE_PATIENCE_NS;
    memset(&slot->shake, 0, sizeof slot->shake);
    gate->used++;
    gate_watch(gate, fd);
}

/* Returns: OK (one more stranger), AGAIN, or a failure of the listening socket. */
static weft_status_t gate_accept(gate_t *gate, int door, uint64_t now)
{
    for (;;) {
        int fd = accept4(door, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            gate_admit(gate, fd, now);
            return WEFT_OK;
        }
        switch (errno) {
        case EAGAIN:
            return WEFT_AGAIN;
        case EMFILE:
        case ENFILE:
            return gate->host->set_error(gate->host, WEFT_ERR_RESOURCE, errno,
                                         "cannot accept a connection; raise the limit of open "
                                         "files (ulimit -n)");
        case ENOMEM:
        case ENOBUFS:
        case EBADF:
        case EINVAL:
        case ENOTSOCK:
            return gate->host->set_error(gate->host, WEFT_ERR_SYSTEM, errno,
                                         "cannot accept a connection");
        default:
            /* EINTR, or the stranger's own network error: look for the next one. */
            break;
        }
    }
}

/* Strangers speak before one of them is evicted, so that a flood cannot push out a peer whose bytes
 * are already here. */
static weft_status_t gate_door_poll(gate_t *gate, int door, uint64_t now, gate_slot_t **slot_p,
                                    uint8_t label[WEFT_AUTH_LABEL])
{
    weft_status_t status = WEFT_OK;
    for (uint32_t i = 0; i < GATE_SLOTS && status == WEFT_OK && *slot_p == NULL; i++) {
        status = gate_accept(gate, door, now);
        if (gate->used == GATE_SLOTS) {
            *slot_p = gate_sweep(gate, now, label);
        }
    }
    return status == WEFT_AGAIN ? WEFT_OK : status;
}

weft_status_t gate_poll(gate_t *gate, int *fd_p, uint8_t label[WEFT_AUTH_LABEL])
{
    uint64_t now = gate->host->clock_ns(gate->host);
    weft_status_t status = WEFT_OK;
    gate_slot_t *slot = NULL;
    for (uint32_t i = 0; i < gate->doors && status == WEFT_OK && slot == NULL; i++) {
        status = gate_door_poll(gate, gate->fds[i], now, &slot, label);
    }
    if (slot == NULL) {
        slot = gate_sweep(gate, now, label);
    }
    gate_report(gate, now);
    if (slot != NULL) {
        *fd_p = slot->fd;
        gate_release(gate, slot);
        return WEFT_OK;
    }
    return status == WEFT_OK ? WEFT_AGAIN : status;
}

void gate_fini(gate_t *gate)
{
    for (uint32_t i = 0; i < GATE_SLOTS; i++) {
        if (gate->slots[i].fd >= 0) {
            gate_drop(gate, &gate->slots[i]);
        }
    }
    while (gate->doors > 0) {
        int fd = gate->fds[--gate->doors];
        if (gate->watch >= 0) {
            /* A forked child may hold the socket open, and with it the watch. */
            epoll_ctl(gate->watch, EPOLL_CTL_DEL, fd, NULL);
        }
        close(fd);
    }
}
