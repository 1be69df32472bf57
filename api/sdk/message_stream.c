/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The messages of a connection over one stream socket.
 *
 * Sending: op.progress counts the bytes of header and payload that the kernel has taken. Receiving:
 * headers and small messages come by way of the stage, one system call for several; the rest of a
 * large message goes straight to its buffer. */
#include <weft/sdk/message_stream.h>

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <weft/sdk/frame.h>

enum {
    STREAM_BATCH = 8,  /* messages of one system call */
    STREAM_ROUNDS = 16 /* reads or writes before the other connections have their turn */
};

void weft_message_stream_init(weft_message_stream_t *stream, const weft_host_t *host, int fd,
                              const char *peer, weft_net_conn_t *conn, weft_op_done_t *done)
{
    stream->host = host;
    stream->fd = fd;
    stream->peer = peer;
    stream->failed = stream->send_failed = WEFT_OK;
    stream->in_op = NULL;
    stream->stage_at = stream->stage_end = 0;
    weft_op_queues_attach(&stream->ops, conn, done);
}

weft_status_t weft_message_stream_attach(weft_message_stream_t *stream, weft_op_done_t *done)
{
    if (weft_op_queues_used(&stream->ops)) {
        return stream->host->set_error(stream->host, WEFT_ERR_STATE, 0,
                                       "connection to peer %s is not ready, or in use",
                                       stream->peer);
    }
    weft_op_queues_attach(&stream->ops, stream->ops.conn, done);
    return WEFT_OK;
}

void weft_message_stream_close(weft_message_stream_t *stream)
{
    weft_op_queues_detach(&stream->ops);
    if (stream->fd >= 0) {
        close(stream->fd);
        stream->fd = -1;
    }
}

static void stream_queue_fail(weft_message_stream_t *stream, weft_op_queue_t *queue,
                              weft_status_t status)
{
    uint32_t number = queue->head;
    weft_posted_op_t *op;
    while ((op = weft_op_next_open(queue, &number)) != NULL) {
        weft_op_finish(&stream->ops, queue, op, status);
    }
}

void weft_message_stream_fail(weft_message_stream_t *stream, weft_status_t status)
{
    if (stream->failed == WEFT_OK) {
        stream->failed = status;
        shutdown(stream->fd, SHUT_RDWR);
        stream_queue_fail(stream, &stream->ops.recv, status);
        stream_queue_fail(stream, &stream->ops.send, status);
    }
}

static weft_status_t stream_unusable(const weft_message_stream_t *stream, weft_status_t status)
{
    return stream->host->set_error(stream->host, status, 0, "connection to peer %s ended before",
                                   stream->peer);
}

/* Sets the error about the loss of the stream; `cause` is the errno, or 0 for the peer's end. */
static weft_status_t stream_lost(const weft_message_stream_t *stream, int cause)
{
    const weft_host_t *host = stream->host;
    if (cause != 0 && cause != EPIPE) {
        return host->set_error(host, WEFT_ERR_LINK, cause, "connection to peer %s", stream->peer);
    }
    if (stream->in_op != NULL) {
        return host->set_error(
            host, WEFT_ERR_PEER_DEAD, 0,
            "peer %s closed the connection after %llu of %llu bytes of a message", stream->peer,
            (unsigned long long)stream->in_op->moved, (unsigned long long)stream->in_op->progress);
    }
    if (stream->stage_end > stream->stage_at) {
        return host->set_error(host, WEFT_ERR_PEER_DEAD, 0,
                               "peer %s closed the connection after %u of %u bytes of a header",
                               stream->peer, stream->stage_end - stream->stage_at,
                               WEFT_FRAME_BYTES);
    }
    return host->set_error(host, WEFT_ERR_PEER_DEAD, 0, "peer %s closed the connection",
                           stream->peer);
}

/* Sending ------------------------------------------------------------------------------------- */

/* Sets the places of the first messages that are not sent; returns their number. */
static size_t stream_send_vectors(weft_message_stream_t *stream,
                                  uint8_t headers[STREAM_BATCH][WEFT_FRAME_BYTES],
                                  struct iovec vec[2 * STREAM_BATCH], uint64_t *bytes_p)
{
    weft_op_queue_t *queue = &stream->ops.send;
    size_t n = 0;
    *bytes_p = 0;
    for (uint32_t i = 0; i < STREAM_BATCH && queue->next + i != queue->tail; i++) {
        weft_posted_op_t *op = weft_op_at(queue, queue->next + i);
        uint64_t skip = 0;
        if (op->progress < WEFT_FRAME_BYTES) {
            weft_frame_write(headers[i], queue->next + i, op->bytes);
            vec[n++] = (struct iovec){headers[i] + op->progress, WEFT_FRAME_BYTES - op->progress};
        } else {
            skip = op->progress - WEFT_FRAME_BYTES;
        }
        if (op->bytes > skip) {
            vec[n++] = (struct iovec){op->buffer + skip, op->bytes - skip};
        }
        *bytes_p += WEFT_FRAME_BYTES + op->bytes - op->progress;
    }
    return n;
}

