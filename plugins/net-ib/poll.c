/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Progress of a device: completion queues of connections with something open, at times the
 * descriptors behind them, and the completions for the core. */
#include <arpa/inet.h>
#include <stdio.h>
#include <sys/epoll.h>

#include "ib.h"

#define BATCH 16
#define EVENTS 16
#define QUIET_POLLS 256u    /* polls between two looks at the descriptors */
#define REFILL (IB_OPS / 2) /* receives are posted again in groups */

/* Completions of one queue keep its order; one that does not would end the wrong operation. */
static weft_status_t out_of_order(const weft_net_conn_t *conn, const ib_lane_t *lane)
{
    const ib_port_t *port = conn->rails[lane->rail].port;
    return conn->host->set_error(conn->host, WEFT_ERR_LINK, 0,
                                 "adapter %s:%u completed a request for peer %s twice or out of "
                                 "order; update driver and firmware",
                                 port->hca->name, port->number, conn->info.peer);
}

static weft_status_t sent(weft_net_conn_t *conn, ib_lane_t *lane, uint64_t id)
{
    if (conn->rails[lane->rail].state != IB_RAIL_UP) {
        return WEFT_OK; /* the peer's count will say the same */
    }
    uint32_t ended = (uint32_t)id - lane->retired;
    if (ended == 0 || ended > lane->sent - lane->retired) {
        return out_of_order(conn, lane);
    }
    lane->retired = (uint32_t)id;
    if (id >> 56 != IB_ID_DATA) {
        return WEFT_OK;
    }
    return ib_flow_acked(conn, &conn->send.ops[(id >> 32) & 0xffff],
                         (uint32_t)(lane - conn->lanes));
}

static weft_status_t completion_take(weft_net_conn_t *conn, const struct ibv_wc *wc)
{
    uint32_t index = (wc->wr_id >> 48) & 0xff;
    ib_lane_t *lane = &conn->lanes[index];
    bool recv = wc->wr_id >> 56 == IB_ID_RECV, up = conn->rails[lane->rail].state == IB_RAIL_UP;
    if (wc->status != IBV_WC_SUCCESS) {
        lane->received = recv ? (uint32_t)wc->wr_id + 1 : lane->received;
        ib_health_completion(conn, wc);
        return WEFT_OK;
    }
    if (!recv) {
        return sent(conn, lane, wc->wr_id);
    }
    if ((uint32_t)wc->wr_id != lane->received) {
        return out_of_order(conn, lane);
    }
    uint32_t word = ntohl(wc->imm_data);
    weft_status_t status = conn->with_immediate ? WEFT_OK : ib_words_take(conn, index, wc, &word);
    lane->received++;
    lane->unfilled++;
    if (status == WEFT_OK && lane->unfilled >= REFILL && up) {
        status = ib_lane_fill(conn, lane);
    }
    return status == WEFT_OK ? ib_flow_arrive(conn, index, word) : status;
}

static weft_status_t rail_drain(weft_net_conn_t *conn, ib_rail_t *rail, bool *moved_p)
{
    struct ibv_wc list[BATCH];
    int count;
    do {
        count = ibv_poll_cq(rail->cq, BATCH, list);
        if (count < 0) {
            return conn->host->set_error(conn->host, WEFT_ERR_LINK, 0,
                                         "the completion queue for peer %s failed",
                                         conn->info.peer);
        }
        for (int i = 0; i < count; i++) {
            weft_status_t status = completion_take(conn, &list[i]);
            if (status != WEFT_OK) {
                return status;
            }
        }
        *moved_p = *moved_p || count > 0;
    } while (count == BATCH);
    return WEFT_OK;
}

static void conn_visit(weft_net_conn_t *conn)
{
    bool moved = false;
    weft_status_t status = WEFT_OK;
    if (conn->failed != WEFT_OK) {
        return;
    }
    for (uint32_t i = 0; i < conn->nrails && status == WEFT_OK; i++) {
        if (conn->rails[i].state != IB_RAIL_LOST) {
            status = rail_drain(conn, &conn->rails[i], &moved);
        }
    }
    if (status == WEFT_OK && conn->moving) {
        ib_health_side(conn);
        status = ib_failover_advance(conn);
    }
    if (status == WEFT_OK && moved) {
        status = conn->send.next != conn->send.tail ? ib_flow_send(conn) : WEFT_OK;
        status = status == WEFT_OK ? ib_flow_grant(conn) : status;
    }
    if (status != WEFT_OK) {
        ib_conn_fail(conn, status);
    }
}

