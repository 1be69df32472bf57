/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections: creation, posting, failure, end. */
#include "sock_conn.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

#include "sock_backoff.h"
#include "sock_op.h"
#include "sock_rails.h"
#include "sock_stream.h"
#include "sock_watch.h"

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
    conn->info.size = sizeof conn->info;
    memcpy(conn->info.label, label, WEFT_AUTH_LABEL);
    for (uint32_t i = 0; i < nstreams; i++) {
        conn->streams[i].conn = conn;
        conn->streams[i].fd = -1;
    }
    return conn;
}

static void sock_conn_tune(const weft_net_conn_t *conn)
{
    int bytes = (int)conn->chunk;
    for (uint32_t i = 0; i < conn->nstreams; i++) {
        int fd = conn->streams[i].fd;
        sock_congestion_settle(&conn->device->net->congestion, fd);
        (void)sock_backoff_limit(fd);
        /* What waits in the kernel's buffer of one rail cannot go over another one. */
        if (conn->rails != NULL) {
            setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof bytes);
        }
    }
}

void sock_conn_ready(weft_net_conn_t *conn)
{
    uint32_t sending = 0;
    bool rails = conn->rails != NULL;
    conn->lead = rails ? NULL : conn->streams;
    for (uint32_t i = 0; i < conn->nstreams; i++) {
        sock_stream_t *stream = &conn->streams[i];
        uint32_t number = rails ? i % conn->rails->per_rail : i;
        stream->sends = conn->nstreams == 1 || number % 2 == conn->info.connector;
        stream->receives = rails || i == 0 || number % 2 != conn->info.connector;
        stream->eager = rails || i == 0;
        conn->lead = conn->lead == NULL && stream->sends ? stream : conn->lead;
        sending += stream->sends ? 1 : 0;
    }
    /* A single stream keeps the order by itself, so a message needs only one header. */
    conn->chunk = sending <= 1 ? SOCK_CHUNK_MAX : conn->device->net->config.chunk;
    sock_conn_tune(conn);
    weft_op_queues_attach(&conn->ops, conn, &conn->device->done);
    if (rails) {
        sock_rails_wrote(conn); /* what it wrote on another device */
    }
    conn->ready = true;
    conn->prev = NULL;
    conn->next = conn->device->conns;
    if (conn->next != NULL) {
        conn->next->prev = conn;
    }
    conn->device->conns = conn;
    if (rails || conn->ended > 0) {
        sock_conn_set_timed(conn);
    }
}

static void sock_queue_fail(weft_net_conn_t *conn, weft_op_queue_t *queue, weft_status_t status)
{
    uint32_t number = queue->head;
    weft_posted_op_t *op;
    while ((op = weft_op_next_open(queue, &number)) != NULL) {
        sock_op_finish(conn, queue, op, status);
    }
}

void sock_conn_fail(weft_net_conn_t *conn, weft_status_t status)
{
    if (conn->failed != WEFT_OK) {
        return;
    }
    conn->failed = status;
    conn->device->failing = true;
    sock_conn_disarm(conn);
    for (uint32_t i = 0; i < conn->nstreams; i++) {
        if (conn->streams[i].fd >= 0) {
            shutdown(conn->streams[i].fd, SHUT_RDWR);
        }
    }
    sock_queue_fail(conn, &conn->ops.recv, status);
    sock_queue_fail(conn, &conn->ops.send, status);
}

weft_status_t sock_conn_unusable(weft_net_conn_t *conn)
{
    if (conn->loss.text[0] != '\0') {
        return conn->host->set_error(conn->host, conn->failed, conn->loss.cause, "%s",
                                     conn->loss.text);
    }
    return conn->host->set_error(conn->host, conn->failed, 0, "connection to peer %s ended before",
                                 conn->info.peer);
}

/* Moves what can be moved at once, so that a small message leaves with its post. */
static void sock_conn_start(weft_net_conn_t *conn)
{
    weft_status_t status = WEFT_OK;
    if (conn->ops.send.next != conn->ops.send.tail) {
        status = sock_conn_send(conn);
    }
    bool look = conn->stalled || conn->device->many;
    conn->stalled = false; /* those that still are say so again */
    for (uint32_t i = 0; look && i < conn->nstreams; i++) {
        sock_stream_t *stream = &conn->streams[i];
        if (status == WEFT_OK && stream->stalled) {
            status = sock_stream_receive(stream);
        }
        if (status == WEFT_OK && conn->device->many) {
            sock_stream_arm(stream);
        }
    }
    if (status == WEFT_OK && conn->rails != NULL && conn->rails->due) {
        status = sock_conn_send(conn);
    }
    if (status != WEFT_OK) {
        sock_conn_fail(conn, status);
    }
}

/* `payload` may be NULL. */
static weft_status_t sock_conn_push(weft_net_conn_t *conn, const weft_net_op_t *op,
                                    const sock_payload_t *payload)
{
    const weft_host_t *host = conn->host;
    if (!conn->ready || !weft_op_valid(op, SOCK_MESSAGE_MAX)) {
        return host->set_error(host, conn->ready ? WEFT_ERR_ARG : WEFT_ERR_STATE, 0,
                               "cannot post operation of kind %u with %llu bytes", op->kind,
                               (unsigned long long)op->bytes);
    }
    weft_op_queue_t *queue = op->kind == WEFT_NET_SEND ? &conn->ops.send : &conn->ops.recv;
    bool sends = op->kind == WEFT_NET_SEND;
    weft_posted_op_t *posted = weft_op_prepare(queue, op);
    if (posted == NULL) {
        return WEFT_AGAIN;
    }
    sock_payload_t *rest = sends ? conn->send_payload : conn->recv_payload;
    rest[posted - queue->ops] = payload != NULL ? *payload : (sock_payload_t){.at = NULL};
    posted->bytes += payload != NULL ? payload->bytes : 0;
    weft_op_push(queue);
    return WEFT_OK;
}