static void stream_sent(weft_message_stream_t *stream, uint64_t bytes)
{
    weft_op_queue_t *queue = &stream->ops.send;
    while (bytes > 0) {
        weft_posted_op_t *op = weft_op_at(queue, queue->next);
        uint64_t left = WEFT_FRAME_BYTES + op->bytes - op->progress;
        uint64_t now = bytes < left ? bytes : left;
        op->progress += now;
        bytes -= now;
        if (now == left) {
            queue->next++;
            op->moved = op->bytes;
            weft_op_finish(&stream->ops, queue, op, WEFT_OK);
        }
    }
}

/* Returns OK when all is sent or the kernel takes no more. */
static weft_status_t stream_send(weft_message_stream_t *stream)
{
    for (int i = 0; i < STREAM_ROUNDS && stream->ops.send.open > 0; i++) {
        uint8_t headers[STREAM_BATCH][WEFT_FRAME_BYTES];
        struct iovec vec[2 * STREAM_BATCH];
        uint64_t bytes;
        struct msghdr message = {.msg_iov = vec};
        message.msg_iovlen = stream_send_vectors(stream, headers, vec, &bytes);
        ssize_t sent = sendmsg(stream->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EINTR) {
            return errno == EAGAIN ? WEFT_OK : stream_lost(stream, errno);
        }
        if (sent > 0) {
            stream_sent(stream, (uint64_t)sent);
        }
        if (sent >= 0 && (uint64_t)sent < bytes) {
            return WEFT_OK;
        }
    }
    return WEFT_OK;
}

/* Receiving ----------------------------------------------------------------------------------- */

static void stream_received(weft_message_stream_t *stream, uint64_t bytes)
{
    weft_posted_op_t *op = stream->in_op;
    op->moved += bytes;
    if (op->moved == op->progress) {
        stream->in_op = NULL;
        stream->ops.recv.next++;
        weft_op_finish(&stream->ops, &stream->ops.recv, op, WEFT_OK);
    }
}

/* Reads into the rest of the message, if there is one, and the stage behind its bytes. Returns
 * AGAIN when nothing is there. */
static weft_status_t stream_read(weft_message_stream_t *stream)
{
    weft_posted_op_t *op = stream->in_op;
    uint64_t rest = op != NULL ? op->progress - op->moved : 0;
    if (stream->dry) {
        return WEFT_AGAIN;
    }
    stream->stage_end -= stream->stage_at;
    memmove(stream->stage, stream->stage + stream->stage_at, stream->stage_end);
    stream->stage_at = 0;
    struct iovec vec[2] = {
        {rest > 0 ? op->buffer + op->moved : NULL, rest},
        {stream->stage + stream->stage_end, WEFT_STREAM_STAGE - stream->stage_end}};
    struct msghdr message = {.msg_iov = rest > 0 ? vec : vec + 1, .msg_iovlen = rest > 0 ? 2 : 1};
    ssize_t got = recvmsg(stream->fd, &message, MSG_DONTWAIT);
    if (got <= 0) {
        return got < 0 && (errno == EAGAIN || errno == EINTR)
                   ? WEFT_AGAIN
                   : stream_lost(stream, got < 0 ? errno : 0);
    }
    uint64_t direct = (uint64_t)got < rest ? (uint64_t)got : rest;
    stream->dry = (uint64_t)got < rest + vec[1].iov_len;
    stream->stage_end += (uint32_t)((uint64_t)got - direct);
    if (direct > 0) {
        stream_received(stream, direct);
    }
    return WEFT_OK;
}