static void conn_examine(weft_net_conn_t *conn)
{
    if (conn->failed != WEFT_OK) {
        return;
    }
    weft_status_t status = ib_health(conn);
    if (status != WEFT_OK) {
        ib_conn_fail(conn, status);
    }
}

static void channel_drain(weft_net_conn_t *conn)
{
    for (uint32_t i = 0; i < conn->nrails; i++) {
        ib_rail_t *rail = &conn->rails[i];
        struct ibv_cq *cq;
        void *context;
        while (ibv_get_cq_event(rail->channel, &cq, &context) == 0) {
            ibv_ack_cq_events(cq, 1);
            rail->armed = false;
        }
    }
}

static void device_events(weft_net_device_t *device)
{
    struct epoll_event events[EVENTS];
    int count = epoll_wait(device->epoll, events, EVENTS, 0);
    for (int i = 0; i < count; i++) {
        const ib_watch_t *watch = events[i].data.ptr;
        if (watch == NULL) {
            continue; /* a listener, accept() looks after it */
        }
        switch (watch->kind) {
        case IB_WATCH_SIDE:
            ib_health_side(watch->owner);
            break;
        case IB_WATCH_CHANNEL:
            channel_drain(watch->owner);
            break;
        case IB_WATCH_ASYNC:
            ib_health_async(watch->owner);
            break;
        }
    }
    for (weft_net_conn_t *conn = device->conns, *next; conn != NULL; conn = next) {
        next = conn->next;
        conn_examine(conn);
    }
}

static void device_sweep(weft_net_device_t *device)
{
    for (weft_net_conn_t *conn = device->conns, *next; conn != NULL; conn = next) {
        next = conn->next;
        conn_visit(conn);
    }
}

static uint32_t queue_give(weft_net_conn_t *conn, ib_queue_t *queue, uint32_t kind,
                           weft_net_completion_t *out, uint32_t max)
{
    uint32_t n = 0;
    while (n < max && queue->head != queue->tail && queue->ops[queue->head % IB_OPS].done) {
        const ib_op_t *op = &queue->ops[queue->head % IB_OPS];
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

weft_status_t ib_poll(weft_net_device_t *device, weft_net_completion_t *completions, uint32_t max,
                      uint32_t *count_p)
{
    device_sweep(device);
    *count_p = device_give(device, completions, max);
    device->quiet = *count_p > 0 ? 0 : device->quiet + 1;
    if (device->quiet >= QUIET_POLLS) {
        device->quiet = 0;
        device_events(device);
    }
    return WEFT_OK;
}

weft_status_t ib_wait_fd(weft_net_device_t *device, int *fd_p)
{
    *fd_p = device->epoll;
    device_events(device);
    bool waiting = false;
    for (weft_net_conn_t *conn = device->conns; conn != NULL; conn = conn->next) {
        for (uint32_t i = 0; i < conn->nrails; i++) {
            ib_rail_t *rail = &conn->rails[i];
            rail->armed =
                rail->armed || rail->state == IB_RAIL_LOST || ibv_req_notify_cq(rail->cq, 0) == 0;
            /* The caller must not sleep on what cannot wake it. */
            waiting = waiting || !rail->armed;
        }
        /* No event comes when patience ends; time alone decides. */
        waiting = waiting || ib_health_due(conn);
    }
    /* What came before the notification was armed is silent. */
    device_sweep(device);
    return waiting || device->done != NULL ? WEFT_AGAIN : WEFT_OK;
}

weft_status_t ib_conn_check(weft_net_conn_t *conn)
{
    if (conn->failed == WEFT_OK) {
        for (uint32_t i = 0; i < conn->nrails; i++) {
            ib_health_async(conn->rails[i].port->hca);
        }
        ib_health_side(conn);
        conn_visit(conn);
        conn_examine(conn);
        return conn->failed;
    }
    return conn->host->set_error(conn->host, conn->failed, 0, "connection to peer %s ended before",
                                 conn->info.peer);
}
