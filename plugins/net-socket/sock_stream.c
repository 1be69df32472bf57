/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The data path: chunks go from the send queue into sockets, and from sockets into posted
 * buffers.
 *
 * A receive reads at most SOCK_STAGE bytes ahead, so a small message costs one system call and
 * one short copy; the rest of a large one goes straight to its buffer. A chunk whose receive is
 * not posted yet stays in the kernel: TCP's window is the flow control. */
#include "sock_stream.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "sock_op.h"
#include "sock_rails.h"

#define HEADER sizeof(sock_header_t)
#define BATCH_BYTES (UINT64_C(256) << 10) /* claimed at once by a stream */
#define ROUNDS 16 /* reads of one stream before the others have their turn */

static_assert(sizeof(sock_header_t) == 24, "wire form");

/* Sets the one or two places of a part of a message; no bytes have none. Returns their number. */
static inline int sock_op_vectors(const weft_posted_op_t *op, const sock_payload_t *payload,
                                  uint64_t offset, uint64_t length, struct iovec vec[2])
{
    int n = 0;
    uint64_t end = payload->header;
    if (length > 0 && payload->at == NULL) {
        vec[0] = (struct iovec){op->buffer + offset, length};
        return 1;
    }
    if (offset < end && length > 0) {
        uint64_t here = length < end - offset ? length : end - offset;
        vec[n++] = (struct iovec){op->buffer + offset, here};
        offset += here;
        length -= here;
    }
    if (length > 0) {
        vec[n++] = (struct iovec){payload->at + (offset - end), length};
    }
    return n;
}

/* Sending ------------------------------------------------------------------------------------- */

static bool sock_send_pending(const weft_net_conn_t *conn)
{
    return conn->ops.send.next != conn->ops.send.tail;
}

/* A TCP socket is locked while one side works on it: data that arrives during a send waits until
 * its end. So each end sends large messages over sockets of its own. Small ones of both share the
 * first, where an answer carries the acknowledgement; but see sock_rails.h for several rails. */
static bool sock_stream_takes(const sock_stream_t *stream, const weft_posted_op_t *op)
{
    return op->bytes <= SOCK_SMALL ? stream == stream->conn->lead : stream->sends;
}

static bool sock_stream_may_claim(const sock_stream_t *stream)
{
    weft_op_queue_t *queue = &stream->conn->ops.send;
    return sock_send_pending(stream->conn) &&
           sock_stream_takes(stream, weft_op_at(queue, queue->next)) &&
           sock_rails_have_room(stream);
}

static uint64_t sock_stream_claim_one(sock_stream_t *stream)
{
    weft_net_conn_t *conn = stream->conn;
    weft_op_queue_t *queue = &conn->ops.send;
    weft_posted_op_t *op = weft_op_at(queue, queue->next);
    uint64_t length = op->bytes - op->progress;
    length = length < conn->chunk ? length : conn->chunk;
    stream->out[stream->out_count++] = (sock_chunk_t){
        .wire = {.message = htole32(queue->next),
                 .length = htole32((uint32_t)length),
                 .offset = htole64(op->progress),
                 .total = htole64(op->bytes)},
        .op = op,
        .offset = op->progress,
        .length = length,
    };
    if (conn->rails != NULL) {
        sock_rails_note(stream, queue->next, op->progress, (uint32_t)length);
    }
    op->progress += length;
    if (op->progress == op->bytes) {
        queue->next++;
    }
    return length + HEADER;
}

static void sock_stream_claim(sock_stream_t *stream)
{
    uint64_t limit = stream->conn->chunk < BATCH_BYTES ? stream->conn->chunk : BATCH_BYTES;
    uint64_t bytes = 0;
    stream->out_count = 0;
    stream->out_at = 0;
    stream->out_done = 0;
    if (stream->conn->rails != NULL) {
        bytes = sock_rails_claim(stream);
    }
    while (sock_stream_may_claim(stream) && stream->out_count < SOCK_BATCH && bytes < limit) {
        bytes += sock_stream_claim_one(stream);
    }
}

