/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections: life, posting, completion, failure. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "socket.h"

weft_net_conn_t *sock_conn_create(weft_net_device_t *device, uint32_t nstreams,
                                  const uint8_t label[WEFT_AUTH_LABEL])
{
    const weft_host_t *host = device->host;
    weft_net_conn_t *conn = host->alloc(host, sizeof *conn + nstreams * sizeof(sock_stream_t), 0);
    if (conn == NULL) {
        return NULL;
    }
    conn->host = host;
    conn->device = device;
    conn->nstreams = nstreams;
    /* One stream keeps the order by itself, so a message needs only one header. */
    conn->chunk = nstreams == 1 ? SOCK_CHUNK_MAX : device->net->config.chunk;
    conn->info.size = sizeof conn->info;
    memcpy(conn->info.label, label, WEFT_AUTH_LABEL);
    for (uint32_t i = 0; i < nstreams; i++) {
        conn->streams[i].conn = conn;
        conn->streams[i].fd = -1;
    }
    return conn;
}

void sock_conn_ready(weft_net_conn_t *conn)
{
    conn->ready = true;
    conn->prev = NULL;
    conn->next = conn->device->conns;
    if (conn->next != NULL) {
        conn->next->prev = conn;
    }
    conn->device->conns = conn;
}

static void conn_set_busy(weft_net_conn_t *conn)
{
    bool busy = conn->send.open + conn->recv.open > 0;
    if (busy != conn->busy) {
        conn->busy = busy;
        conn->device->busy += busy ? conn->nstreams : 0u - conn->nstreams;
    }
}

static bool queue_has_done(const sock_queue_t *queue)
{
    return queue->head != queue->tail && queue->ops[queue->head % SOCK_OPS].done;
}

void sock_op_finish(weft_net_conn_t *conn, sock_queue_t *queue, sock_op_t *op, weft_status_t status)
{
    op->done = true;
    op->status = status;
    queue->open--;
    conn_set_busy(conn);
    if (!conn->done_listed && queue_has_done(queue)) {
        conn->done_listed = true;
        conn->done_next = conn->device->done;
        conn->device->done = conn;
    }
}

static void queue_fail(weft_net_conn_t *conn, sock_queue_t *queue, weft_status_t status)
{
    for (uint32_t i = queue->head; i != queue->tail; i++) {
        sock_op_t *op = &queue->ops[i % SOCK_OPS];
        if (!op->done) {
            sock_op_finish(conn, queue, op, status);
        }
    }
}

void sock_conn_fail(weft_net_conn_t *conn, weft_status_t status)
{
    if (conn->failed != WEFT_OK) {
        return;
    }
    conn->failed = status;
    for (uint32_t i = 0; i < conn->nstreams; i++) {
        sock_stream_disarm(&conn->streams[i]);
        shutdown(conn->streams[i].fd, SHUT_RDWR);
    }
    queue_fail(conn, &conn->recv, status);
    queue_fail(conn, &conn->send, status);
}

weft_status_t sock_conn_lost(weft_net_conn_t *conn, int cause)
{
    const weft_host_t *host = conn->host;
    if (cause == 0 || cause == EPIPE) {
        return host->set_error(host, WEFT_ERR_PEER_DEAD, 0, "peer %s closed the connection",
                               conn->info.peer);
    }
    return host->set_error(host, WEFT_ERR_LINK, cause, "connection to peer %s", conn->info.peer);
}

static weft_status_t conn_unusable(const weft_net_conn_t *conn)
{
    return conn->host->set_error(conn->host, conn->failed, 0, "connection to peer %s ended before",
                                 conn->info.peer);
}

/* Returns false when the queue is full. */
static bool queue_push(sock_queue_t *queue, const weft_net_op_t *op)
{
    if (queue->tail - queue->head == SOCK_OPS) {
        return false;
    }
    queue->ops[queue->tail % SOCK_OPS] =
        (sock_op_t){.buffer = op->buffer, .bytes = op->bytes, .context = op->context};
    queue->tail++;
    queue->open++;
    return true;
}

static bool op_valid(const weft_net_op_t *op)
{
    return (op->kind == WEFT_NET_SEND || op->kind == WEFT_NET_RECV) &&
           op->bytes <= SOCK_MESSAGE_MAX && (op->buffer != NULL || op->bytes == 0);
}

/* Moves what can be moved at once: a small message leaves with the post. */
static void conn_start(weft_net_conn_t *conn)
{
    weft_status_t status = WEFT_OK;
    if (conn->send.next != conn->send.tail) {
        status = sock_conn_send(conn);
    }
    for (uint32_t i = 0; i < conn->nstreams; i++) {
        sock_stream_t *stream = &conn->streams[i];
        if (status == WEFT_OK && stream->stalled) {
            status = sock_stream_receive(stream);
        }
        if (status == WEFT_OK && conn->device->many) {
            sock_stream_arm(stream);
        }
    }
    if (status != WEFT_OK) {
        sock_conn_fail(conn, status);
    }
}

