/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See ncclnet_ops.h. In a queue stand, from the oldest: finished operations, those that the library
 * has, and those that it has not taken yet (from `next` on). */
#include "ncclnet_ops.h"

#include <stdio.h>

#include "ncclnet_call.h"
#include "ncclnet_control.h"
#include "ncclnet_region.h"

#define TAG 0x77656674 /* one for all: a receive is never grouped, so order decides */
#define UNTOLD (-1)
#define REFUSED_NS UINT64_C(1000000000)

static ncclnet_flight_t *ncclnet_flight_of(ncclnet_way_t *way, const weft_posted_op_t *op)
{
    return &way->flights[op - way->queue->ops];
}

static void ncclnet_flight_forget(weft_net_conn_t *conn, const ncclnet_way_t *way,
                                  ncclnet_flight_t *flight)
{
    if (flight->own) {
        ncclnet_memory_dereg(conn, way->comm, flight->mhandle);
    }
    flight->own = false;
}

void ncclnet_way_forget(weft_net_conn_t *conn, ncclnet_way_t *way)
{
    if (way->comm == NULL) {
        return;
    }
    for (uint32_t i = 0; i < WEFT_OP_SLOTS; i++) {
        ncclnet_flight_forget(conn, way, &way->flights[i]);
    }
    if (way->has_nothing) {
        ncclnet_memory_dereg(conn, way->comm, way->nothing);
    }
    way->has_nothing = false;
}

/* Messages without bytes have an address all the same: not every library takes NULL. */
static weft_status_t ncclnet_message_empty(weft_net_conn_t *conn, ncclnet_way_t *way,
                                           ncclnet_message_t *message)
{
    ncclnet_memory_t memory = {
        .data = conn->nothing, .bytes = sizeof conn->nothing, .type = WEFT_NCCL_PTR_HOST, .fd = -1};
    weft_status_t status = WEFT_OK;
    if (!way->has_nothing) {
        status = ncclnet_memory_reg(conn, way->comm, &memory, &way->nothing);
        way->has_nothing = status == WEFT_OK;
    }
    message->data = conn->nothing;
    message->mhandle = way->nothing;
    return status;
}

/* Finds the handle of the memory: of its region, or of the operation alone. */
static weft_status_t ncclnet_message_prepare(weft_net_conn_t *conn, ncclnet_way_t *way,
                                             const weft_posted_op_t *op, ncclnet_message_t *message)
{
    ncclnet_flight_t *flight = ncclnet_flight_of(way, op);
    weft_status_t status = WEFT_OK;
    flight->cuda = op->region != NULL && op->region->memory.type == WEFT_NCCL_PTR_CUDA;
    if (op->bytes == 0) {
        return ncclnet_message_empty(conn, way, message);
    }
    if (op->region != NULL) {
        return ncclnet_region_use(conn, way, op->region, &message->mhandle);
    }
    if (!flight->own) {
        ncclnet_memory_t memory = {
            .data = op->buffer, .bytes = op->bytes, .type = WEFT_NCCL_PTR_HOST, .fd = -1};
        status = ncclnet_memory_reg(conn, way->comm, &memory, &flight->mhandle);
        flight->own = status == WEFT_OK;
    }
    message->mhandle = flight->mhandle;
    return status;
}

/* A library that takes nothing for long is named, once. */
static void ncclnet_way_refused(const weft_net_conn_t *conn, ncclnet_way_t *way)
{
    const weft_host_t *host = conn->host;
    uint64_t now = host->clock_ns(host);
    way->refused_ns = way->refused_ns == 0 ? now : way->refused_ns;
    if (!way->told && now - way->refused_ns > REFUSED_NS) {
        way->told = true;
        host->log(host, WEFT_LOG_WARN, "%s: %s on device %d has taken nothing for %.1f s (peer %s)",
                  conn->device->net->library->file, way == &conn->send ? "isend" : "irecv",
                  conn->device->dev, (double)(now - way->refused_ns) / 1e9, conn->info.peer);
    }
}

/* AGAIN: the library does not take it now. */
static weft_status_t ncclnet_op_start(weft_net_conn_t *conn, ncclnet_way_t *way,
                                      const weft_posted_op_t *op)
{
    weft_net_t *net = conn->device->net;
    const ncclnet_shim_t *shim = net->library->shim;
    ncclnet_flight_t *flight = ncclnet_flight_of(way, op);
    ncclnet_message_t message = {.data = op->buffer, .bytes = op->bytes, .tag = TAG};
    bool sends = way == &conn->send;
    weft_status_t status = ncclnet_message_prepare(conn, way, op, &message);
    if (status != WEFT_OK) {
        return status;
    }
    flight->request = NULL;
    flight->flushing = false;
    ncclnet_call_t call =
        ncclnet_call_begin(net, sends ? NCCLNET_SEND : NCCLNET_RECEIVE, conn->device->dev);
    int result = sends ? shim->send(net->library->table, way->comm, &message, &flight->request)
                       : shim->receive(net->library->table, way->comm, &message, &flight->request);
    status = ncclnet_call_end_operation(&call, conn, result);
    if (status == WEFT_OK && flight->request == NULL) {
        ncclnet_way_refused(conn, way);
        return WEFT_AGAIN;
    }
    way->refused_ns = 0;
    return status;
}

