/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Several rails: what a connection does whose two hosts share several networks.
 *
 * Each rail has the same number of streams, at least two: one each way. All data of one end, small
 * messages too, go over streams of its direction, so that nothing but control records comes back on
 * them: an acknowledgement never waits behind data that nobody takes. A chunk is acknowledged by a
 * count per stream, and a send is complete when its chunks are.
 *
 * A stream that fails is cut: an end stops to read and to write it, and tells over the streams of
 * the other rails how many chunks it has received there. The peer does likewise, and sends again
 * what lies beyond that count. Nothing arrives twice, since the count was taken when the stream was
 * no longer read.
 *
 * Only connections with several rails may be given to functions that do not say otherwise. Thread:
 * [progress]. */
#ifndef WEFT_PLUGINS_NET_SOCKET_RAILS_H
#define WEFT_PLUGINS_NET_SOCKET_RAILS_H

#include "sock.h"

/* Makes the state of a connection of `count` rails; for one rail none. ERR_RESOURCE. */
weft_status_t sock_rails_create(weft_net_conn_t *conn, uint32_t count);

static inline sock_track_t *sock_rails_track(const sock_stream_t *stream)
{
    return &stream->conn->rails->tracks[stream - stream->conn->streams];
}

/* Returns whether the stream may have another chunk that is not acknowledged. Also for one rail. */
static inline bool sock_rails_have_room(const sock_stream_t *stream)
{
    if (stream->conn->rails == NULL) {
        return true;
    }
    const sock_track_t *track = sock_rails_track(stream);
    return track->sent - track->acked < SOCK_UNACKED;
}

/* Notes a chunk that the stream is going to send. */
void sock_rails_note(sock_stream_t *stream, uint32_t message, uint64_t offset, uint32_t length);

/* Returns whether the stream has control records to send, or chunks of streams that were cut. */
bool sock_rails_want(const sock_stream_t *stream);
/* Puts them into the stream's empty batch, as far as there is room. Returns their bytes. */
uint64_t sock_rails_claim(sock_stream_t *stream);

/* Notes that all control records may have been sent. */
void sock_rails_told(weft_net_conn_t *conn);

/* Counts a chunk as received. Also for one rail. */
static inline void sock_rails_received(const sock_stream_t *stream)
{
    if (stream->conn->rails != NULL) {
        sock_rails_track(stream)->received++;
        stream->conn->rails->due = true;
    }
}

/* Takes a control record. Returns false if it is wrong. */
bool sock_rails_control(sock_stream_t *stream, const sock_header_t *header);

/* A system call on the stream failed with `cause`, or its end has come (0). Returns OK if the
 * connection goes on over other streams, else as sock_conn_lost(). Also for one rail. A stream that
 * cannot send may still hold what the peer sent before. */
weft_status_t sock_rails_send_failed(sock_stream_t *stream, int cause);
weft_status_t sock_rails_receive_failed(sock_stream_t *stream, int cause);

/* Notes that something is written which the peer's system has to answer. */
static inline void sock_rails_wrote(weft_net_conn_t *conn)
{
    conn->device->unanswered += conn->rails->unanswered ? 0 : 1;
    conn->rails->unanswered = true;
}

/* Ends the watch over a connection that leaves its device. */
void sock_rails_leave_watch(weft_net_conn_t *conn);

/* Now and then looks which rails do not answer, and cuts their streams where another rail is left.
 * Connections without an open operation count too: a peer may wait for an acknowledgement. For a
 * device with any connections. */
void sock_rails_watch(weft_net_device_t *device);

#endif
