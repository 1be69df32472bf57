/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The instance of net-shm and its one device. */
#ifndef WEFT_PLUGINS_NET_SHM_INSTANCE_H
#define WEFT_PLUGINS_NET_SHM_INSTANCE_H

#include "shm_address.h"

typedef struct shm_config {
    uint64_t slot_bytes;
    int64_t slots;
    const char *domain;
} shm_config_t;

struct weft_net {
    const weft_host_t *host;
    shm_config_t config;
    bool available;    /* `own` is known, and memory may be made; else there is no device */
    shm_address_t own; /* without a token */
};

/* One watch serves the listener and all connections that are being made, so that whoever waits
 * for them sleeps in one place and looks only after those that have something (shm_watch.h). */
struct weft_net_device {
    const weft_host_t *host;
    weft_net_t *net;
    int watch;      /* epoll descriptor */
    bool knocked;   /* the listener has something to do */
    uint64_t looks; /* at the watch so far */
};

#endif
