/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See ncclnet_conn.h. */
#include "ncclnet_conn.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ncclnet_call.h"
#include "ncclnet_control.h"
#include "ncclnet_join.h"
#include "ncclnet_ops.h"
#include "ncclnet_region.h"

weft_net_conn_t *ncclnet_conn_create(weft_net_device_t *device,
                                     const uint8_t label[WEFT_AUTH_LABEL])
{
    const weft_host_t *host = device->host;
    weft_net_conn_t *conn = host->alloc(host, sizeof *conn, 0);
    if (conn == NULL) {
        return NULL;
    }
    conn->join = host->alloc(host, sizeof *conn->join, 0);
    if (conn->join == NULL) {
        host->free(host, conn);
        return NULL;
    }
    conn->host = host;
    conn->device = device;
    conn->fd = -1;
    conn->send.queue = &conn->ops.send;
    conn->recv.queue = &conn->ops.recv;
    conn->info.size = sizeof conn->info;
    memcpy(conn->info.label, label, WEFT_AUTH_LABEL);
    snprintf(conn->info.peer, sizeof conn->info.peer, "?");
    return conn;
}

void ncclnet_conn_ready(weft_net_conn_t *conn)
{
    weft_op_queues_attach(&conn->ops, conn, &conn->device->done);
    conn->is_ready = true;
    conn->prev = NULL;
    conn->next = conn->device->conns;
    if (conn->next != NULL) {
        conn->next->prev = conn;
    }
    conn->device->conns = conn;
}

/* Memory is given back before the comms that it is registered with. */
static void ncclnet_conn_drop_comms(weft_net_conn_t *conn)
{
    weft_net_t *net = conn->device->net;
    const ncclnet_library_t *library = net->library;
    if (conn->send.comm == NULL && conn->recv.comm == NULL) {
        return;
    }
    ncclnet_way_forget(conn, &conn->send);
    ncclnet_way_forget(conn, &conn->recv);
    ncclnet_regions_forget(conn);
    if (conn->send.comm != NULL) {
        ncclnet_call_t call = ncclnet_call_begin(net, NCCLNET_CLOSE_SEND, conn->device->dev);
        ncclnet_call_end_close(&call, library->shim->close_send(library->table, conn->send.comm));
    }
    if (conn->recv.comm != NULL) {
        ncclnet_call_t call = ncclnet_call_begin(net, NCCLNET_CLOSE_RECEIVE, conn->device->dev);
        ncclnet_call_end_close(&call,
                               library->shim->close_receive(library->table, conn->recv.comm));
    }
    conn->send.comm = conn->recv.comm = NULL;
}

static void ncclnet_way_fail(weft_net_conn_t *conn, ncclnet_way_t *way, weft_status_t status)
{
    uint32_t number = way->queue->head;
    weft_posted_op_t *op;
    while ((op = weft_op_next_open(way->queue, &number)) != NULL) {
        weft_op_finish(&conn->ops, way->queue, op, status);
    }
}

void ncclnet_conn_fail(weft_net_conn_t *conn, weft_status_t status)
{
    if (conn->failed != WEFT_OK) {
        return;
    }
    conn->failed = status;
    ncclnet_conn_drop_comms(conn);
    if (conn->fd >= 0) {
        shutdown(conn->fd, SHUT_RDWR); /* the peer is to see it */
    }
    ncclnet_way_fail(conn, &conn->recv, status);
    ncclnet_way_fail(conn, &conn->send, status);
}

weft_status_t ncclnet_conn_unusable(const weft_net_conn_t *conn)
{
    return conn->host->set_error(conn->host, conn->failed, 0,
                                 "connection to peer %s ended before%s%s", conn->info.peer,
                                 conn->why[0] != '\0' ? ": " : "", conn->why);
}

weft_status_t ncclnet_conn_cancel(weft_net_conn_t *conn)
{
    ncclnet_conn_fail(conn, WEFT_ERR_ABORTED);
    return WEFT_OK;
}

weft_status_t ncclnet_conn_info(weft_net_conn_t *conn, weft_net_conn_info_t *info)
{
    if (!conn->is_ready) {
        return conn->host->set_error(conn->host, WEFT_ERR_STATE, 0, "connection is not ready");
    }
    size_t size = info->size < sizeof conn->info ? info->size : sizeof conn->info;
    size_t skip = sizeof conn->info.size;
    if (size > skip) {
        memcpy((char *)info + skip, (const char *)&conn->info + skip, size - skip);
    }
    return WEFT_OK;
}

weft_status_t ncclnet_conn_check(weft_net_conn_t *conn)
{
    if (conn->failed != WEFT_OK) {
        return ncclnet_conn_unusable(conn);
    }
    weft_status_t status = ncclnet_control_look(conn);
    if (status != WEFT_OK) {
        ncclnet_conn_fail(conn, status);
    }
    return status;
}

static void ncclnet_conn_unlist(weft_net_conn_t *conn)
{
    if (!conn->is_ready) {
        return;
    }
    *(conn->prev != NULL ? &conn->prev->next : &conn->device->conns) = conn->next;
    if (conn->next != NULL) {
        conn->next->prev = conn->prev;
    }
    weft_op_queues_detach(&conn->ops);
}

weft_status_t ncclnet_conn_attach(weft_net_conn_t *conn, weft_net_device_t *device)
{
    if (!conn->is_ready || weft_op_queues_used(&conn->ops) || conn->device->dev != device->dev) {
        return conn->host->set_error(conn->host, WEFT_ERR_STATE, 0,
                                     "connection to peer %s is not ready, in use, or of another "
                                     "device of the library",
                                     conn->info.peer);
    }
    ncclnet_conn_unlist(conn);
    conn->device = device;
    ncclnet_conn_ready(conn);
    return WEFT_OK;
}

void ncclnet_conn_close(weft_net_conn_t *conn)
{
    if (conn == NULL) {
        return;
    }
    if (conn->is_ready && conn->failed == WEFT_OK) {
        ncclnet_control_bye(conn);
    } else if (conn->failed == WEFT_OK) {
        ncclnet_join_tell_late(conn);
    }
    ncclnet_conn_unlist(conn);
    ncclnet_conn_drop_comms(conn);
    ncclnet_join_close(conn);
    if (conn->fd >= 0) {
        close(conn->fd);
    }
    conn->host->free(conn->host, conn);
}