weft_status_t sock_post(weft_net_conn_t *conn, const weft_net_op_t *ops, uint32_t count,
                        uint32_t *posted_p)
{
    *posted_p = 0;
    if (conn->failed != WEFT_OK) {
        return sock_conn_unusable(conn);
    }
    weft_status_t status = WEFT_OK;
    uint32_t posted = 0;
    while (posted < count && (status = sock_conn_push(conn, &ops[posted], NULL)) == WEFT_OK) {
        posted++;
    }
    *posted_p = posted;
    sock_conn_set_busy(conn);
    sock_conn_start(conn);
    return status;
}

weft_status_t sock_send_payload(weft_net_conn_t *conn, const weft_net_op_t *op, const void *payload,
                                uint64_t bytes)
{
    if (conn->failed != WEFT_OK) {
        return sock_conn_unusable(conn);
    }
    /* sendmsg() does not write through its vector. */
    sock_payload_t rest = {
        .at = (uint8_t *)(uintptr_t)payload, .header = op->bytes, .bytes = bytes};
    weft_status_t status = sock_conn_push(conn, op, &rest);
    sock_conn_set_busy(conn);
    sock_conn_start(conn);
    return status;
}

weft_status_t sock_place_payload(weft_net_conn_t *conn, const void *context, uint64_t header,
                                 void *payload, uint64_t bytes)
{
    weft_op_queue_t *queue = &conn->ops.recv;
    uint32_t number = queue->head;
    const weft_posted_op_t *op;
    while ((op = weft_op_next_open(queue, &number)) != NULL && op->context != context) {
    }
    if (op == NULL || op->progress > 0 || conn->failed != WEFT_OK) {
        return WEFT_AGAIN;
    }
    conn->recv_payload[op - queue->ops] =
        (sock_payload_t){.at = payload, .header = header, .bytes = bytes};
    return WEFT_OK;
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

typedef enum hint { HINT_QUIET, HINT_DATA, HINT_OVER } sock_hint_t;

/* Looks what the stream still has to offer. *cause_p is set as sock_conn_lost() takes it; it
 * stays 0 for the peer's orderly end. */
static sock_hint_t sock_stream_hint(const sock_stream_t *stream, int *cause_p)
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

/* The end of all streams is the end of the connection, and so is the loss of one, but not before
 * everything that was sent has been received: data may wait in the kernel or, read ahead, in the
 * stage for receives that are still to be posted, or be on its way on a stream that has not
 * ended. */
weft_status_t sock_conn_check(weft_net_conn_t *conn)
{
    int cause = 0;
    uint32_t over = 0;
    if (conn->failed != WEFT_OK) {
        return sock_conn_unusable(conn);
    }
    for (uint32_t i = 0; i < conn->nstreams; i++) {
        if (conn->streams[i].fd < 0) {
            over++; /* cut */
            continue;
        }
        sock_hint_t hint = sock_stream_hint(&conn->streams[i], &cause);
        if (hint == HINT_DATA) {
            return WEFT_OK;
        }
        over += hint == HINT_OVER ? 1 : 0;
    }
    if (over < conn->nstreams && (cause == 0 || conn->rails != NULL)) {
        return WEFT_OK;
    }
    weft_status_t status = sock_conn_lost(conn, cause);
    sock_conn_fail(conn, status);
    return status;
}

/* Takes the connection from its device. */
static void sock_conn_unlist(weft_net_conn_t *conn)
{
    weft_net_device_t *device = conn->device;
    sock_conn_disarm(conn);
    if (conn->ready) {
        *(conn->prev != NULL ? &conn->prev->next : &device->conns) = conn->next;
        if (conn->next != NULL) {
            conn->next->prev = conn->prev;
        }
        device->timed -= conn->timed ? 1 : 0;
        conn->timed = false;
    }
    weft_op_queues_detach(&conn->ops);
    if (conn->rails != NULL) {
        conn->rails->due = false;
        sock_rails_leave_watch(conn);
    }
    sock_conn_set_busy(conn);
}

weft_status_t sock_conn_attach(weft_net_conn_t *conn, weft_net_device_t *device)
{
    if (!conn->ready || weft_op_queues_used(&conn->ops)) {
        return conn->host->set_error(conn->host, WEFT_ERR_STATE, 0,
                                     "connection to peer %s is not ready, or in use",
                                     conn->info.peer);
    }
    sock_conn_unlist(conn);
    conn->device = device;
    sock_conn_ready(conn);
    return WEFT_OK;
}

void sock_conn_close(weft_net_conn_t *conn)
{
    if (conn == NULL) {
        return;
    }
    sock_conn_unlist(conn);
    conn->host->free(conn->host, conn->attempt);
    conn->host->free(conn->host, conn->rails);
    for (uint32_t i = 0; i < conn->nstreams; i++) {
        if (conn->streams[i].fd >= 0) {
            close(conn->streams[i].fd);
        }
    }
    conn->host->free(conn->host, conn);
}
