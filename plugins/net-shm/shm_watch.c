/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The watch of a device. Events are level-triggered: what a look leaves out comes with the next. */
#include "shm_watch.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define BATCH 64
/* A connection is tried at least this often, for what no event tells: a full backlog, say. */
#define AGAIN_NS UINT64_C(2000000)

weft_status_t shm_watch_open(weft_net_device_t *device)
{
    device->watch = epoll_create1(EPOLL_CLOEXEC);
    if (device->watch < 0) {
        return device->host->set_error(device->host, WEFT_ERR_RESOURCE, errno,
                                       "cannot watch sockets");
    }
    return WEFT_OK;
}

void shm_watch_close(weft_net_device_t *device)
{
    close(device->watch);
}

void shm_watch_add(weft_net_device_t *device, int fd, shm_watched_t *watched)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data = {.ptr = watched}};
    *watched = (shm_watched_t){.readable = true};
    if (epoll_ctl(device->watch, EPOLL_CTL_ADD, fd, &event) == 0) {
        watched->device = device;
    }
}

void shm_watch_remove(int fd, shm_watched_t *watched)
{
    /* Explicitly: a copy of the descriptor in a forked child would keep it in the watch. */
    if (watched->device != NULL) {
        epoll_ctl(watched->device->watch, EPOLL_CTL_DEL, fd, NULL);
        watched->device = NULL;
    }
}

void shm_watch_look(weft_net_device_t *device)
{
    struct epoll_event events[BATCH];
    int count = epoll_wait(device->watch, events, BATCH, 0);
    device->looks++;
    for (int i = 0; i < count; i++) {
        shm_watched_t *watched = events[i].data.ptr;
        if (watched != NULL) {
            watched->readable = true;
        } else {
            device->knocked = true;
        }
    }
}

bool shm_watch_is_due(shm_watched_t *watched)
{
    weft_net_device_t *device = watched->device;
    if (device == NULL || watched->readable) {
        return true;
    }
    if (watched->looks == device->looks) {
        shm_watch_look(device);
    }
    watched->looks = device->looks;
    return watched->readable || device->host->clock_ns(device->host) >= watched->again_ns;
}

void shm_watch_wait(shm_watched_t *watched)
{
    weft_net_device_t *device = watched->device;
    if (device != NULL) {
        watched->readable = false;
        watched->looks = device->looks;
        watched->again_ns = device->host->clock_ns(device->host) + AGAIN_NS;
    }
}

weft_status_t shm_wait_fd(weft_net_device_t *device, int *fd_p)
{
    *fd_p = device->watch;
    return device->knocked ? WEFT_AGAIN : WEFT_OK;
}
