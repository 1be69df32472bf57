/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The watch of a device: one epoll descriptor for the listener and for the connections that are
 * being made. A look marks those that have something to read; the others cost nothing. Nothing
 * here blocks. */
#ifndef WEFT_PLUGINS_NET_SHM_WATCH_H
#define WEFT_PLUGINS_NET_SHM_WATCH_H

#include "shm_instance.h"

/* Embedded in a connection. All zero: not watched. */
typedef struct shm_watched {
    weft_net_device_t *device; /* NULL: not watched */
    bool readable;             /* seen by a look, until the owner has read */
    uint64_t looks;            /* of the device, when the owner last asked */
    uint64_t again_ns;         /* the owner tries at this time whatever the watch says */
} shm_watched_t;

/* Opens the watch of a device. ERR_RESOURCE. */
weft_status_t shm_watch_open(weft_net_device_t *device);
void shm_watch_close(weft_net_device_t *device);

/* Begins to watch a socket, which counts as readable at first. */
void shm_watch_add(weft_net_device_t *device, int fd, shm_watched_t *watched);
/* Ends it, before the socket is closed. Does nothing if it is not watched. */
void shm_watch_remove(int fd, shm_watched_t *watched);

/* Looks at all sockets at once. */
void shm_watch_look(weft_net_device_t *device);
/* Tells whether the owner of the socket should try. Owners that ask in turn share one look. */
bool shm_watch_is_due(shm_watched_t *watched);
/* Notes that the owner has tried and waits for more. */
void shm_watch_wait(shm_watched_t *watched);

weft_status_t shm_wait_fd(weft_net_device_t *device, int *fd_p);

#endif