static int sock_stream_vectors(sock_stream_t *stream, struct iovec *vec, uint64_t *bytes_p)
{
    weft_net_conn_t *conn = stream->conn;
    int n = 0;
    uint64_t skip = stream->out_done;
    *bytes_p = 0;
    for (uint32_t i = stream->out_at; i < stream->out_count; i++) {
        sock_chunk_t *chunk = &stream->out[i];
        if (skip < HEADER) {
            vec[n++] = (struct iovec){(uint8_t *)&chunk->wire + skip, HEADER - skip};
            skip = 0;
        } else {
            skip -= HEADER;
        }
        if (chunk->length > 0) {
            n += sock_op_vectors(chunk->op, &conn->send_payload[chunk->op - conn->ops.send.ops],
                                 chunk->offset + skip, chunk->length - skip, vec + n);
        }
        *bytes_p += HEADER + chunk->length;
        skip = 0;
    }
    *bytes_p -= stream->out_done;
    return n;
}

static void sock_stream_sent(sock_stream_t *stream, uint64_t bytes)
{
    stream->out_done += bytes;
    while (stream->out_at < stream->out_count) {
        sock_chunk_t *chunk = &stream->out[stream->out_at];
        if (stream->out_done < HEADER + chunk->length) {
            return;
        }
        stream->out_done -= HEADER + chunk->length;
        stream->out_at++;
        if (stream->conn->rails != NULL) {
            continue; /* its acknowledgement counts */
        }
        chunk->op->moved += chunk->length;
        if (chunk->op->moved == chunk->op->bytes) {
            sock_op_finish(stream->conn, &stream->conn->ops.send, chunk->op, WEFT_OK);
        }
    }
}

