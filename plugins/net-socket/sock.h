/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The types that net-socket is made of: instance, device, connection, stream. Each other header
 * declares the functions of the .c file of its name.
 *
 * A connection has 1 … 16 streams (TCP sockets). A message is cut into chunks, and a receiver takes
 * any chunk from any stream. Which streams a sender uses says sock_stream_takes().
 *
 * Where two hosts share several networks, a connection uses all of them: its streams are spread
 * over rails, of which sock_rails.h tells more. */
#ifndef WEFT_PLUGINS_NET_SOCKET_H
#define WEFT_PLUGINS_NET_SOCKET_H

#include <netinet/tcp.h>
#include <stdbool.h>

#include <weft/plugin/net.h>
#include <weft/sdk/op_queue.h>

#include <weft/sdk/net_interface.h>

#include "sock_congestion.h"

#define SOCK_STREAMS_MAX 16u
#define SOCK_BATCH 8u                      /* chunks in one system call */
#define SOCK_SMALL 16384u                  /* larger messages have sockets of their direction */
#define SOCK_STAGE 8192u                   /* bytes read ahead; smaller messages take one read */
#define SOCK_CHUNK_MAX (UINT64_C(1) << 30) /* the length field has 32 bits */
#define SOCK_MESSAGE_MAX (UINT64_C(1) << 40)
#define SOCK_RAILS_MAX 7u /* endpoints of a list that are no loopback */
#define SOCK_UNACKED 64u  /* chunks that a stream may have sent and not have acknowledged */

typedef struct sock_config {
    int64_t sockets;
    uint64_t chunk;
    const char *devices;
    int64_t rails;
    bool bond;
    double rail_patience;
    const char *port_range;
    int64_t family;
    uint64_t sndbuf;
    uint64_t rcvbuf;
    const char *congestion;
    double connect_timeout;
} sock_config_t;

/* Header of a chunk, little-endian, on the wire as laid out here. */
typedef struct sock_header {
    uint32_t message; /* its sequence number, per direction, from 0; wraps */
    uint32_t length;  /* bytes that follow */
    uint64_t offset;  /* of these bytes in the message */
    uint64_t total;   /* bytes of the message; with several rails the kind in the upper byte */
} sock_header_t;

/* Kinds of headers; those but DATA have no bytes behind them. */
#define SOCK_KIND_SHIFT 56
#define SOCK_KIND_DATA 0u
#define SOCK_KIND_ACK 1u /* message: chunks that were received on this stream so far, wrapping */
#define SOCK_KIND_CUT 2u /* offset: a stream that is not read any more; message: as of ACK */

/* A chunk that was sent and is not acknowledged. */
typedef struct sock_sent {
    uint32_t message;
    uint32_t length;
    uint64_t offset;
} sock_sent_t;

/* What a stream of a connection with several rails keeps. Counters wrap. */
typedef struct sock_track {
    uint32_t sent, acked;    /* chunks of ours */
    uint32_t received, told; /* chunks of the peer: all, and those of the last acknowledgement */
    uint32_t cuts;      /* bit mask of streams of which this one has to tell that they are cut */
    uint32_t in_length; /* of the chunk being received */
    uint64_t silent_ns; /* since when the peer's system does not answer; 0: it does */
    sock_sent_t ring[SOCK_UNACKED];
} sock_track_t;

/* The rails of a connection. Stream i belongs to rail i / per_rail. */
typedef struct sock_rails {
    uint32_t count, per_rail;
    uint32_t cut;    /* bit mask of streams that were given up */
    uint32_t heard;  /* … of which the peer has told what it received */
    uint32_t again;  /* chunks in the rings of streams that were heard: to be sent on others */
    bool due;        /* acknowledgements or cuts may wait to be sent */
    bool unanswered; /* the peer's system may not have answered all that was written */
    sock_track_t tracks[]; /* as streams */
} sock_rails_t;

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

/* Returns whether TCP repeats what the peer's system does not answer. One probe of a closed window
 * may be on its way; an answer sets the count to 0. */
static inline bool sock_info_repeats(const struct tcp_info *info)
{
    return info->tcpi_retransmits > 0 || info->tcpi_probes > 1;
}

typedef struct sock_stream {
    weft_net_conn_t *conn;
    int fd;
    uint32_t armed;     /* EPOLL* events that the device's epoll set watches for; 0: not in it */
    bool sends;         /* carries our large messages: see sock_stream_takes() */
    bool receives;      /* the peer may send on it */
    bool ended;         /* the peer will send no more */
    bool blocked;       /* the kernel takes no more bytes now */
    bool stalled;       /* the next chunk is for a receive that is not posted yet */
    bool mute;          /* with several rails: the kernel takes nothing any more */
    bool eager;         /* is asked in every visit */
    uint32_t quiet;     /* visits since it last brought something */
    uint64_t silent_ns; /* since when TCP repeats (sock_silence.h); 0: it does not */

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
    sock_congestion_t congestion;
    weft_endpoint_list_t local; /* addresses of the chosen interfaces, with port 0 */
};

struct weft_net_device {
    const weft_host_t *host;
    weft_net_t *net;
    weft_endpoint_list_t local; /* its part of net->local, or all */
    weft_net_conn_t *conns;     /* ready ones */
    weft_op_done_t done;
    uint32_t busy;  /* streams of connections with something open */
    bool many;      /* so many are busy that poll() asks epoll which to try */
    int blind;      /* errno of the watch of one of them that the system refused: all are tried */
    uint32_t timed; /* connections that poll() visits without an event: conn->timed */
    uint32_t unanswered; /* connections with rails->unanswered */
    uint64_t watched_ns; /* when rails were looked at */
    uint64_t silence_ns; /* … and silence (sock_silence.h) */
    bool failing;        /* operations that failed are not given out yet */
    bool silence_told;   /* it lasts, and the log has it */
    bool apart;          /* one of several: without it there are others */
    int epoll;
};

/* The end of a connection that nobody closed. */
typedef struct sock_loss {
    uint64_t since; /* when the first stream ended; 0: none has */
    int cause;      /* the errno, or 0, … */
    char text[320]; /* … and the text of the reason, by sock_conn_blame(); "": there is none */
} sock_loss_t;

struct weft_net_conn {
    const weft_host_t *host;
    weft_net_device_t *device;
    weft_net_conn_t *next, *prev; /* in device->conns, or the listener's list */
    bool ready;
    bool busy;            /* an operation is open */
    bool timed;           /* time may decide about it: it has rails, or a stream that has ended */
    weft_status_t failed; /* OK, or what operations get */
    uint64_t chunk;
    bool stalled;   /* a stream may be stalled */
    uint32_t ended; /* streams that have ended */
    sock_loss_t loss;
    uint64_t deadline_ns;    /* acceptor: when the streams must all have joined */
    uint32_t turn;           /* the stream that gets the next chunk */
    uint32_t joined;         /* acceptor: streams that have arrived */
    uint8_t id[16];          /* random; the streams name it when they join */
    sock_attempt_t *attempt; /* connector, until ready */
    weft_net_conn_info_t info;
    weft_op_queues_t ops; /* op.progress: bytes claimed by streams, or announced by headers */
    sock_payload_t send_payload[WEFT_OP_SLOTS], recv_payload[WEFT_OP_SLOTS]; /* as ops' */
    sock_stream_t *lead; /* carries our small messages */
    sock_rails_t *rails; /* NULL: one */
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
    uint16_t rails; /* of the connection; divides count */
    uint16_t reserved[3];
    uint8_t id[16]; /* of the connection, random */
} sock_join_t;

#endif
