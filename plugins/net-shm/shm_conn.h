/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections of both ends. Nothing here blocks. */
#ifndef WEFT_PLUGINS_NET_SHM_CONN_H
#define WEFT_PLUGINS_NET_SHM_CONN_H

#include <weft/sdk/acceptor.h>

#include "shm_memory.h"
#include "shm_watch.h"

struct weft_net_conn {
    const weft_host_t *host;
    weft_net_device_t *device; /* connector only */
    weft_net_conn_t *next;     /* in the listener's list, until accept() gives it out */
    uint32_t step;
    int fd;               /* stays open: it ends when the peer ends */
    uint32_t done;        /* bytes of the current record */
    uint64_t deadline_ns; /* acceptor only, until ready */
    uint32_t record[4];
    shm_memory_t memory;
    shm_watched_t watched; /* until ready */
    struct sockaddr_un name;
    weft_handshake_t handshake;
    weft_net_conn_info_t info;
};

weft_status_t shm_connect_begin(weft_net_device_t *device, const weft_net_address_t *address,
                                const weft_net_conn_params_t *params, weft_net_conn_t **conn_p);
weft_status_t shm_connect_poll(weft_net_conn_t *conn);
weft_status_t shm_conn_info(weft_net_conn_t *conn, weft_net_conn_info_t *info);
weft_status_t shm_conn_check(weft_net_conn_t *conn);
void shm_conn_close(weft_net_conn_t *conn);
weft_status_t shm_conn_region(weft_net_conn_t *conn, void **base_p, uint64_t *bytes_p);
weft_status_t shm_conn_commit(weft_net_conn_t *conn, uint64_t offset, uint64_t bytes);
void shm_conn_discard(weft_net_conn_t *conn, uint64_t offset, uint64_t bytes);

/* Makes the acceptor's end over an authenticated socket, which it owns in any case. */
weft_status_t shm_conn_adopt(weft_net_device_t *device, int fd,
                             const uint8_t label[WEFT_AUTH_LABEL], weft_net_conn_t **conn_p);
/* Advances the acceptor's end. Returns OK, IN_PROGRESS or a failure. */
weft_status_t shm_conn_join(weft_net_conn_t *conn);

#endif