/* Makes one system call. */
static weft_status_t sock_stream_send(sock_stream_t *stream)
{
    struct iovec vec[3 * SOCK_BATCH];
    uint64_t bytes;
    struct msghdr message = {.msg_iov = vec};
    message.msg_iovlen = (size_t)sock_stream_vectors(stream, vec, &bytes);
    ssize_t sent;
    do {
        sent = sendmsg(stream->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    if (sent < 0) {
        stream->blocked = true;
        return errno == EAGAIN ? WEFT_OK : sock_rails_send_failed(stream, errno);
    }
    stream->blocked = (uint64_t)sent < bytes;
    sock_stream_sent(stream, (uint64_t)sent);
    return WEFT_OK;
}

weft_status_t sock_conn_send(weft_net_conn_t *conn)
{
    uint32_t idle = 0;
    /* Small messages use the first stream, where the peer looks first. Rails take turns. */
    conn->turn = conn->rails == NULL ? 0 : conn->turn;
    while (idle < conn->nstreams && sock_conn_has_to_send(conn)) {
        sock_stream_t *stream = &conn->streams[conn->turn];
        conn->turn = (conn->turn + 1) % conn->nstreams;
        if (stream->out_at == stream->out_count && !stream->blocked &&
            (sock_stream_may_claim(stream) || (conn->rails != NULL && sock_rails_want(stream)))) {
            sock_stream_claim(stream);
        }
        if (stream->blocked || stream->out_at == stream->out_count) {
            idle++;
            continue;
        }
        idle = 0;
        weft_status_t status = sock_stream_send(stream);
        if (status != WEFT_OK) {
            return status;
        }
    }
    if (conn->rails != NULL) {
        sock_rails_told(conn);
    }
    return WEFT_OK;
}

/* Receiving ----------------------------------------------------------------------------------- */

static weft_status_t sock_stream_bad(sock_stream_t *stream, const char *what,
                                     const sock_header_t *header)
{
    return sock_conn_blame(
        stream->conn, WEFT_ERR_PROTO, 0, "%s from peer %s: message %u, bytes %llu+%u of %llu", what,
        stream->conn->info.peer, header->message, (unsigned long long)header->offset,
        header->length, (unsigned long long)header->total);
}

static weft_status_t sock_stream_begin(sock_stream_t *stream, const sock_header_t *header)
{
    weft_op_queue_t *queue = &stream->conn->ops.recv;
    weft_posted_op_t *op = weft_op_at(queue, header->message);
    if (op->done || header->length > header->total ||
        header->offset > header->total - header->length ||
        (header->length == 0 && header->total > 0) ||
        (op->progress > 0 && op->bytes != header->total) ||
        header->length > header->total - op->progress) {
        return sock_stream_bad(stream, "malformed chunk", header);
    }
    if (header->total > op->bytes) {
        return sock_conn_blame(stream->conn, WEFT_ERR_PROTO, 0,
                               "message of %llu bytes from peer %s, room for %llu",
                               (unsigned long long)header->total, stream->conn->info.peer,
                               (unsigned long long)op->bytes);
    }
    sock_payload_t *payload = &stream->conn->recv_payload[op - queue->ops];
    if (payload->at != NULL && header->total != payload->header + payload->bytes) {
        payload->at = NULL;
    }
    op->bytes = header->total;
    op->progress += header->length;
    stream->in_op = op;
    stream->in_left = header->length;
    stream->in_at = header->offset;
    if (stream->conn->rails != NULL) {
        sock_rails_track(stream)->in_length = header->length;
    }
    return WEFT_OK;
}

/* Reads the next header, which stays in the stage. Returns false if it has not arrived. */
static bool sock_stream_header(const sock_stream_t *stream, sock_header_t *header)
{
    if (stream->stage_end - stream->stage_at < HEADER) {
        return false;
    }
    memcpy(header, stream->stage + stream->stage_at, HEADER);
    header->message = le32toh(header->message);
    header->length = le32toh(header->length);
    header->offset = le64toh(header->offset);
    header->total = le64toh(header->total);
    return true;
}

/* Parses the next header of data, if it has arrived and its receive is posted, and takes the
 * control records before it. */
static weft_status_t sock_stream_parse(sock_stream_t *stream)
{
    const weft_op_queue_t *queue = &stream->conn->ops.recv;
    sock_header_t header;
    bool data = false;
    stream->stalled = false;
    while (!data) {
        if (!sock_stream_header(stream, &header)) {
            return WEFT_OK;
        }
        data = stream->conn->rails == NULL || header.total >> SOCK_KIND_SHIFT == SOCK_KIND_DATA;
        if (!data && !sock_rails_control(stream, &header)) {
            return sock_stream_bad(stream, "wrong control record", &header);
        }
        stream->stage_at += data ? 0 : (uint32_t)HEADER;
    }
    uint32_t ahead = header.message - queue->head;
    if (ahead >= queue->tail - queue->head) {
        /* Either the receive is not posted yet, which is no error, or the number lies in the
         * past. */
        stream->stalled = ahead < UINT32_MAX / 2;
        stream->conn->stalled = true;
        return stream->stalled ? WEFT_OK : sock_stream_bad(stream, "repeated chunk", &header);
    }
    stream->stage_at += (uint32_t)HEADER;
    return sock_stream_begin(stream, &header);
}

static inline void sock_stream_got(sock_stream_t *stream, uint64_t bytes)
{
    weft_posted_op_t *op = stream->in_op;
    stream->in_at += bytes;
    stream->in_left -= bytes;
    op->moved += bytes;
    if (stream->in_left == 0) {
        stream->in_op = NULL;
        sock_rails_received(stream);
        if (op->moved == op->bytes) {
            sock_op_finish(stream->conn, &stream->conn->ops.recv, op, WEFT_OK);
        }
    }
}

static inline int sock_stream_places(const sock_stream_t *stream, uint64_t bytes,
                                     struct iovec vec[2])
{
    weft_net_conn_t *conn = stream->conn;
    return sock_op_vectors(stream->in_op, &conn->recv_payload[stream->in_op - conn->ops.recv.ops],
                           stream->in_at, bytes, vec);
}

static void sock_stream_unstage(sock_stream_t *stream, uint64_t bytes)
{
    const uint8_t *from = stream->stage + stream->stage_at;
    struct iovec vec[2];
    int n = sock_stream_places(stream, bytes, vec);
    if (n > 0) {
        memcpy(vec[0].iov_base, from, vec[0].iov_len);
    }
    if (n > 1) {
        memcpy(vec[1].iov_base, from + vec[0].iov_len, vec[1].iov_len);
    }
    stream->stage_at += (uint32_t)bytes;
    sock_stream_got(stream, bytes);
}

/* Hands out every byte in the stage whose destination is known. Stops after a large message: the
 * core may say where the next one goes when it has seen this one. Where epoll chooses the streams
 * it goes on, since there no event would come for what is in the stage. */
static weft_status_t sock_stream_consume(sock_stream_t *stream)
{
    for (;;) {
        if (stream->in_op == NULL) {
            weft_status_t status = sock_stream_parse(stream);
            if (status != WEFT_OK || stream->in_op == NULL) {
                return status;
            }
        }
        uint64_t here = stream->stage_end - stream->stage_at;
        uint64_t take = here < stream->in_left ? here : stream->in_left;
        if (take == 0 && stream->in_left > 0) {
            return WEFT_OK;
        }
        bool large = stream->in_op->bytes > SOCK_SMALL;
        sock_stream_unstage(stream, take);
        if (large && stream->in_op == NULL && !stream->conn->device->many) {
            return WEFT_OK;
        }
    }
}

/* Makes one system call. *drained_p: the kernel has no more bytes now. */
static weft_status_t sock_stream_read(sock_stream_t *stream, bool *drained_p)
{
    uint32_t kept = stream->stage_end - stream->stage_at;
    memmove(stream->stage, stream->stage + stream->stage_at, kept);
    stream->stage_at = 0;
    stream->stage_end = kept;
    uint64_t direct = stream->in_op != NULL ? stream->in_left : 0;
    struct iovec vec[3];
    int n = direct > 0 ? sock_stream_places(stream, direct, vec) : 0;
    vec[n] = (struct iovec){stream->stage + kept, SOCK_STAGE - kept};
    ssize_t got;
    do {
        got = direct > 0 ? readv(stream->fd, vec, n + 1)
                         : recv(stream->fd, vec[0].iov_base, vec[0].iov_len, MSG_DONTWAIT);
    } while (got < 0 && errno == EINTR);
    *drained_p = got < (ssize_t)(direct + vec[n].iov_len);
    if (got < 0) {
        return errno == EAGAIN ? WEFT_OK : sock_rails_receive_failed(stream, errno);
    }
    if (got == 0) {
        stream->ended = true;
        stream->conn->ended++;
        sock_conn_set_timed(stream->conn);
        return stream->mute ? sock_rails_receive_failed(stream, 0) : WEFT_OK;
    }
    stream->quiet = 0;
    uint64_t placed = (uint64_t)got < direct ? (uint64_t)got : direct;
    stream->stage_end += (uint32_t)((uint64_t)got - placed);
    if (placed > 0) {
        sock_stream_got(stream, placed);
    }
    return WEFT_OK;
}

weft_status_t sock_stream_receive(sock_stream_t *stream)
{
    const weft_op_queue_t *queue = &stream->conn->ops.recv;
    bool drained = false;
    for (int i = 0;; i++) {
        /* Most looks are in vain, and find nothing in the stage. */
        bool staged = stream->stage_end > stream->stage_at;
        weft_status_t status = staged ? sock_stream_consume(stream) : WEFT_OK;
        bool none = queue->open == 0 && stream->conn->rails == NULL;
        if (status != WEFT_OK || i == ROUNDS || drained || none || stream->ended ||
            stream->fd < 0 || sock_stream_pauses(stream)) {
            return status;
        }
        status = sock_stream_read(stream, &drained);
        if (status != WEFT_OK) {
            return status;
        }
    }
}
