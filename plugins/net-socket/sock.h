/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The types that net-socket is made of: instance, device, connection, stream. Each other header
 * declares the functions of the .c file of its name.
 *
 * A connection has 1 … 16 streams (TCP sockets). A message is cut into chunks, and a receiver takes
 * any chunk from any stream. Which streams a sender uses says sock_stream_takes(). */
#ifndef WEFT_PLUGINS_NET_SOCKET_H
#define WEFT_PLUGINS_NET_SOCKET_H

#include <stdbool.h>

#include <weft/plugin/net.h>
#include <weft/sdk/op_queue.h>

#include <weft/sdk/net_interface.h>

#define SOCK_STREAMS_MAX 16u
#define SOCK_BATCH 8u                      /* chunks in one system call */
#define SOCK_SMALL 16384u                  /* larger messages have sockets of their direction */
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

/* Header of a chunk, little-endian, on the wire as laid out here. */
typedef struct sock_header {
    uint32_t message; /* its sequence number, per direction, from 0; wraps */
    uint32_t length;  /* bytes that follow */
    uint64_t offset;  /* of these bytes in the message */
    uint64_t total;   /* bytes of the message */
} sock_header_t;

/* Where the rest of a message lies whose buffer has only its beginning. */
typedef struct sock_payload {
    uint8_t *at;     /* NULL: all of it is in the buffer */
    uint64_t header; /* bytes in the buffer */
    uint64_t bytes;  /* bytes here */
} sock_payload_t;

/* A chunk that is being sent. */
typedef struct sock_chunk {
    sock_header_t wire;
    weft_posted_op_t *op;
    uint64_t offset; /* in the message */
    uint64_t length;
} sock_chunk_t;

typedef struct sock_stream {
    weft_net_conn_t *conn;
    int fd;
    uint32_t armed; /* EPOLL* events that the device's epoll set watches for; 0: not in it */
    bool sends;     /* carries our large messages: see sock_stream_takes() */
    bool receives;  /* the peer may send on it */
    bool ended;     /* the peer will send no more */
    bool blocked;   /* the kernel takes no more bytes now */
    bool stalled;   /* the next chunk is for a receive that is not posted yet */
    uint32_t quiet; /* visits since it last brought something */

    sock_chunk_t out[SOCK_BATCH];
    uint32_t out_count;
    uint32_t out_at;   /* the chunk being sent */
    uint64_t out_done; /* bytes of it that are sent, header included */

    weft_posted_op_t *in_op; /* of the chunk being received, or NULL */
    uint64_t in_at;          /* offset in the message */
    uint64_t in_left;
    uint32_t stage_at, stage_end; /* bytes that were read ahead */
    uint8_t stage[SOCK_STAGE];
} sock_stream_t;

typedef struct sock_attempt sock_attempt_t;

struct weft_net {
    const weft_host_t *host;
    sock_config_t config;
    weft_interface_filter_t filter;
    weft_port_range_t ports;
    weft_endpoint_list_t local; /* addresses of the chosen interfaces, with port 0 */
};

struct weft_net_device {
    const weft_host_t *host;
    weft_net_t *net;
    weft_net_conn_t *conns; /* ready ones */
    weft_op_done_t done;
    uint32_t busy; /* streams of connections with something open */
    bool many;     /* so many are busy that poll() asks epoll which to try */
    int epoll;
};

struct weft_net_conn {
    const weft_host_t *host;
    weft_net_device_t *device;
    weft_net_conn_t *next, *prev; /* in device->conns, or the listener's list */
    bool ready;
    bool busy;            /* an operation is open */
    weft_status_t failed; /* OK, or what operations get */
    uint64_t chunk;
    bool stalled;            /* a stream may be stalled */
    uint32_t ended;          /* streams that have ended */
    uint64_t ended_ns;       /* when the first stream ended */
    uint64_t deadline_ns;    /* acceptor: when the streams must all have joined */
    uint32_t turn;           /* the stream that gets the next chunk */
    uint32_t joined;         /* acceptor: streams that have arrived */
    uint8_t id[16];          /* random; the streams name it when they join */
    sock_attempt_t *attempt; /* connector, until ready */
    weft_net_conn_info_t info;
    weft_op_queues_t ops; /* op.progress: bytes claimed by streams, or announced by headers */
    sock_payload_t send_payload[WEFT_OP_SLOTS], recv_payload[WEFT_OP_SLOTS]; /* as ops' */
    uint32_t nstreams;
    sock_stream_t streams[];
};

/* The record that each stream sends after the handshake, little-endian. */
#define SOCK_JOIN_MAGIC 0x6e6a7377u /* "wsjn" */
#define SOCK_JOIN_ACK 0x6b617377u   /* "wsak" */
typedef struct sock_join {
    uint32_t magic;
    uint16_t index; /* of this stream, from 0 */
    uint16_t count; /* of the connection's streams */
    uint64_t reserved;
    uint8_t id[16]; /* of the connection, random */
} sock_join_t;

#endif
