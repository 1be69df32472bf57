/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections: life, posting, completion, failure. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hello.h"

weft_net_conn_t *ib_conn_create(weft_net_device_t *device, const uint8_t label[WEFT_AUTH_LABEL])
{
    const weft_host_t *host = device->host;
    const ib_config_t *config = &device->net->config;
    weft_net_conn_t *conn = host->alloc(host, sizeof *conn, 0);
    if (conn == NULL) {
        return NULL;
    }
    conn->host = host;
    conn->device = device;
    conn->side = -1;
    conn->with_immediate = !device->rails[0]->hca->iwarp;
    conn->info.size = sizeof conn->info;
    memcpy(conn->info.label, label, WEFT_AUTH_LABEL);
    conn->nrails = device->nrails;
    conn->nlanes = 1 + (uint32_t)config->qps * device->nrails;
    conn->nlanes = conn->nlanes > IB_LANES_MAX ? IB_LANES_MAX : conn->nlanes;
    for (uint32_t i = 0; i < conn->nrails; i++) {
        conn->rails[i].port = device->rails[i];
        conn->rails[i].watch = (ib_watch_t){.kind = IB_WATCH_CHANNEL, .owner = conn};
    }
    bool apart = !ib_port_is_ethernet(device->rails[0]);
    conn->apart = config->adaptive_routing == 0 ? apart : config->adaptive_routing == 1;
    conn->side_watch = (ib_watch_t){.kind = IB_WATCH_SIDE, .owner = conn};
    /* Rings have pages of their own: the peer may write to one of them. */
    conn->grants_in = host->alloc(host, IB_OPS * sizeof(ib_grant_t), 4096);
    conn->grants_out = host->alloc(host, IB_OPS * sizeof(ib_grant_t), 4096);
    if (conn->grants_in == NULL || conn->grants_out == NULL) {
        ib_conn_close(conn);
        return NULL;
    }
    return conn;
}

static void conn_watch(weft_net_conn_t *conn)
{
    int epoll = conn->device->epoll;
    for (uint32_t i = 0; i < conn->nrails; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = &conn->rails[i].watch}};
        epoll_ctl(epoll, EPOLL_CTL_ADD, conn->rails[i].channel->fd, &event);
    }
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data = {.ptr = &conn->side_watch}};
    conn->side_watched = epoll_ctl(epoll, EPOLL_CTL_ADD, conn->side, &event) == 0;
}

static void conn_unwatch(weft_net_conn_t *conn)
{
    int epoll = conn->device->epoll;
    for (uint32_t i = 0; i < conn->nrails; i++) {
        epoll_ctl(epoll, EPOLL_CTL_DEL, conn->rails[i].channel->fd, NULL);
    }
    if (conn->side_watched) {
        epoll_ctl(epoll, EPOLL_CTL_DEL, conn->side, NULL);
        conn->side_watched = false;
    }
}

static void conn_list(weft_net_conn_t *conn, bool busy)
{
    weft_net_device_t *device = conn->device;
    if (busy == conn->busy) {
        return;
    }
    conn->busy = busy;
    if (busy) {
        conn->prev = NULL;
        conn->next = device->conns;
        if (conn->next != NULL) {
            conn->next->prev = conn;
        }
        device->conns = conn;
        return;
    }
    *(conn->prev != NULL ? &conn->prev->next : &device->conns) = conn->next;
    if (conn->next != NULL) {
        conn->next->prev = conn->prev;
    }
}

void ib_conn_set_busy(weft_net_conn_t *conn)
{
    conn_list(conn, conn->send.open + conn->recv.open > 0 || conn->moving);
}

void ib_conn_ready(weft_net_conn_t *conn)
{
    conn->ready = true;
    conn_watch(conn);
    ib_conn_set_busy(conn);
}

void ib_op_finish(weft_net_conn_t *conn, ib_queue_t *queue, ib_op_t *op, weft_status_t status)
{
    op->done = true;
    op->status = status;
    if (op->own) {
        ib_region_fini(&queue->own[op - queue->ops]);
        op->own = false;
    }
    queue->open--;
    ib_conn_set_busy(conn);
    const ib_op_t *first = &queue->ops[queue->head % IB_OPS];
    if (!conn->done_listed && queue->head != queue->tail && first->done) {
        conn->done_listed = true;
        conn->done_next = conn->device->done;
        conn->device->done = conn;
    }
}

static void queue_fail(weft_net_conn_t *conn, ib_queue_t *queue, weft_status_t status)
{
    for (uint32_t i = queue->head; i != queue->tail; i++) {
        ib_op_t *op = &queue->ops[i % IB_OPS];
        if (!op->done) {
            ib_op_finish(conn, queue, op, status);
        }
    }
}

void ib_conn_fail(weft_net_conn_t *conn, weft_status_t status)
{
    if (conn->failed != WEFT_OK) {
        return;
    }
    /* To those who wait for a completion it is the link that is gone; the peer is told more. */
    conn->failed = status == WEFT_ERR_RESOURCE ? WEFT_ERR_LINK : status;
    conn->moving = false;
    /* Only then nobody writes to the buffers that are given back. */
    ib_lanes_stop(conn);
    ib_health_farewell(conn, status);
    queue_fail(conn, &conn->recv, conn->failed);
    queue_fail(conn, &conn->send, conn->failed);
    ib_conn_set_busy(conn);
}

