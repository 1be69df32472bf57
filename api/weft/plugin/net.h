/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ABI of net plugins: transports. Implemented by plugins/net-<name>, called by the core.
 *
 * A transport speaks of peers, regions and bytes: no rank graph, channel or algorithm crosses this
 * table. Lives: plugin instance (create … destroy) ⊃ device ⊃ listener, connection ⊃ region.
 * The core closes inner objects first. A connection carries both directions, reliable and ordered.
 *
 * A plugin offers messages (post and poll), or mapped memory (extension WEFT_NET_MAP), or both;
 * `caps` says which. With both the core uses the mapped memory. */
#ifndef WEFT_PLUGIN_NET_H
#define WEFT_PLUGIN_NET_H

#include <weft/plugin/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_net weft_net_t;                   /* plugin instance */
typedef struct weft_net_device weft_net_device_t;     /* one opened device */
typedef struct weft_net_listener weft_net_listener_t; /* accepts connections */
typedef struct weft_net_conn weft_net_conn_t;         /* one connection to one peer */
typedef struct weft_net_region weft_net_region_t;     /* registered memory */

#define WEFT_NET_CAP_MESSAGES 1u /* post and poll are filled */
#define WEFT_NET_CAP_MAP 2u      /* get_extension(WEFT_NET_MAP) is filled */

#define WEFT_MEMORY_HOST 1u /* memory kinds, a bit mask */
#define WEFT_MEMORY_CUDA 2u

/* What a device can do. Figures are used by the cost model, never for correctness. */
typedef struct weft_net_props {
    size_t size;
    char name[64];            /* e.g. "eth0" or "mlx5_0:1" */
    char pci[32];             /* PCI address "0000:3b:00.0", empty if none */
    uint32_t rail;            /* devices of one rail reach each other directly */
    uint32_t memory_kinds;    /* WEFT_MEMORY_* that buffers may be in */
    uint64_t latency_ns;      /* one small message, one way */
    uint64_t bandwidth;       /* bytes per second and direction of one connection */
    uint64_t ordering_bytes;  /* a received message becomes visible in units of this many bytes in
                                 order; 0 = only the completion says anything */
    uint32_t flush_needed;    /* 1: device memory needs a flush after a completion */
    uint32_t max_outstanding; /* posted operations per connection and direction */
    uint64_t inline_bytes;    /* sends up to here are copied at post and cost no registration */
    uint64_t max_message;     /* bytes of the largest message, at least 1 MiB */
    uint64_t slot_bytes;      /* piece size that reaches most of the bandwidth; the core's FIFO
                                 slots are at least this large when such connections are used */
    uint32_t slots;           /* FIFO depth that covers latency × bandwidth, at least 2 */
    uint64_t overhead_ns; /* part of the latency that each of many small messages in a row costs;
                                 0 = a quarter */
} weft_net_props_t;

/* Where a listener can be reached: opaque bytes that the core carries to other ranks. */
#define WEFT_NET_ADDRESS_MAX 252
typedef struct weft_net_address {
    uint32_t bytes; /* used bytes of data */
    uint8_t data[WEFT_NET_ADDRESS_MAX];
} weft_net_address_t;

/* What the connector asks for. */
typedef struct weft_net_conn_params {
    size_t size;
    uint8_t label[WEFT_AUTH_LABEL]; /* told to the acceptor under the authentication; opaque */
    uint64_t map_bytes;             /* CAP_MAP: bytes of shared memory wanted; else 0 */
} weft_net_conn_params_t;

/* What is known of a connection once it is ready. */
typedef struct weft_net_conn_info {
    size_t size;
    uint8_t label[WEFT_AUTH_LABEL]; /* as given by the connector, on both sides */
    uint32_t connector;             /* 1 on the side that called connect_begin */
    char peer[128];                 /* for messages, e.g. "10.0.0.7:4711" or "pid 4242" */
} weft_net_conn_info_t;

/* One posted operation. The n-th receive of a connection takes the n-th send of its peer. */
#define WEFT_NET_SEND 1u
#define WEFT_NET_RECV 2u
typedef struct weft_net_op {
    uint32_t kind;             /* WEFT_NET_SEND or WEFT_NET_RECV */
    uint32_t reserved;         /* 0 */
    void *buffer;              /* the caller's until completion; a send does not write to it */
    uint64_t bytes;            /* to send, or room to receive; 0 is a valid message */
    weft_net_region_t *region; /* registration that covers buffer, or NULL */
    void *context;             /* given back in the completion */
} weft_net_op_t;

