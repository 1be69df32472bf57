/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Progress of a device: the completion queues of busy connections, now and then the descriptors
 * behind them, and the completions for the core. */
#include "ib_poll.h"

#include <arpa/inet.h>
#include <sys/epoll.h>

#include <weft/sdk/watch.h>

#include "ib_conn.h"
#include "ib_event.h"
#include "ib_failover.h"
#include "ib_flow.h"
#include "ib_health.h"
#include "ib_immediate.h"
#include "ib_qp.h"
#include "ib_rail.h"
#include "ib_refusal.h"

#define BATCH 16
#define EVENTS 16
#define QUIET_POLLS 256u /* polls in a row without a completion, before a look at the descriptors */
#define BUSY_POLLS 4096u /* all polls between two looks */
#define REFILL (IB_OPS / 2) /* receives are posted again in groups */

/* Completions of a queue pair come in order; one that does not would end the wrong operation. */
static weft_status_t ib_completion_out_of_order(weft_net_conn_t *conn, const ib_qp_t *qp)
{
    const ib_port_t *port = conn->rails[qp->rail].port;
    return ib_blame(conn, WEFT_ERR_LINK, 0,
                    "adapter %s:%u completed a request for peer %s twice or out of "
                    "order; update driver and firmware",
                    port->hca->name, port->number, conn->info.peer);
}

static weft_status_t ib_completion_sent(weft_net_conn_t *conn, ib_qp_t *qp, uint64_t id)
{
    if (conn->rails[qp->rail].state != IB_RAIL_UP) {
        return WEFT_OK; /* the peer's count will tell */
    }
    uint32_t ended = (uint32_t)id - qp->retired;
    if (ended == 0 || ended > qp->sent - qp->retired) {
        return ib_completion_out_of_order(conn, qp);
    }
    qp->retired = (uint32_t)id;
    if (ib_id_kind(id) != IB_ID_DATA) {
        return WEFT_OK;
    }
    return ib_flow_acked(conn, &conn->ops.send.ops[ib_id_slot(id)], (uint32_t)(qp - conn->qps));
}

static weft_status_t ib_completion_take(weft_net_conn_t *conn, const struct ibv_wc *wc)
{
    uint32_t index = ib_id_qp(wc->wr_id);
    ib_qp_t *qp = &conn->qps[index];
    bool recv = ib_id_kind(wc->wr_id) == IB_ID_RECV, up = conn->rails[qp->rail].state == IB_RAIL_UP;
    if (wc->status != IBV_WC_SUCCESS) {
        qp->received = recv ? (uint32_t)wc->wr_id + 1 : qp->received;
        ib_rail_note(conn, wc);
        return WEFT_OK;
    }
    if (!recv) {
        return ib_completion_sent(conn, qp, wc->wr_id);
    }
    if ((uint32_t)wc->wr_id != qp->received) {
        return ib_completion_out_of_order(conn, qp);
    }
    uint32_t immediate = ntohl(wc->imm_data);
    weft_status_t status =
        conn->with_immediate ? WEFT_OK : ib_immediate_take(conn, index, wc, &immediate);
    qp->received++;
    qp->unfilled++;
    if (status == WEFT_OK && qp->unfilled >= REFILL && up) {
        status = ib_qp_fill(conn, qp);
    }
    return status == WEFT_OK ? ib_flow_arrive(conn, index, immediate) : status;
}

static weft_status_t ib_rail_drain(weft_net_conn_t *conn, ib_rail_t *rail, bool *moved_p)
{
    struct ibv_wc list[BATCH];
    int count;
    do {
        count = ibv_poll_cq(rail->cq, BATCH, list);
        if (count < 0) {
            return ib_blame(conn, WEFT_ERR_LINK, 0, "the completion queue for peer %s failed",
                            conn->info.peer);
        }
        for (int i = 0; i < count; i++) {
            weft_status_t status = ib_completion_take(conn, &list[i]);
            if (status != WEFT_OK) {
                return status;
            }
        }
        *moved_p = *moved_p || count > 0;
    } while (count == BATCH);
    return WEFT_OK;
}

static void ib_conn_visit(weft_net_conn_t *conn)
{
    bool moved = false;
    weft_status_t status = WEFT_OK;
    if (conn->failed != WEFT_OK) {
        return;
    }
    for (uint32_t i = 0; i < conn->nrails && status == WEFT_OK; i++) {
        if (conn->rails[i].state != IB_RAIL_LOST) {
            status = ib_rail_drain(conn, &conn->rails[i], &moved);
        }
    }
    if (status == WEFT_OK && conn->moving) {
        ib_health_side(conn);
        status = ib_failover_advance(conn);
    }
    if (status == WEFT_OK && moved) {
        status = conn->ops.send.next != conn->ops.send.tail ? ib_flow_send(conn) : WEFT_OK;
        status = status == WEFT_OK ? ib_flow_credit(conn) : status;
    }
    if (status != WEFT_OK) {
        ib_conn_fail(conn, status);
    }
}

