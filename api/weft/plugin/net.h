/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ABI of net plugins: transports. The plugins plugins/net-<name> implement it, the core calls it.
 *
 * A transport knows peers, memory regions and bytes. It does not know ranks, channels or
 * algorithms. Lifetimes nest: a plugin instance (create to destroy) contains devices, a device
 * contains listeners and connections, and a device also contains the regions registered with it.
 * The core closes inner objects first. A connection carries both directions and is reliable and
 * ordered.
 *
 * A plugin offers messages (post and poll), mapped memory (extension WEFT_NET_MAP), or both.
 * `caps` says which. If it offers both, the core uses the mapped memory. */
#ifndef WEFT_PLUGIN_NET_H
#define WEFT_PLUGIN_NET_H

#include <weft/plugin/memory_kind.h>
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

/* Properties of a device. The cost model uses the figures; correctness never depends on them. */
typedef struct weft_net_props {
    size_t size;
    /* Name, e.g. "eth0" or "mlx5_0:1". */
    char name[64];
    /* PCI address "0000:3b:00.0", empty if it has none. */
    char pci[32];
    /* Number of the rail. Devices of one rail reach each other directly. */
    uint32_t rail;
    /* WEFT_MEMORY_* kinds that buffers may be in. */
    uint32_t memory_kinds;
    /* One-way latency of a small message. */
    uint64_t latency_ns;
    /* Bytes per second and direction of one connection. */
    uint64_t bandwidth;
    /* A received message becomes visible in order, in units of this many bytes. 0: only the
     * completion says that data is there. */
    uint64_t ordering_bytes;
    /* 1: device memory needs a flush after a completion. */
    uint32_t flush_needed;
    /* Posted operations per connection and direction that may be outstanding. */
    uint32_t max_outstanding;
    /* Sends of up to this many bytes are copied at post and need no registration. */
    uint64_t inline_bytes;
    /* Bytes of the largest message; at least 1 MiB. */
    uint64_t max_message;
    /* Bytes of a message that reaches most of the bandwidth. The core's FIFO slots are at least
     * this large on such connections. */
    uint64_t slot_bytes;
    /* FIFO depth that covers latency * bandwidth; at least 2. */
    uint32_t slots;
    /* Part of the latency that each of many small messages in a row costs. 0 = a quarter. */
    uint64_t overhead_ns;
    /* Bandwidth and overhead between ranks of one host, where nothing passes the device. Each end
     * of a message keeps a core busy for the overhead. 0 = those above. Since 1.2. */
    uint64_t local_bandwidth;
    uint64_t local_overhead_ns;
} weft_net_props_t;

/* Address of a listener. The core carries the bytes to other ranks and does not interpret them. */
#define WEFT_NET_ADDRESS_MAX 252
typedef struct weft_net_address {
    uint32_t bytes; /* used bytes of data */
    uint8_t data[WEFT_NET_ADDRESS_MAX];
} weft_net_address_t;

/* Request of the connector. */
typedef struct weft_net_conn_params {
    size_t size;
    uint8_t label[WEFT_AUTH_LABEL]; /* opaque bytes for the acceptor, sent authenticated */
    uint64_t map_bytes;             /* CAP_MAP: bytes of shared memory wanted; else 0 */
    /* CAP_MAP: bytes at the start of the shared memory that are committed when the connection is
     * ready. The rest is mapped and is committed by weft_net_map_t.commit. A plugin without that
     * function commits everything, as it does if `size` ends before this field. */
    uint64_t commit_bytes;
} weft_net_conn_params_t;

/* Properties of a connection that is ready. */
typedef struct weft_net_conn_info {
    size_t size;
    uint8_t label[WEFT_AUTH_LABEL]; /* as given by the connector, on both sides */
    uint32_t connector;             /* 1 on the side that called connect_begin */
    char peer[128];                 /* for texts, e.g. "10.0.0.7:4711" or "pid 4242" */
} weft_net_conn_info_t;

/* One operation to post. The n-th receive of a connection takes the n-th send of its peer. */
#define WEFT_NET_SEND 1u
#define WEFT_NET_RECV 2u
typedef struct weft_net_op {
    uint32_t kind;             /* WEFT_NET_SEND or WEFT_NET_RECV */
    uint32_t reserved;         /* 0 */
    void *buffer;              /* data to send, or room to receive; a send does not write to it */
    uint64_t bytes;            /* length of the buffer; 0 is a valid message */
    weft_net_region_t *region; /* registration that covers the buffer, or NULL */
    void *context;             /* user data, returned in the completion */
} weft_net_op_t;

