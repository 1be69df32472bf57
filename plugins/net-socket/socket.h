/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Private parts of net-socket: instance, device, connection, stream. A connection has 1 … 16 streams
 * (TCP sockets); a message is cut in chunks, and any stream carries any chunk. */
#ifndef WEFT_PLUGINS_NET_SOCKET_H
#define WEFT_PLUGINS_NET_SOCKET_H

#include <stdbool.h>

#include <weft/plugin/net.h>

#include <weft/sdk/net_interface.h>
#include <weft/sdk/acceptor.h>

#define SOCK_STREAMS_MAX 16u
#define SOCK_OPS 64u                       /* outstanding per direction, a power of two */
#define SOCK_BATCH 8u                      /* chunks in one system call */
#define SOCK_STAGE 8192u                   /* bytes read ahead; smaller messages take one read */
#define SOCK_CHUNK_MAX (UINT64_C(1) << 30) /* the length field has 32 bits */
#define SOCK_MESSAGE_MAX (UINT64_C(1) << 40)

typedef struct sock_config {
    int64_t sockets;
    uint64_t chunk;
    const char *interfaces;
    const char *port_range;
    int64_t family;
    uint64_t sndbuf;
    uint64_t rcvbuf;
    double connect_timeout;
} sock_config_t;

/* Header of a chunk. On the wire little-endian and as laid out here. */
typedef struct sock_header {
    uint32_t message; /* number of the message, per direction, from 0, wraps */
    uint32_t length;  /* bytes that follow */
    uint64_t offset;  /* of these in the message */
    uint64_t total;   /* bytes of the message */
} sock_header_t;

/* One posted operation. */
typedef struct sock_op {
    uint8_t *buffer;
    uint64_t bytes; /* to send, or room */
    uint64_t total; /* receive: length of the message once a chunk is here */
    uint64_t given; /* send: bytes handed to streams; receive: bytes promised by headers */
    uint64_t moved; /* bytes through */
    void *context;
    weft_status_t status;
    bool begun; /* the first chunk is given or seen */
    bool done;
} sock_op_t;

/* Operations of one direction. The counters run freely and are the message numbers. */
typedef struct sock_queue {
    uint32_t head; /* oldest not given out as completed */
    uint32_t next; /* send: first with bytes not handed to a stream */
    uint32_t tail; /* next to post */
    uint32_t open; /* posted and not done */
    sock_op_t ops[SOCK_OPS];
} sock_queue_t;

typedef struct sock_chunk {
    sock_header_t wire;
    sock_op_t *op;
    const uint8_t *from;
    uint64_t length;
} sock_chunk_t;

typedef struct sock_stream {
    weft_net_conn_t *conn;
    int fd;
    uint32_t armed; /* EPOLL* events that the kernel watches for now */
    bool ended;     /* the peer will send no more */
    bool blocked;   /* the kernel takes no more */
    bool stalled;   /* the next chunk belongs to a receive that is not posted yet */

    sock_chunk_t out[SOCK_BATCH];
    uint32_t out_count;
    uint32_t out_at;   /* chunk under way */
    uint64_t out_done; /* bytes of it, header included */

    sock_op_t *in_op; /* of the chunk under way */
    uint8_t *in_to;
    uint64_t in_left;
    uint32_t stage_at, stage_end;
    uint8_t stage[SOCK_STAGE];
} sock_stream_t;

typedef struct sock_attempt sock_attempt_t;

struct weft_net {
    const weft_host_t *host;
    sock_config_t config;
    weft_interface_filter_t filter;
    weft_port_range_t ports;
    weft_endpoint_list_t local; /* addresses of the chosen interfaces, ports 0 */
};

struct weft_net_device {
    const weft_host_t *host;
    weft_net_t *net;
    weft_net_conn_t *conns; /* ready ones */
    weft_net_conn_t *done;  /* those with completions to give out */
    uint32_t busy;          /* streams of connections with something open */
    bool many;              /* poll() asks epoll in place of every stream */
    int epoll;
};