static void ib_conn_examine(weft_net_conn_t *conn)
{
    if (conn->failed != WEFT_OK) {
        return;
    }
    weft_status_t status = ib_health_check(conn);
    if (status != WEFT_OK) {
        ib_conn_fail(conn, status);
    }
}

/* Looks at everything that may say what is wrong. */
static void ib_conn_inspect(weft_net_conn_t *conn)
{
    ib_device_events_take(conn->device);
    ib_health_side(conn);
    ib_conn_examine(conn);
    conn->noted = conn->failed == WEFT_OK && ib_health_due(conn);
}

/* The descriptor of an adapter that is gone stays readable. */
static void ib_adapter_events(const weft_net_device_t *device, ib_hca_t *hca)
{
    ib_events_take(hca);
    if (atomic_load(&hca->fatal)) {
        epoll_ctl(device->epoll, EPOLL_CTL_DEL, hca->context->async_fd, NULL);
    }
}

static void ib_device_events(weft_net_device_t *device)
{
    struct epoll_event events[EVENTS];
    int count = epoll_wait(device->epoll, events, EVENTS, 0);
    for (int i = 0; i < count; i++) {
        const ib_watch_t *watch = events[i].data.ptr;
        if (watch == NULL) {
            continue; /* of a listener or a connection under way: accept(), connect_poll() */
        }
        switch (watch->kind) {
        case IB_WATCH_SIDE:
            ib_health_side(watch->owner);
            break;
        case IB_WATCH_CHANNEL:
            ib_rails_drain(watch->owner);
            break;
        case IB_WATCH_ASYNC:
            ib_adapter_events(device, watch->owner);
            break;
        }
    }
    if (device->unwatched != 0) {
        ib_device_events_take(device);
    }
    for (weft_net_conn_t *conn = device->conns, *next; conn != NULL; conn = next) {
        next = conn->next;
        if (!conn->side.watched) { /* the system refused to watch it: no event tells of it */
            ib_health_side(conn);
        }
        ib_conn_examine(conn);
    }
}

static void ib_device_sweep(weft_net_device_t *device)
{
    for (weft_net_conn_t *conn = device->conns, *next; conn != NULL; conn = next) {
        next = conn->next;
        ib_conn_visit(conn);
        if (conn->noted) {
            ib_conn_inspect(conn);
        }
    }
}

/* See weft_op_tell_t. */
static bool ib_completion_tell(const weft_net_completion_t *completion)
{
    weft_net_conn_t *conn = completion->conn;
    const bool failed = completion->status != WEFT_OK && completion->status == conn->failed;
    if (failed && conn->reason[0] != '\0') {
        (void)ib_conn_unusable(conn);
    }
    return failed;
}

weft_status_t ib_poll(weft_net_device_t *device, weft_net_completion_t *completions, uint32_t max,
                      uint32_t *count_p)
{
    ib_device_sweep(device);
    *count_p = device->failing
                   ? weft_op_done_take_failing(&device->done, completions, max, ib_completion_tell)
                   : weft_op_done_take(&device->done, completions, max);
    device->failing = device->failing && device->done.first != NULL;
    device->quiet = *count_p > 0 ? 0 : device->quiet + 1;
    device->polls++;
    if (device->quiet >= QUIET_POLLS || device->polls >= BUSY_POLLS) {
        device->quiet = device->polls = 0;
        ib_device_events(device);
    }
    return WEFT_OK;
}

weft_status_t ib_wait_fd(weft_net_device_t *device, int *fd_p)
{
    *fd_p = device->epoll;
    ib_device_events(device);
    bool waiting = false;
    for (weft_net_conn_t *conn = device->conns; conn != NULL; conn = conn->next) {
        for (uint32_t i = 0; i < conn->nrails; i++) {
            ib_rail_t *rail = &conn->rails[i];
            /* The caller must not sleep if nothing would wake it. */
            waiting |= rail->state != IB_RAIL_LOST && !ib_rail_arm(rail);
        }
        /* No event marks the end of a patience; only time does. */
        waiting = waiting || ib_health_due(conn);
    }
    /* Completions that came before the notification was armed raise no event. */
    ib_device_sweep(device);
    if (waiting || device->done.first != NULL) {
        return WEFT_AGAIN;
    }
    return device->unwatched == 0
               ? WEFT_OK
               : weft_watch_refused(device->host, device->rails[0]->hca->name, device->unwatched);
}

weft_status_t ib_conn_check(weft_net_conn_t *conn)
{
    if (conn->failed != WEFT_OK) {
        return ib_conn_unusable(conn);
    }
    ib_conn_visit(conn);
    ib_conn_inspect(conn);
    return conn->failed;
}