static weft_status_t conn_unusable(const weft_net_conn_t *conn)
{
    return conn->host->set_error(conn->host, conn->failed, 0, "connection to peer %s ended before",
                                 conn->info.peer);
}

static bool op_valid(const weft_net_op_t *op)
{
    return (op->kind == WEFT_NET_SEND || op->kind == WEFT_NET_RECV) &&
           op->bytes <= IB_MESSAGE_MAX && (op->buffer != NULL || op->bytes == 0);
}

/* Memory that the caller did not register is registered for the time of the operation. */
static weft_status_t op_register(weft_net_conn_t *conn, const weft_net_op_t *op, ib_queue_t *queue,
                                 ib_op_t *mine)
{
    bool sends = op->kind == WEFT_NET_SEND;
    mine->region = op->region;
    if (op->region != NULL || op->bytes == 0 || (sends && op->bytes <= conn->lanes[1].inline_max)) {
        return WEFT_OK;
    }
    weft_net_region_t *own = &queue->own[mine - queue->ops];
    weft_status_t status = ib_region_init(conn->device, op->buffer, op->bytes,
                                          sends ? IB_PIN_READ : IB_PIN_WRITE, own);
    mine->own = status == WEFT_OK;
    mine->region = own;
    return status;
}

static weft_status_t conn_push(weft_net_conn_t *conn, const weft_net_op_t *op)
{
    const weft_host_t *host = conn->host;
    if (!conn->ready || !op_valid(op)) {
        return host->set_error(host, conn->ready ? WEFT_ERR_ARG : WEFT_ERR_STATE, 0,
                               "cannot post operation of kind %u with %llu bytes", op->kind,
                               (unsigned long long)op->bytes);
    }
    ib_queue_t *queue = op->kind == WEFT_NET_SEND ? &conn->send : &conn->recv;
    if (queue->tail - queue->head == IB_OPS) {
        return WEFT_AGAIN;
    }
    ib_op_t *mine = &queue->ops[queue->tail % IB_OPS];
    *mine = (ib_op_t){.buffer = op->buffer, .bytes = op->bytes, .context = op->context};
    weft_status_t status = op_register(conn, op, queue, mine);
    if (status == WEFT_OK) {
        queue->tail++;
        queue->open++;
    }
    return status;
}

weft_status_t ib_post(weft_net_conn_t *conn, const weft_net_op_t *ops, uint32_t count,
                      uint32_t *posted_p)
{
    *posted_p = 0;
    if (conn->failed != WEFT_OK) {
        return conn_unusable(conn);
    }
    weft_status_t status = WEFT_OK;
    while (*posted_p < count && status == WEFT_OK) {
        status = conn_push(conn, &ops[*posted_p]);
        *posted_p += status == WEFT_OK ? 1 : 0;
    }
    ib_conn_set_busy(conn);
    /* An adapter that refuses memory is not asked again: what would give it back may never come. */
    weft_status_t flow = status == WEFT_ERR_RESOURCE ? status : WEFT_OK;
    if (flow == WEFT_OK && conn->send.next != conn->send.tail) {
        flow = ib_flow_send(conn);
    }
    if (conn->recv.granted != conn->recv.tail && flow == WEFT_OK) {
        flow = ib_flow_grant(conn);
    }
    if (flow != WEFT_OK) {
        ib_conn_fail(conn, flow);
    }
    return status;
}

weft_status_t ib_cancel(weft_net_conn_t *conn)
{
    ib_conn_fail(conn, WEFT_ERR_ABORTED);
    return WEFT_OK;
}

weft_status_t ib_conn_info(weft_net_conn_t *conn, weft_net_conn_info_t *info)
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

static void conn_unlist(weft_net_conn_t *conn)
{
    weft_net_device_t *device = conn->device;
    for (weft_net_conn_t **link = &device->done; *link != NULL; link = &(*link)->done_next) {
        if (*link == conn) {
            *link = conn->done_next;
            break;
        }
    }
    conn->done_listed = false;
    conn->send.open = conn->recv.open = 0;
    conn_list(conn, false);
    if (conn->ready) {
        conn_unwatch(conn);
    }
}

weft_status_t ib_conn_attach(weft_net_conn_t *conn, weft_net_device_t *device)
{
    bool used = conn->send.tail != 0 || conn->recv.tail != 0;
    if (!conn->ready || conn->failed != WEFT_OK || used) {
        return conn->host->set_error(conn->host, WEFT_ERR_STATE, 0,
                                     "connection to peer %s is not ready, or in use",
                                     conn->info.peer);
    }
    conn_unlist(conn);
    conn->device = device;
    ib_conn_ready(conn);
    return WEFT_OK;
}

static void queue_release(ib_queue_t *queue)
{
    for (uint32_t i = queue->head; i != queue->tail; i++) {
        if (queue->ops[i % IB_OPS].own) {
            ib_region_fini(&queue->own[i % IB_OPS]);
        }
    }
}

void ib_conn_close(weft_net_conn_t *conn)
{
    if (conn == NULL) {
        return;
    }
    const weft_host_t *host = conn->host;
    conn_unlist(conn);
    ib_dial_close(conn);
    ib_failover_fini(conn);
    ib_lanes_destroy(conn);
    queue_release(&conn->send);
    queue_release(&conn->recv);
    if (conn->side >= 0) {
        close(conn->side);
    }
    host->free(host, conn->grants_in);
    host->free(host, conn->grants_out);
    host->free(host, conn);
}
