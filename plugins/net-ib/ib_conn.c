/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections: creation, posting, failure, end. */
#include "ib_conn.h"

#include <string.h>
#include <unistd.h>

#include "ib_cm.h"
#include "ib_failover.h"
#include "ib_flow.h"
#include "ib_hca.h"
#include "ib_ops.h"
#include "ib_qp.h"
#include "ib_rail.h"
#include "ib_side.h"

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
    conn->side.fd = -1;
    conn->with_immediate = !device->rails[0]->hca->iwarp;
    conn->info.size = sizeof conn->info;
    memcpy(conn->info.label, label, WEFT_AUTH_LABEL);
    conn->nrails = device->nrails;
    conn->nqps = ib_config_qps(config);
    for (uint32_t i = 0; i < conn->nrails; i++) {
        conn->rails[i].port = device->rails[i];
        conn->rails[i].watch = (ib_watch_t){.kind = IB_WATCH_CHANNEL, .owner = conn};
    }
    bool reorders = !ib_port_is_ethernet(device->rails[0]);
    conn->unordered = config->adaptive_routing == 0 ? reorders : config->adaptive_routing == 1;
    conn->side.watch = (ib_watch_t){.kind = IB_WATCH_SIDE, .owner = conn};
    /* The rings have pages of their own, because the peer may write to one of them. */
    conn->credits.in = host->alloc(host, IB_OPS * sizeof(ib_credit_t), 4096);
    conn->credits.out = host->alloc(host, IB_OPS * sizeof(ib_credit_t), 4096);
    if (conn->credits.in == NULL || conn->credits.out == NULL) {
        ib_conn_close(conn);
        return NULL;
    }
    return conn;
}

void ib_conn_ready(weft_net_conn_t *conn)
{
    if (conn->failed == WEFT_OK) {
        conn->reason[0] = '\0'; /* of an attempt that did not succeed */
    }
    conn->ready = true;
    weft_op_queues_attach(&conn->ops, conn, &conn->device->done);
    ib_rails_watch(conn);
    ib_side_watch(conn);
    ib_conn_set_busy(conn);
}

static void ib_queue_fail(weft_net_conn_t *conn, weft_op_queue_t *queue, weft_status_t status)
{
    uint32_t number = queue->head;
    weft_posted_op_t *op;
    while ((op = weft_op_next_open(queue, &number)) != NULL) {
        ib_op_finish(conn, queue, op, status);
    }
}

void ib_conn_fail(weft_net_conn_t *conn, weft_status_t status)
{
    if (conn->failed != WEFT_OK) {
        return;
    }
    /* Operations here fail because the link is gone; the peer gets the real reason. */
    conn->failed = status == WEFT_ERR_RESOURCE ? WEFT_ERR_LINK : status;
    conn->moving = false;
    conn->device->failing = true;
    /* After this no adapter accesses the buffers that are given back. */
    ib_qps_destroy(conn);
    ib_rails_unwatch(conn); /* a channel of an adapter that is gone stays readable */
    ib_side_leave(conn, status);
    ib_queue_fail(conn, &conn->ops.recv, conn->failed);
    ib_queue_fail(conn, &conn->ops.send, conn->failed);
    ib_conn_set_busy(conn);
}

weft_status_t ib_conn_unusable(const weft_net_conn_t *conn)
{
    if (conn->reason[0] != '\0') {
        return conn->host->set_error(conn->host, conn->failed, 0, "%s", conn->reason);
    }
    return conn->host->set_error(conn->host, conn->failed, 0, "connection to peer %s ended before",
                                 conn->info.peer);
}

static weft_status_t ib_conn_push(weft_net_conn_t *conn, const weft_net_op_t *op)
{
    const weft_host_t *host = conn->host;
    if (!conn->ready || !weft_op_valid(op, IB_MESSAGE_MAX)) {
        return host->set_error(host, conn->ready ? WEFT_ERR_ARG : WEFT_ERR_STATE, 0,
                               "cannot post operation of kind %u with %llu bytes", op->kind,
                               (unsigned long long)op->bytes);
    }
    weft_op_queue_t *queue = op->kind == WEFT_NET_SEND ? &conn->ops.send : &conn->ops.recv;
    weft_posted_op_t *mine = weft_op_prepare(queue, op);
    weft_status_t status = mine != NULL ? ib_op_register(conn, queue, mine) : WEFT_AGAIN;
    if (status == WEFT_OK) {
        weft_op_push(queue);
    }
    return status;
}

