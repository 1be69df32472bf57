/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the layer knows of a net plugin: its instances, devices, listeners and connections, each
 * behind a struct of the layer's own that the core takes for the plugin's. */
#ifndef WEFT_CHECK_CHECK_NET_STATE_H
#define WEFT_CHECK_CHECK_NET_STATE_H

#include <stdbool.h>

#include "core/check/check_layer.h"
#include "core/os/os.h"

/* Operations of one direction of a connection that may be open; a power of two. Each message is
 * followed by one of the layer's own, its digest. */
#define WEFT_CHECK_OPEN 256u

/* What the sender says of the message before it. */
#define WEFT_CHECK_DIGEST UINT64_C(0x7765667464696765)
typedef struct weft_check_digest {
    uint64_t magic;
    uint64_t number; /* of the message, from 0 */
    uint64_t bytes;
    uint64_t sum;
    uint64_t summed; /* 1: `sum` is filled; 0: the message is not in host memory */
    uint64_t reserved[3];
} weft_check_digest_t;
_Static_assert(sizeof(weft_check_digest_t) == 64, "layout");

/* One operation that was posted. Its address is the context that the plugin gets. */
typedef struct weft_check_op {
    weft_net_op_t op;    /* as the core posted it */
    const void *payload; /* apart from the buffer, or NULL */
    uint64_t apart;      /* its bytes */
    uint64_t header;     /* of a receive that was placed: bytes before the payload */
    uint64_t sum;        /* of a send, when it was posted */
    uint64_t got;
    uint64_t since; /* when it was done */
    weft_status_t status;
    bool done;
    bool on_host;
} weft_check_op_t;

/* Both counters run freely. Messages have even numbers, their digests the odd ones behind them. */
typedef struct weft_check_queue {
    uint32_t head; /* oldest that was not given to the core */
    uint32_t done; /* first that the plugin has not completed */
    uint32_t tail; /* next to be posted */
    bool owes;     /* the digest of the last message could not be posted yet */
    weft_check_op_t ops[WEFT_CHECK_OPEN];
    weft_check_digest_t *digests; /* WEFT_CHECK_OPEN / 2 */
} weft_check_queue_t;

struct weft_net_region {
    weft_check_t *check;
    weft_net_region_t *own;
    bool on_host;
};

struct weft_net {
    weft_check_t *check;
    weft_net_t *own;
    weft_os_mutex_t lock; /* of the list */
    weft_net_device_t *devices;
    /* The plugin's extensions, and the tables that the core gets for them. */
    const weft_net_map_t *own_map;
    const weft_net_attach_t *own_attach;
    const weft_net_payload_t *own_payload;
    const weft_net_dmabuf_t *own_dmabuf;
    const weft_net_describe_t *own_describe;
    weft_net_map_t map;
};

struct weft_net_device {
    weft_net_t *net;
    weft_net_device_t *own;
    weft_net_device_t *next;
    weft_os_mutex_t lock; /* of the list: connections come from the thread of the listener too */
    weft_net_conn_t *conns;
};

struct weft_net_listener {
    weft_net_device_t *device;
    weft_net_listener_t *own;
};

struct weft_net_conn {
    weft_net_device_t *device;
    weft_net_conn_t *next;
    weft_net_conn_t *own;
    bool connector, ready;
    uint8_t label[WEFT_AUTH_LABEL];
    uint64_t map_bytes;
    uint64_t cancelled;        /* time; 0: not */
    weft_net_region_t *region; /* of the digests, the plugin's */
    weft_check_queue_t send, receive;
    weft_check_digest_t *memory; /* of both queues; NULL until something is posted */
};

#endif