/* Takes the header in the stage; a receive is posted for it. */
static weft_status_t stream_begin(weft_message_stream_t *stream)
{
    weft_op_queue_t *queue = &stream->ops.recv;
    weft_posted_op_t *op = weft_op_at(queue, queue->next);
    char why[WEFT_FRAME_TEXT];
    uint64_t bytes;
    if (!weft_frame_read(stream->stage + stream->stage_at, queue->next, op->bytes, &bytes, why)) {
        return stream->host->set_error(stream->host, WEFT_ERR_PROTO, 0, "from peer %s: %s",
                                       stream->peer, why);
    }
    stream->stage_at += WEFT_FRAME_BYTES;
    op->progress = bytes; /* of a receive: the length of its message */
    stream->in_op = op;
    uint64_t here = stream->stage_end - stream->stage_at;
    here = here < bytes ? here : bytes;
    if (here > 0) {
        memcpy(op->buffer, stream->stage + stream->stage_at, here);
        stream->stage_at += (uint32_t)here;
    }
    stream_received(stream, here);
    return WEFT_OK;
}

static bool stream_has_header(const weft_message_stream_t *stream)
{
    return stream->in_op == NULL && stream->stage_end - stream->stage_at >= WEFT_FRAME_BYTES;
}

/* Returns OK when nothing is left for the posted receives. */
static weft_status_t stream_receive(weft_message_stream_t *stream)
{
    weft_status_t status = WEFT_OK;
    stream->dry = false;
    for (int reads = 0; status == WEFT_OK && reads < STREAM_ROUNDS && stream->ops.recv.open > 0;) {
        if (stream_has_header(stream)) {
            status = stream_begin(stream);
        } else {
            status = stream_read(stream);
            reads++;
        }
    }
    return status == WEFT_AGAIN ? WEFT_OK : status;
}

/* Both ---------------------------------------------------------------------------------------- */

/* A stream that takes no more may still hold what the peer sent before it closed: the receives get
 * that, and then the end. */
void weft_message_stream_progress(weft_message_stream_t *stream)
{
    weft_status_t status = WEFT_OK;
    if (stream->ops.send.open > 0) {
        stream->send_failed = stream_send(stream);
        if (stream->send_failed != WEFT_OK) {
            stream_queue_fail(stream, &stream->ops.send, stream->send_failed);
        }
    }
    if (stream->ops.recv.open > 0) {
        status = stream_receive(stream);
    }
    if (status != WEFT_OK) {
        weft_message_stream_fail(stream, status);
    }
}

static weft_status_t stream_push(weft_message_stream_t *stream, const weft_net_op_t *op)
{
    const weft_host_t *host = stream->host;
    if (!weft_op_valid(op, WEFT_STREAM_MESSAGE_MAX)) {
        return host->set_error(host, WEFT_ERR_ARG, 0,
                               "cannot post an operation of kind %u with %llu bytes", op->kind,
                               (unsigned long long)op->bytes);
    }
    bool sends = op->kind == WEFT_NET_SEND;
    if (sends && stream->send_failed != WEFT_OK) {
        return stream_unusable(stream, stream->send_failed);
    }
    weft_op_queue_t *queue = sends ? &stream->ops.send : &stream->ops.recv;
    if (weft_op_prepare(queue, op) == NULL) {
        return WEFT_AGAIN;
    }
    weft_op_push(queue);
    return WEFT_OK;
}

weft_status_t weft_message_stream_post(weft_message_stream_t *stream, const weft_net_op_t *ops,
                                       uint32_t count, uint32_t *posted_p)
{
    uint32_t posted = 0;
    weft_status_t status = WEFT_OK;
    *posted_p = 0;
    if (stream->failed != WEFT_OK) {
        return stream_unusable(stream, stream->failed);
    }
    while (posted < count && (status = stream_push(stream, &ops[posted])) == WEFT_OK) {
        posted++;
    }
    *posted_p = posted;
    /* A receive waits for its bytes until poll(), unless they have been read. */
    if (stream->ops.send.open > 0 || weft_message_stream_goes_on(stream)) {
        weft_message_stream_progress(stream);
    }
    return status;
}

weft_status_t weft_message_stream_check(weft_message_stream_t *stream)
{
    char byte;
    if (stream->failed != WEFT_OK) {
        return stream_unusable(stream, stream->failed);
    }
    ssize_t got = recv(stream->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got > 0 || stream_has_header(stream) || (got < 0 && (errno == EAGAIN || errno == EINTR))) {
        return WEFT_OK;
    }
    weft_status_t status = stream_lost(stream, got < 0 ? errno : 0);
    weft_message_stream_fail(stream, status);
    return status;
}

uint32_t weft_message_stream_events(const weft_message_stream_t *stream)
{
    return (stream->ops.recv.open > 0 ? (uint32_t)POLLIN : 0u) |
           (stream->ops.send.open > 0 ? (uint32_t)POLLOUT : 0u);
}

bool weft_message_stream_goes_on(const weft_message_stream_t *stream)
{
    return stream->ops.recv.open > 0 && stream_has_header(stream);
}
