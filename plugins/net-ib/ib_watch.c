/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a device's epoll descriptor watches. */
#include "ib_watch.h"

#include <errno.h>
#include <sys/epoll.h>

bool ib_device_watch(weft_net_device_t *device, int verb, int fd, uint32_t events,
                     ib_watch_t *watch)
{
    struct epoll_event event = {.events = events, .data = {.ptr = watch}};
    /* Ports of one adapter share the descriptor of its events. */
    if (epoll_ctl(device->epoll, verb, fd, &event) == 0 || errno == EEXIST ||
        verb == EPOLL_CTL_DEL) {
        return true;
    }
    device->unwatched = errno;
    return false;
}