weft_status_t sock_post(weft_net_conn_t *conn, const weft_net_op_t *ops, uint32_t count,
                        uint32_t *posted_p)
{
    *posted_p = 0;
    if (conn->failed != WEFT_OK) {
        return conn_unusable(conn);
    }
    weft_status_t status = WEFT_OK;
    for (; *posted_p < count; (*posted_p)++) {
        const weft_net_op_t *op = &ops[*posted_p];
        if (!conn->ready || !op_valid(op)) {
            status = conn->host->set_error(conn->host, conn->ready ? WEFT_ERR_ARG : WEFT_ERR_STATE,
                                           0, "cannot post operation of kind %u with %llu bytes",
                                           op->kind, (unsigned long long)op->bytes);
            break;
        }
        if (!queue_push(op->kind == WEFT_NET_SEND ? &conn->send : &conn->recv, op)) {
            status = WEFT_AGAIN;
            break;
        }
    }
    conn_set_busy(conn);
    conn_start(conn);
    return status;
}

weft_status_t sock_cancel(weft_net_conn_t *conn)
{
    sock_conn_fail(conn, WEFT_ERR_ABORTED);
    return WEFT_OK;
}

weft_status_t sock_conn_info(weft_net_conn_t *conn, weft_net_conn_info_t *info)
{
    if (!conn->ready) {
        return conn->host->set_error(conn->host, WEFT_ERR_STATE, 0, "connection is not ready");
    }
    size_t size = info->size < sizeof conn->info ? info->size : sizeof conn->info;
    size_t skip = sizeof conn->info.size;
    if (size > skip) {
        memcpy((char *)info + skip, (const char *)&conn->info + skip, size - skip);
    }
    return WEFT_OK;
}

typedef enum hint { HINT_QUIET, HINT_DATA, HINT_OVER } hint_t;

/* What the stream still has for us. *cause_p as sock_conn_lost() takes it: 0 is the peer's orderly end. */
static hint_t stream_hint(const sock_stream_t *stream, int *cause_p)
{
    char byte;
    ssize_t got;
    if (stream->stage_end > stream->stage_at) {
        return HINT_DATA;
    }
    do {
        got = recv(stream->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    } while (got < 0 && errno == EINTR);
    if (got > 0 || (got < 0 && errno == EAGAIN)) {
        return got > 0 ? HINT_DATA : HINT_QUIET;
    }
    *cause_p = got < 0 ? errno : *cause_p;
    return HINT_OVER;
}

/* The end of one stream is the end of the connection, but not before all that was sent has been taken:
 * data may wait in the kernel or, read ahead, here, for receives that are still to be posted. */
weft_status_t sock_conn_check(weft_net_conn_t *conn)
{
    int cause = 0;
    bool over = false;
    if (conn->failed != WEFT_OK) {
        return conn_unusable(conn);
    }
    for (uint32_t i = 0; i < conn->nstreams; i++) {
        hint_t hint = stream_hint(&conn->streams[i], &cause);
        if (hint == HINT_DATA) {
            return WEFT_OK;
        }
        over = over || hint == HINT_OVER;
    }
    if (!over) {
        return WEFT_OK;
    }
    weft_status_t status = sock_conn_lost(conn, cause);
    sock_conn_fail(conn, status);
    return status;
}

static void conn_unlist(weft_net_conn_t *conn)
{
    weft_net_device_t *device = conn->device;
    if (conn->ready) {
        *(conn->prev != NULL ? &conn->prev->next : &device->conns) = conn->next;
        if (conn->next != NULL) {
            conn->next->prev = conn->prev;
        }
    }
    for (weft_net_conn_t **link = &device->done; *link != NULL; link = &(*link)->done_next) {
        if (*link == conn) {
            *link = conn->done_next;
            break;
        }
    }
    conn->send.open = conn->recv.open = 0;
    conn_set_busy(conn);
}

weft_status_t sock_conn_attach(weft_net_conn_t *conn, weft_net_device_t *device)
{
    if (!conn->ready || conn->failed != WEFT_OK || conn->send.tail != 0 || conn->recv.tail != 0) {
        return conn->host->set_error(conn->host, WEFT_ERR_STATE, 0,
                                     "connection to peer %s is not ready, or in use",
                                     conn->info.peer);
    }
    conn_unlist(conn);
    conn->device = device;
    sock_conn_ready(conn);
    return WEFT_OK;
}

void sock_conn_close(weft_net_conn_t *conn)
{
    if (conn == NULL) {
        return;
    }
    conn_unlist(conn);
    sock_attempt_close(conn);
    for (uint32_t i = 0; i < conn->nstreams; i++) {
        if (conn->streams[i].fd >= 0) {
            sock_stream_disarm(&conn->streams[i]);
            close(conn->streams[i].fd);
        }
    }
    conn->host->free(conn->host, conn);
}