/* One completion. Every posted operation completes exactly once. */
typedef struct weft_net_completion {
    /* As posted. */
    void *context;
    /* OK: a send's buffer may be reused, or a receive's bytes are there. ERR_ABORTED: cancelled.
     * ERR_LINK, ERR_PEER_DEAD, ERR_PROTO (the message was longer than the buffer): the connection
     * is unusable. */
    weft_status_t status;
    /* As posted. */
    uint32_t kind;
    /* Bytes transferred. */
    uint64_t bytes;
    /* Connection of the operation. */
    weft_net_conn_t *conn;
} weft_net_completion_t;

typedef struct weft_net_ops {
    size_t size;
    uint32_t caps;     /* WEFT_NET_CAP_* */
    uint32_t reserved; /* 0 */

    /* Creates an instance with the parsed `config`, which is config_size bytes long and valid
     * until destroy(). The core owns the instance until destroy(). Instances share nothing.
     * Errors: any error.
     * Blocking: briefly, to query devices. Thread: [any]. */
    weft_status_t (*create)(const weft_host_t *host, const void *config, weft_net_t **net_p);

    /* Frees the instance. All its devices are closed. NULL is allowed.
     * Blocking: no. Thread: [control]. */
    void (*destroy)(weft_net_t *net);

    /* Stores the number of usable devices. 0 is not an error.
     * Blocking: no. Thread: [control]. */
    weft_status_t (*device_count)(weft_net_t *net, uint32_t *count_p);

    /* Fills props->size bytes of `props` for device `index`, counted from 0.
     * Blocking: no. Thread: [control]. */
    weft_status_t (*device_props)(weft_net_t *net, uint32_t index, weft_net_props_t *props);

    /* Opens device `index`. The core owns the device until device_close().
     * Errors: ERR_RESOURCE, ERR_SYSTEM.
     * Blocking: briefly. Thread: [control]. */
    weft_status_t (*device_open)(weft_net_t *net, uint32_t index, weft_net_device_t **device_p);

    /* Closes a device and frees it. Its connections and listeners are closed.
     * Blocking: no. Thread: [control]. */
    void (*device_close)(weft_net_device_t *device);

    /* Starts to accept connections and stores the address for the peers. The core owns the
     * listener until listener_close().
     * Errors: ERR_RESOURCE, ERR_SYSTEM.
     * Blocking: no. Thread: [control]. */
    weft_status_t (*listen)(weft_net_device_t *device, weft_net_address_t *address_p,
                            weft_net_listener_t **listener_p);

    /* Stops listening and frees the listener. Accepted connections stay open.
     * Blocking: no. Thread: [control]. */
    void (*listener_close)(weft_net_listener_t *listener);

    /* Tells whether the device can connect to `address`, judging by the address alone.
     * Errors: ERR_UNSUPPORTED (cannot connect; the core tries the next transport), ERR_PROTO (the
     * bytes are not an address of this plugin).
     * Blocking: no. Thread: [any]. */
    weft_status_t (*reachable)(weft_net_device_t *device, const weft_net_address_t *address);

    /* Starts to connect. `address` and `params` are valid during the call only. The connection is
     * usable once connect_poll() returns OK. The core owns it until conn_close().
     * Errors: ERR_LINK, ERR_PROTO (the bytes are not an address of this plugin), ERR_RESOURCE.
     * Blocking: no. Thread: [progress] of the device. */
    weft_status_t (*connect_begin)(weft_net_device_t *device, const weft_net_address_t *address,
                                   const weft_net_conn_params_t *params, weft_net_conn_t **conn_p);

    /* Advances a connection that is being established. Returns OK when it is ready and
     * authenticated, or IN_PROGRESS. After an error only conn_close() is legal. The core enforces
     * the deadline by closing the connection.
     * Errors: ERR_LINK, ERR_AUTH, ERR_PROTO (the peer does not keep to the protocol), ERR_RESOURCE,
     * ERR_SYSTEM.
     * Blocking: no. Thread: [progress]. */
    weft_status_t (*connect_poll)(weft_net_conn_t *conn);

    /* Stores the next connection that has finished its handshake, or returns AGAIN if there is
     * none. The core owns the connection until conn_close(). Peers that fail the handshake are
     * dropped, with a log line at most. The listener holds at most 64 pending peers, each for at
     * most 2 s. The core calls it again until it returns AGAIN, so the descriptor of wait_fd() need
     * not tell of connections that are finished and were not returned yet.
     * Errors: any error of the listener itself.
     * Blocking: no. Thread: [progress]. */
    weft_status_t (*accept)(weft_net_listener_t *listener, weft_net_conn_t **conn_p);

    /* Fills info->size bytes about a ready connection.
     * Blocking: no. Thread: [any]. */
    weft_status_t (*conn_info)(weft_net_conn_t *conn, weft_net_conn_info_t *info);

    /* Checks whether the peer is still there. The core calls it now and then while it waits.
     * Errors: ERR_PEER_DEAD, ERR_LINK, ERR_PROTO (it sent what it must not).
     * Blocking: no. Thread: [progress]. */
    weft_status_t (*conn_check)(weft_net_conn_t *conn);

    /* Closes the connection at once and frees it. Operations still in flight never complete. NULL
     * is allowed.
     * Blocking: no. Thread: [progress]. */
    void (*conn_close)(weft_net_conn_t *conn);

    /* CAP_MESSAGES ----------------------------------------------------------------------------- */

    /* Posts up to `count` operations, in order, and stores the number taken in *posted_p. Returns
     * OK if all were taken, AGAIN if fewer were because resources are short now. The plugin owns
     * the buffers until completion.
     * Errors: any error of the connection.
     * Blocking: no. Thread: [progress]. */
    weft_status_t (*post)(weft_net_conn_t *conn, const weft_net_op_t *ops, uint32_t count,
                          uint32_t *posted_p);

    /* Makes progress on all connections of the device and stores up to `max` completions; *count_p
     * is their number and may be 0. The completions of its operations report the failure of a
     * connection; a call gives those of one that failed, and its reason is the thread's error.
     * Errors: any error of the device itself.
     * Blocking: no. Thread: [progress]. */
    weft_status_t (*poll)(weft_net_device_t *device, weft_net_completion_t *completions,
                          uint32_t max, uint32_t *count_p);

    /* Cancels all outstanding operations of the connection. The next polls return their
     * completions within 100 ms, with ERR_ABORTED or with their result if they were done. The
     * connection is then unusable.
     * Blocking: no. Thread: [progress]. */
    weft_status_t (*cancel)(weft_net_conn_t *conn);

    /* Optional from here ----------------------------------------------------------------------- */

    /* Arms a notification and stores a file descriptor that becomes readable when poll() or
     * accept() may have something, or connect_poll() of a connection of the device can go on.
     * Returns AGAIN if there is something already. The plugin owns the descriptor.
     * Errors: ERR_RESOURCE (the system does not watch all that there is: the caller looks now and
     * then instead of sleeping on the descriptor).
     * Blocking: no. Thread: [progress]. */
    weft_status_t (*wait_fd)(weft_net_device_t *device, int *fd_p);

    /* Registers memory for posts on connections of the device. The core owns the region until
     * dereg().
     * Errors: ERR_RESOURCE (the text names the limit and a remedy).
     * Blocking: while the memory is pinned. Thread: [control]. */
    weft_status_t (*reg)(weft_net_device_t *device, void *memory, uint64_t bytes,
                         uint32_t memory_kind, weft_net_region_t **region_p);

    /* Ends a registration. No operation uses the region any longer.
     * Blocking: no. Thread: [control]. */
    void (*dereg)(weft_net_region_t *region);

    /* Looks up an extension table by name. Returns NULL if the plugin does not have it. The plugin
     * owns the table, which is constant.
     * Blocking: no. Thread: [any]. */
    const void *(*get_extension)(weft_net_t *net, const char *name);
} weft_net_ops_t;

