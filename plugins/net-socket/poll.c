/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Progress of a device. With few busy streams each is tried in turn, which costs one system call per
 * stream and none for idle ones; with many, epoll says which to try. The kernel's interest list is
 * brought up to date only where it will be used. */
#include <errno.h>
#include <sys/epoll.h>

#include "socket.h"

#define SWEEP_MAX 8u /* busy streams up to which trying all beats asking epoll */
#define EVENTS 32
#define END_PATIENCE_NS UINT64_C(50000000) /* for data that other streams still carry */

static uint32_t stream_interest(const sock_stream_t *stream)
{
    const weft_net_conn_t *conn = stream->conn;
    uint32_t events = 0;
    if (conn->failed != WEFT_OK) {
        return 0;
    }
    if (conn->recv.open > 0 && !stream->ended && !stream->stalled) {
        events |= EPOLLIN;
    }
    if (stream->blocked && conn->send.open > 0) {
        events |= EPOLLOUT;
    }
    return events;
}

void sock_stream_disarm(sock_stream_t *stream)
{
    if (stream->armed != 0) {
        epoll_ctl(stream->conn->device->epoll, EPOLL_CTL_DEL, stream->fd, NULL);
        stream->armed = 0;
    }
}

/* A stream without interest leaves the list: EPOLLHUP would be reported even for an empty mask. */
void sock_stream_arm(sock_stream_t *stream)
{
    uint32_t events = stream_interest(stream);
    if (events == stream->armed) {
        return;
    }
    if (events == 0) {
        sock_stream_disarm(stream);
        return;
    }
    struct epoll_event event = {.events = events, .data = {.ptr = stream}};
    int verb = stream->armed == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    if (epoll_ctl(stream->conn->device->epoll, verb, stream->fd, &event) == 0) {
        stream->armed = events;
    }
}

static void conn_arm(weft_net_conn_t *conn)
{
    for (uint32_t i = 0; i < conn->nstreams; i++) {
        sock_stream_arm(&conn->streams[i]);
    }
}

static void device_arm(weft_net_device_t *device)
{
    for (weft_net_conn_t *conn = device->conns; conn != NULL; conn = conn->next) {
        conn_arm(conn);
    }
}

/* The end of one stream is the end of the connection, but other streams may carry data that was sent
 * before; it gets a moment to arrive. */
static weft_status_t conn_ended(weft_net_conn_t *conn)
{
    uint32_t ended = 0;
    for (uint32_t i = 0; i < conn->nstreams; i++) {
        ended += conn->streams[i].ended ? 1 : 0;
    }
    if (ended == 0 || conn->recv.open == 0) {
        return WEFT_OK;
    }
    uint64_t now = conn->host->clock_ns(conn->host);
    conn->ended_ns = conn->ended_ns == 0 ? now : conn->ended_ns;
    bool over = ended == conn->nstreams || now - conn->ended_ns > END_PATIENCE_NS;
    return over ? sock_conn_lost(conn, 0) : WEFT_OK;
}

static void conn_visit(weft_net_conn_t *conn)
{
    weft_status_t status = WEFT_OK;
    if (conn->send.open > 0) {
        for (uint32_t i = 0; i < conn->nstreams; i++) {
            conn->streams[i].blocked = false;
        }
        status = sock_conn_send(conn);
    }
    for (uint32_t i = 0; i < conn->nstreams && status == WEFT_OK && conn->recv.open > 0; i++) {
        status = sock_stream_receive(&conn->streams[i]);
    }
    status = status == WEFT_OK ? conn_ended(conn) : status;
    if (status != WEFT_OK) {
        sock_conn_fail(conn, status);
    }
}

/* No event comes from a stream that ended; time alone decides. */
static bool conn_ending(const weft_net_conn_t *conn)
{
    return conn->busy && conn->ended_ns != 0;
}

static void device_sweep(weft_net_device_t *device)
{
    for (weft_net_conn_t *conn = device->conns; conn != NULL; conn = conn->next) {
        if (conn->busy) {
            conn_visit(conn);
        }
    }
}

static void device_events(weft_net_device_t *device)
{
    struct epoll_event events[EVENTS];
    int n = epoll_wait(device->epoll, events, EVENTS, 0);
    for (int i = 0; i < n; i++) {
        sock_stream_t *stream = events[i].data.ptr;
        if (stream == NULL) {
            continue; /* a listener, accept() looks after it */
        }
        if (stream->conn->busy) {
            conn_visit(stream->conn);
        }
        conn_arm(stream->conn);
    }
    for (weft_net_conn_t *conn = device->conns; n == 0 && conn != NULL; conn = conn->next) {
        if (conn_ending(conn)) {
            conn_visit(conn);
        }
    }
}

static uint32_t queue_give(weft_net_conn_t *conn, sock_queue_t *queue, uint32_t kind,
                           weft_net_completion_t *out, uint32_t max)
{
    uint32_t n = 0;
    while (n < max && queue->head != queue->tail && queue->ops[queue->head % SOCK_OPS].done) {
        const sock_op_t *op = &queue->ops[queue->head % SOCK_OPS];
        out[n++] = (weft_net_completion_t){.context = op->context,
                                           .status = op->status,
                                           .kind = kind,
                                           .bytes = op->moved,
                                           .conn = conn};
        queue->head++;
    }
    return n;
}

static uint32_t device_give(weft_net_device_t *device, weft_net_completion_t *out, uint32_t max)
{
    uint32_t n = 0;
    while (device->done != NULL && n < max) {
        weft_net_conn_t *conn = device->done;
        n += queue_give(conn, &conn->recv, WEFT_NET_RECV, out + n, max - n);
        n += queue_give(conn, &conn->send, WEFT_NET_SEND, out + n, max - n);
        if (n < max) {
            device->done = conn->done_next;
            conn->done_listed = false;
        }
    }
    return n;
}

weft_status_t sock_poll(weft_net_device_t *device, weft_net_completion_t *completions, uint32_t max,
                        uint32_t *count_p)
{
    bool many = device->busy > SWEEP_MAX;
    if (many && !device->many) {
        device_arm(device);
    }
    device->many = many;
    if (many) {
        device_events(device);
    } else if (device->busy > 0) {
        device_sweep(device);
    }
    *count_p = device_give(device, completions, max);
    return WEFT_OK;
}

weft_status_t sock_wait_fd(weft_net_device_t *device, int *fd_p)
{
    *fd_p = device->epoll;
    device_arm(device);
    bool something = device->done != NULL;
    for (weft_net_conn_t *conn = device->conns; !something && conn != NULL; conn = conn->next) {
        something = conn_ending(conn);
    }
    return something ? WEFT_AGAIN : WEFT_OK;
}