struct weft_net_conn {
    const weft_host_t *host;
    weft_net_device_t *device;
    weft_net_conn_t *next, *prev; /* in device->conns, or the listener's list */
    weft_net_conn_t *done_next;
    bool done_listed;
    bool ready;
    bool busy;
    weft_status_t failed; /* OK, or what operations get */
    uint64_t chunk;
    uint64_t ended_ns; /* when the first stream ended */
    uint64_t deadline_ns;
    uint32_t turn; /* stream that gets the next chunk */
    uint32_t joined;
    uint8_t id[16];
    sock_attempt_t *attempt; /* connector, until ready */
    weft_net_conn_info_t info;
    sock_queue_t send, recv;
    uint32_t nstreams;
    sock_stream_t streams[];
};

/* conn.c */
weft_net_conn_t *sock_conn_create(weft_net_device_t *device, uint32_t nstreams,
                                  const uint8_t label[WEFT_AUTH_LABEL]);
void sock_conn_ready(weft_net_conn_t *conn);
/* What: ends the connection: everything open completes with `status`. The cause is set before. */
void sock_conn_fail(weft_net_conn_t *conn, weft_status_t status);
/* What: notes that an operation is finished, and has the connection visited by poll(). */
void sock_op_finish(weft_net_conn_t *conn, sock_queue_t *queue, sock_op_t *op,
                    weft_status_t status);
/* What: records the loss of a stream: errno `cause`, 0 = orderly end. Returns the status. */
weft_status_t sock_conn_lost(weft_net_conn_t *conn, int cause);
weft_status_t sock_post(weft_net_conn_t *conn, const weft_net_op_t *ops, uint32_t count,
                        uint32_t *posted_p);
weft_status_t sock_cancel(weft_net_conn_t *conn);
weft_status_t sock_conn_info(weft_net_conn_t *conn, weft_net_conn_info_t *info);
weft_status_t sock_conn_check(weft_net_conn_t *conn);
void sock_conn_close(weft_net_conn_t *conn);
weft_status_t sock_conn_attach(weft_net_conn_t *conn, weft_net_device_t *device);

/* stream.c: both return OK, or a failure of the connection with the error set. */
weft_status_t sock_conn_send(weft_net_conn_t *conn);
weft_status_t sock_stream_receive(sock_stream_t *stream);

/* sock_connect.c */
weft_status_t sock_connect_begin(weft_net_device_t *device, const weft_net_address_t *address,
                                 const weft_net_conn_params_t *params, weft_net_conn_t **conn_p);
weft_status_t sock_connect_poll(weft_net_conn_t *conn);
void sock_attempt_close(weft_net_conn_t *conn);

/* sock_accept.c */
weft_status_t sock_listen(weft_net_device_t *device, weft_net_address_t *address_p,
                          weft_net_listener_t **listener_p);
void sock_listener_close(weft_net_listener_t *listener);
weft_status_t sock_accept(weft_net_listener_t *listener, weft_net_conn_t **conn_p);

/* What: options every data socket gets. Failures are ignored: the connection works without. */
void sock_tune(const weft_net_t *net, int fd);

/* poll.c */
void sock_stream_arm(sock_stream_t *stream);
void sock_stream_disarm(sock_stream_t *stream);
weft_status_t sock_poll(weft_net_device_t *device, weft_net_completion_t *completions, uint32_t max,
                        uint32_t *count_p);
weft_status_t sock_wait_fd(weft_net_device_t *device, int *fd_p);

/* Record that follows the handshake on each stream, little-endian. */
#define SOCK_JOIN_MAGIC 0x6e6a7377u /* "wsjn" */
#define SOCK_JOIN_ACK 0x6b617377u   /* "wsak" */
typedef struct sock_join {
    uint32_t magic;
    uint16_t index; /* of this stream */
    uint16_t count; /* streams of the connection */
    uint64_t reserved;
    uint8_t id[16]; /* of the connection, random */
} sock_join_t;

#endif