/* One completion. Every posted operation completes exactly once. */
typedef struct weft_net_completion {
    void *context;
    weft_status_t status;  /* OK: a send's buffer may be reused, a receive's bytes are there;
                              ERR_ABORTED: cancelled; ERR_LINK, ERR_PEER_DEAD, ERR_PROTO (message
                              longer than the room): the connection is unusable */
    uint32_t kind;         /* as posted */
    uint64_t bytes;        /* transferred */
    weft_net_conn_t *conn; /* of the operation */
} weft_net_completion_t;

typedef struct weft_net_ops {
    size_t size;
    uint32_t caps;     /* WEFT_NET_CAP_* */
    uint32_t reserved; /* 0 */

    /* What: makes an instance with the parsed `config` (config_size bytes, valid until destroy).
     * Failure: any, error set. Ownership: the core's, until destroy. May block: briefly (device
     * query). Thread: [any]; instances share nothing. */
    weft_status_t (*create)(const weft_host_t *host, const void *config, weft_net_t **net_p);

    /* What: frees the instance; all devices are closed before. NULL is allowed. Thread: [control]. */
    void (*destroy)(weft_net_t *net);

    /* What: number of usable devices; 0 is no error. Thread: [control]. */
    weft_status_t (*device_count)(weft_net_t *net, uint32_t *count_p);

    /* What: fills props->size bytes of `props` for device `index`. Thread: [control]. */
    weft_status_t (*device_props)(weft_net_t *net, uint32_t index, weft_net_props_t *props);

    /* What: opens a device. Failure: ERR_RESOURCE, ERR_SYSTEM. Ownership: the core's, until
     * device_close. May block: briefly. Thread: [control]. */
    weft_status_t (*device_open)(weft_net_t *net, uint32_t index, weft_net_device_t **device_p);

    /* What: closes it; its connections and listeners are closed before. Thread: [control]. */
    void (*device_close)(weft_net_device_t *device);

    /* What: starts to accept connections and tells the address for peers. Failure: ERR_RESOURCE,
     * ERR_SYSTEM. Ownership: the core's, until listener_close. Blocks: no. Thread: [control]. */
    weft_status_t (*listen)(weft_net_device_t *device, weft_net_address_t *address_p,
                            weft_net_listener_t **listener_p);

    /* What: stops listening; accepted connections live on. Thread: [control]. */
    void (*listener_close)(weft_net_listener_t *listener);

    /* What: says whether this device can connect to `address`, from the address alone.
     * Returns: OK, or ERR_UNSUPPORTED (not a fault: the core tries the next transport), or
     * ERR_PROTO for bytes that are no address of this plugin. Thread: [any]. */
    weft_status_t (*reachable)(weft_net_device_t *device, const weft_net_address_t *address);

    /* What: starts to connect; `address` and `params` may vanish after the call. The connection is
     * usable when connect_poll says OK. Failure: ERR_LINK, ERR_RESOURCE. Ownership: the core's, until
     * conn_close. Blocks: no. Thread: [progress] of the device. */
    weft_status_t (*connect_begin)(weft_net_device_t *device, const weft_net_address_t *address,
                                   const weft_net_conn_params_t *params, weft_net_conn_t **conn_p);

    /* What: advances a connection under way. Returns: OK (ready and authenticated), IN_PROGRESS, or
     * a failure (then only conn_close is legal): ERR_LINK, ERR_AUTH, ERR_RESOURCE. The core sets the
     * deadline by giving up. Thread: [progress]. */
    weft_status_t (*connect_poll)(weft_net_conn_t *conn);

    /* What: gives out the next connection that finished its handshake. Strangers and broken
     * handshakes are dropped in silence (a log line at most), never more than 64 at once are held,
     * each for at most 2 s. Returns: OK, AGAIN (none now), or a failure of the listener itself.
     * Ownership: the core's, until conn_close. Blocks: no. Thread: [progress]. */
    weft_status_t (*accept)(weft_net_listener_t *listener, weft_net_conn_t **conn_p);

    /* What: fills info->size bytes about a ready connection. Thread: [any]. */
    weft_status_t (*conn_info)(weft_net_conn_t *conn, weft_net_conn_info_t *info);

    /* What: looks whether the peer is still there; called now and then while waiting. Returns: OK or
     * ERR_PEER_DEAD / ERR_LINK. Blocks: no. Thread: [progress]. */
    weft_status_t (*conn_check)(weft_net_conn_t *conn);

    /* What: closes at once and frees; operations not completed yet never complete. NULL is allowed.
     * Blocks: no. Thread: [progress]. */
    void (*conn_close)(weft_net_conn_t *conn);

    /* CAP_MESSAGES ------------------------------------------------------------------------------ */

    /* What: posts up to `count` operations, in order. *posted_p says how many were taken.
     * Returns: OK (all), AGAIN (fewer: no resources now), or a failure of the connection.
     * Ownership: buffers are the plugin's until completion. Blocks: no. Thread: [progress]. */
    weft_status_t (*post)(weft_net_conn_t *conn, const weft_net_op_t *ops, uint32_t count,
                          uint32_t *posted_p);

    /* What: makes progress on all connections of the device and gives out up to `max` completions.
     * Returns: OK with *count_p of them, 0 included. A failure of one connection is in the
     * completions of its operations. Blocks: no. Thread: [progress]. */
    weft_status_t (*poll)(weft_net_device_t *device, weft_net_completion_t *completions,
                          uint32_t max, uint32_t *count_p);

    /* What: makes all outstanding operations of the connection complete (ERR_ABORTED, or as they
     * were already done) in the next polls, within 100 ms; the connection is then unusable.
     * Thread: [progress]. */
    weft_status_t (*cancel)(weft_net_conn_t *conn);

    /* Optional from here -------------------------------------------------------------------------- */

    /* What: arms a notification and tells a file descriptor that becomes readable when poll() or
     * accept() may have something. Returns: OK, or AGAIN when there is something already.
     * Ownership: the descriptor is the plugin's. Thread: [progress]. */
    weft_status_t (*wait_fd)(weft_net_device_t *device, int *fd_p);

    /* What: registers memory for posts on connections of this device. Failure: ERR_RESOURCE (with
     * the limit's name and a remedy in the text). Ownership: the core's, until dereg. May block:
     * yes, pinning takes time. Thread: [control]. */
    weft_status_t (*reg)(weft_net_device_t *device, void *memory, uint64_t bytes,
                         uint32_t memory_kind, weft_net_region_t **region_p);

    /* What: ends a registration; no operation uses it any more. Thread: [control]. */
    void (*dereg)(weft_net_region_t *region);

    /* What: looks up an extension table by name. Failure: NULL. Ownership: the plugin's, constant.
     * Thread: [any]. */
    const void *(*get_extension)(weft_net_t *net, const char *name);
} weft_net_ops_t;