/* Makes a message in memory of a GPU visible to it. AGAIN while that is under way. */
static weft_status_t ncclnet_op_flush(weft_net_conn_t *conn, ncclnet_way_t *way,
                                      const weft_posted_op_t *op)
{
    weft_net_t *net = conn->device->net;
    const ncclnet_library_t *library = net->library;
    ncclnet_flight_t *flight = ncclnet_flight_of(way, op);
    ncclnet_message_t message = {.data = op->buffer, .bytes = op->moved};
    if (!flight->cuda || op->moved == 0 || !library->shim->has_flush(library->table)) {
        return WEFT_OK;
    }
    weft_status_t status = ncclnet_region_use(conn, way, op->region, &message.mhandle);
    if (status != WEFT_OK) {
        return status;
    }
    flight->request = NULL;
    ncclnet_call_t call = ncclnet_call_begin(net, NCCLNET_FLUSH, conn->device->dev);
    status = ncclnet_call_end_operation(
        &call, conn, library->shim->flush(library->table, way->comm, &message, &flight->request));
    flight->flushing = flight->request != NULL;
    return status == WEFT_OK && flight->flushing ? WEFT_AGAIN : status;
}

static weft_status_t ncclnet_op_received(weft_net_conn_t *conn, ncclnet_way_t *way,
                                         weft_posted_op_t *op, int bytes)
{
    if (bytes < 0 || (uint64_t)bytes > op->bytes) {
        char found[32] = "no size";
        if (bytes != UNTOLD) {
            snprintf(found, sizeof found, "%d bytes", bytes);
        }
        return ncclnet_conn_error(
            conn, WEFT_ERR_PROTO,
            "%s: test on device %d: found %s received, expected 0 to %llu (peer %s)",
            conn->device->net->library->file, conn->device->dev, found,
            (unsigned long long)op->bytes, conn->info.peer);
    }
    op->moved = (uint64_t)bytes;
    return ncclnet_op_flush(conn, way, op);
}

static weft_status_t ncclnet_request_test(weft_net_conn_t *conn, void *request, int *done_p,
                                          int *bytes_p)
{
    weft_net_t *net = conn->device->net;
    ncclnet_call_t call = ncclnet_call_begin(net, NCCLNET_TEST, conn->device->dev);
    return ncclnet_call_end_operation(
        &call, conn, net->library->shim->test(net->library->table, request, done_p, bytes_p));
}

/* AGAIN: not done. Receives are posted ahead, so some are under way when a peer leaves as it
 * should, which NCCL never does. A library may find the end of the stream behind a message, and
 * tell it of the request of that message. A request is ours until it is done, so it is asked once
 * more. */
static weft_status_t ncclnet_op_test(weft_net_conn_t *conn, ncclnet_way_t *way,
                                     weft_posted_op_t *op)
{
    ncclnet_flight_t *flight = ncclnet_flight_of(way, op);
    int done = 0, bytes = UNTOLD;
    weft_status_t status = ncclnet_request_test(conn, flight->request, &done, &bytes);
    if (status != WEFT_OK && done == 0 && way == &conn->recv && ncclnet_control_has_bye(conn)) {
        status = ncclnet_request_test(conn, flight->request, &done, &bytes);
    }
    if (status != WEFT_OK || done == 0) {
        return status == WEFT_OK ? WEFT_AGAIN : status;
    }
    if (way == &conn->send) {
        op->moved = op->bytes;
    } else if (!flight->flushing) {
        status = ncclnet_op_received(conn, way, op, bytes);
    }
    if (status == WEFT_OK) {
        flight->flushing = false;
        ncclnet_flight_forget(conn, way, flight);
        way->moved++;
        weft_op_finish(&conn->ops, way->queue, op, WEFT_OK);
    }
    return status;
}

static weft_status_t ncclnet_way_advance(weft_net_conn_t *conn, ncclnet_way_t *way)
{
    weft_op_queue_t *queue = way->queue;
    uint32_t most = (uint32_t)conn->device->net->config.in_flight;
    weft_status_t status = WEFT_OK;
    if (queue->open == 0) {
        return WEFT_OK;
    }
    uint32_t waiting = queue->tail - queue->next;
    while (status == WEFT_OK && waiting > 0 && queue->open - waiting < most) {
        status = ncclnet_op_start(conn, way, weft_op_at(queue, queue->next));
        if (status == WEFT_OK) {
            queue->next++;
            waiting--;
        }
    }
    status = status == WEFT_AGAIN ? WEFT_OK : status;
    uint32_t number = queue->head;
    while (status == WEFT_OK && queue->open > waiting) {
        weft_posted_op_t *op = weft_op_next_open(queue, &number);
        status = ncclnet_op_test(conn, way, op);
    }
    return status == WEFT_AGAIN ? WEFT_OK : status;
}

weft_status_t ncclnet_conn_advance(weft_net_conn_t *conn)
{
    weft_status_t status = ncclnet_way_advance(conn, &conn->send);
    return status == WEFT_OK ? ncclnet_way_advance(conn, &conn->recv) : status;
}