/* Extension "weft.net.map/1": memory that both ends of a connection can load from and store to. */
#define WEFT_NET_MAP "weft.net.map/1"
typedef struct weft_net_map {
    size_t size;

    /* Stores the address and the size of the shared memory of a ready connection in this process.
     * Both sides see the same bytes, at different addresses. The memory is page aligned, at least
     * params.map_bytes long, and was zeroed when the connection became ready. The connection owns
     * it, until conn_close().
     * Errors: ERR_STATE (not ready).
     * Blocking: no. Thread: [any]. */
    weft_status_t (*region)(weft_net_conn_t *conn, void **base_p, uint64_t *bytes_p);

    /* Optional from here. Both or neither. */

    /* Makes sure that a range of the shared memory has pages, so that stores to it cannot fail.
     * Pages that exist keep their bytes, new ones are zero. Either side may commit; what one has
     * committed exists for the other.
     * Errors: ERR_RESOURCE (no memory is left; the text names a remedy), ERR_ARG (the range is
     * not inside the memory).
     * Blocking: while pages are made. Thread: [progress]. */
    weft_status_t (*commit)(weft_net_conn_t *conn, uint64_t offset, uint64_t bytes);

    /* Gives the whole pages of a range back to the host. Their bytes are lost for both sides, so
     * the caller knows that nobody reads them. The range may be committed again.
     * Errors: none that the caller could act on.
     * Blocking: no. Thread: [progress]. */
    void (*discard)(weft_net_conn_t *conn, uint64_t offset, uint64_t bytes);
} weft_net_map_t;