/* Extension "weft.net.map/1": memory that both ends of a connection can load and store. */
#define WEFT_NET_MAP "weft.net.map/1"
typedef struct weft_net_map {
    size_t size;
    /* What: tells where the shared memory of a ready connection is mapped here. Both sides see the
     * same bytes, at different addresses, at least params.map_bytes long, page aligned, zeroed when
     * the connection became ready. Failure: ERR_STATE (not ready). Ownership: the connection's;
     * gone with conn_close. Blocks: no. Thread: [any]. */
    weft_status_t (*region)(weft_net_conn_t *conn, void **base_p, uint64_t *bytes_p);
} weft_net_map_t;

/* Extension "weft.net.attach/1": connections that change their device. A family of communicators shares
 * one listener, and each communicator that carries messages drives a device of its own, so that threads
 * never meet in poll(). Without it a transport of messages serves the first communicator only. */
#define WEFT_NET_ATTACH "weft.net.attach/1"
typedef struct weft_net_attach {
    size_t size;
    /* What: moves an accepted connection, on which nothing was posted yet, to another device of the same
     * instance. Failure: ERR_STATE (not ready, or in use). Blocks: no. Thread: [progress] of both
     * devices. */
    weft_status_t (*attach)(weft_net_conn_t *conn, weft_net_device_t *device);
} weft_net_attach_t;

/* Extension "weft.net.dmabuf/1": memory of another device (a GPU), registered by its dma-buf. */
#define WEFT_NET_DMABUF "weft.net.dmabuf/1"
typedef struct weft_net_dmabuf_range {
    size_t size;
    int fd;               /* of the dma-buf; may be closed after the call */
    uint32_t memory_kind; /* WEFT_MEMORY_* */
    uint64_t offset;      /* in the dma-buf */
    uint64_t bytes;
    uint64_t address; /* by which posts name the first byte */
} weft_net_dmabuf_range_t;
typedef struct weft_net_dmabuf {
    size_t size;
    /* What, failure, ownership, thread: as weft_net_ops_t.reg; ERR_UNSUPPORTED if this device cannot. */
    weft_status_t (*reg)(weft_net_device_t *device, const weft_net_dmabuf_range_t *range,
                         weft_net_region_t **region_p);
} weft_net_dmabuf_t;

/* Extension "weft.net.describe/1": more about a device than the properties hold. */
#define WEFT_NET_DESCRIBE "weft.net.describe/1"
typedef struct weft_net_describe {
    size_t size;
    /* What: writes lines of text for people about device `index`, at most `bytes` with the zero byte, each
     * line ended by a newline. Failure: ERR_ARG. Blocks: no. Thread: [control]. */
    weft_status_t (*describe)(weft_net_t *net, uint32_t index, char *text, size_t bytes);
} weft_net_describe_t;

#ifdef __cplusplus
}
#endif
#endif
