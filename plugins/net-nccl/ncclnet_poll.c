/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See ncclnet_poll.h. */
#include "ncclnet_poll.h"

#include "ncclnet_conn.h"
#include "ncclnet_control.h"
#include "ncclnet_ops.h"
#include "ncclnet_props.h"

#define VISITS_PER_LOOK 256u /* a look at the control stream is a system call */

/* Returns false if the connection has failed. */
static bool ncclnet_conn_visit(weft_net_conn_t *conn)
{
    weft_status_t status = ncclnet_conn_advance(conn);
    /* A library need not notice that a peer is gone. */
    if (status == WEFT_OK && ++conn->visits % VISITS_PER_LOOK == 0) {
        status = ncclnet_control_look(conn);
    }
    if (status != WEFT_OK) {
        ncclnet_conn_fail(conn, status);
    }
    return status == WEFT_OK;
}

/* Of connections that have failed each has a poll of its own, since a thread has one reason. */
weft_status_t ncclnet_poll(weft_net_device_t *device, weft_net_completion_t *completions,
                           uint32_t max, uint32_t *count_p)
{
    bool whole = true;
    for (weft_net_conn_t *conn = device->conns; conn != NULL && whole; conn = conn->next) {
        if (conn->failed == WEFT_OK && (conn->ops.send.open > 0 || conn->ops.recv.open > 0)) {
            whole = ncclnet_conn_visit(conn);
        }
    }
    *count_p = weft_op_done_take(&device->done, completions, max);
    return WEFT_OK;
}

static weft_status_t ncclnet_op_push(weft_net_conn_t *conn, const weft_net_op_t *op, uint64_t most)
{
    const weft_host_t *host = conn->host;
    if (!conn->is_ready || !weft_op_valid(op, most)) {
        return host->set_error(host, conn->is_ready ? WEFT_ERR_ARG : WEFT_ERR_STATE, 0,
                               "cannot post operation of kind %u with %llu bytes", op->kind,
                               (unsigned long long)op->bytes);
    }
    weft_op_queue_t *queue = op->kind == WEFT_NET_SEND ? &conn->ops.send : &conn->ops.recv;
    if (weft_op_prepare(queue, op) == NULL) {
        return WEFT_AGAIN;
    }
    weft_op_push(queue);
    return WEFT_OK;
}

weft_status_t ncclnet_post(weft_net_conn_t *conn, const weft_net_op_t *ops, uint32_t count,
                           uint32_t *posted_p)
{
    *posted_p = 0;
    if (conn->failed != WEFT_OK) {
        return ncclnet_conn_unusable(conn);
    }
    weft_status_t status = WEFT_OK;
    uint64_t most = ncclnet_message_most(&conn->device->foreign);
    uint32_t posted = 0;
    while (posted < count && (status = ncclnet_op_push(conn, &ops[posted], most)) == WEFT_OK) {
        posted++;
    }
    *posted_p = posted;
    weft_status_t failed = conn->is_ready ? ncclnet_conn_advance(conn) : WEFT_OK;
    if (failed != WEFT_OK) {
        ncclnet_conn_fail(conn, failed);
    }
    return status;
}