/* Extension "weft.net.attach/1": moves connections between devices. A family of communicators (one
 * communicator and those split from it) shares one listener. Each communicator that carries
 * messages drives a device of its own, so that threads never meet in poll(). Without this
 * extension a message transport serves only the first communicator of the family. */
#define WEFT_NET_ATTACH "weft.net.attach/1"
typedef struct weft_net_attach {
    size_t size;

    /* Moves an accepted connection to another device that the same instance opened with the same
     * index. Nothing may have been posted on it yet. One that has failed, or that the peer has
     * closed, moves too.
     * Errors: ERR_STATE (not ready, or in use, or the device is of an index where the connection
     * cannot go on).
     * Blocking: no. Thread: [progress] of both devices. */
    weft_status_t (*attach)(weft_net_conn_t *conn, weft_net_device_t *device);
} weft_net_attach_t;

/* Extension "weft.net.payload/1": messages whose payload lies apart from their header, so that it
 * needs no copy into a slot or out of one. Only for memory that the host reads and writes. */
#define WEFT_NET_PAYLOAD "weft.net.payload/1"
typedef struct weft_net_payload {
    size_t size;

    /* Posts one send: a message of the bytes of `op`, followed by `bytes` bytes at `payload`. Both
     * belong to the plugin until completion. As post() otherwise: AGAIN if it was not taken.
     * Blocking: no. Thread: [progress]. */
    weft_status_t (*send)(weft_net_conn_t *conn, const weft_net_op_t *op, const void *payload,
                          uint64_t bytes);

    /* Asks that a posted receive puts all but the first `header` bytes of its message to `payload`,
     * if they are `bytes` bytes. A message of another length goes to the posted buffer as a whole.
     * `context` is that of the receive. Returns OK, or AGAIN if it is too late: the message has
     * begun to arrive. At most once per receive.
     * Blocking: no. Thread: [progress]. */
    weft_status_t (*place)(weft_net_conn_t *conn, const void *context, uint64_t header,
                           void *payload, uint64_t bytes);
} weft_net_payload_t;

/* Extension "weft.net.dmabuf/1": registers memory of another device, such as a GPU, by its
 * dma-buf. */
#define WEFT_NET_DMABUF "weft.net.dmabuf/1"
typedef struct weft_net_dmabuf_range {
    size_t size;
    int fd;               /* the dma-buf; may be closed after the call */
    uint32_t memory_kind; /* WEFT_MEMORY_* */
    uint64_t offset;      /* of the range in the dma-buf, in bytes */
    uint64_t bytes;       /* of the range */
    uint64_t address;     /* address by which posts name the first byte */
} weft_net_dmabuf_range_t;
typedef struct weft_net_dmabuf {
    size_t size;

    /* As weft_net_ops_t.reg. Errors: also ERR_UNSUPPORTED, if this device cannot. */
    weft_status_t (*reg)(weft_net_device_t *device, const weft_net_dmabuf_range_t *range,
                         weft_net_region_t **region_p);
} weft_net_dmabuf_t;

/* Extension "weft.net.describe/1": more about a device than its properties hold. */
#define WEFT_NET_DESCRIBE "weft.net.describe/1"
typedef struct weft_net_describe {
    size_t size;

    /* Writes text for people about device `index`: at most `bytes` bytes including the final NUL,
     * each line ended by a newline.
     * Errors: ERR_ARG (no such device).
     * Blocking: no. Thread: [control]. */
    weft_status_t (*describe)(weft_net_t *net, uint32_t index, char *text, size_t bytes);
} weft_net_describe_t;

#ifdef __cplusplus
}
#endif
#endif