weft_status_t ib_post(weft_net_conn_t *conn, const weft_net_op_t *ops, uint32_t count,
                      uint32_t *posted_p)
{
    *posted_p = 0;
    if (conn->failed != WEFT_OK) {
        return ib_conn_unusable(conn);
    }
    weft_status_t status = WEFT_OK;
    while (*posted_p < count && status == WEFT_OK) {
        status = ib_conn_push(conn, &ops[*posted_p]);
        *posted_p += status == WEFT_OK ? 1 : 0;
    }
    if (!conn->busy) {
        ib_conn_set_busy(conn);
    }
    /* When an adapter has refused memory, nothing else is started: what would free it may never
     * complete. */
    weft_status_t flow = status == WEFT_ERR_RESOURCE ? status : WEFT_OK;
    if (flow == WEFT_OK && conn->ops.send.next != conn->ops.send.tail) {
        flow = ib_flow_send(conn);
    }
    if (conn->credits.sent != conn->ops.recv.tail && flow == WEFT_OK) {
        flow = ib_flow_credit(conn);
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

static void ib_conn_unlist(weft_net_conn_t *conn)
{
    weft_op_queues_detach(&conn->ops);
    ib_conn_set_idle(conn);
    ib_rails_unwatch(conn);
    ib_side_unwatch(conn);
}

/* The queue pairs stay where they are, and memory is registered with the device's adapters. */
static bool ib_conn_fits(const weft_net_conn_t *conn, const weft_net_device_t *device)
{
    bool fits = conn->nrails == device->nrails;
    for (uint32_t i = 0; i < conn->nrails && fits; i++) {
        fits = conn->rails[i].port == device->rails[i];
    }
    return fits;
}

weft_status_t ib_conn_attach(weft_net_conn_t *conn, weft_net_device_t *device)
{
    if (!conn->ready || weft_op_queues_used(&conn->ops)) {
        return conn->host->set_error(conn->host, WEFT_ERR_STATE, 0,
                                     "connection to peer %s is not ready, or in use",
                                     conn->info.peer);
    }
    if (!ib_conn_fits(conn, device)) {
        const ib_port_t *mine = conn->rails[0].port, *other = device->rails[0];
        return conn->host->set_error(conn->host, WEFT_ERR_STATE, 0,
                                     "connection to peer %s stays on the device of %s:%u: that of "
                                     "%s:%u has other rails",
                                     conn->info.peer, mine->hca->name, mine->number,
                                     other->hca->name, other->number);
    }
    ib_conn_unlist(conn);
    conn->device = device;
    ib_conn_ready(conn);
    return WEFT_OK;
}

static void ib_queue_unregister(weft_net_conn_t *conn, weft_op_queue_t *queue)
{
    for (uint32_t i = queue->head; i != queue->tail; i++) {
        ib_op_unregister(conn, queue, weft_op_at(queue, i));
    }
}

void ib_conn_close(weft_net_conn_t *conn)
{
    if (conn == NULL) {
        return;
    }
    const weft_host_t *host = conn->host;
    ib_conn_unlist(conn);
    host->free(host, conn->attempt);
    ib_failover_fini(conn);
    ib_qps_destroy(conn);
    ib_cm_close(conn);
    ib_rails_close(conn);
    ib_queue_unregister(conn, &conn->ops.send);
    ib_queue_unregister(conn, &conn->ops.recv);
    if (conn->side.fd >= 0) {
        ib_side_await(conn, 0);
        close(conn->side.fd);
    }
    host->free(host, conn->credits.in);
    host->free(host, conn->credits.out);
    host->free(host, conn);
}
