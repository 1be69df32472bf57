/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Posted operations of a connection: the registration that one may have of its own, and its end;
 * and the list of connections that poll() visits. Thread: [progress]. */
#ifndef WEFT_PLUGINS_NET_IB_OPS_H
#define WEFT_PLUGINS_NET_IB_OPS_H

#include "ib.h"

/* Registers the memory of a prepared operation for its time. Returns OK, AGAIN (the host has no
 * memory for it now), or ERR_RESOURCE with the error set. */
weft_status_t ib_op_register_own(weft_net_conn_t *conn, const weft_op_queue_t *queue,
                                 weft_posted_op_t *op);

/* The same where it is needed: not if the caller registered the memory, or the request can hold
 * it. */
static inline weft_status_t ib_op_register(weft_net_conn_t *conn, const weft_op_queue_t *queue,
                                           weft_posted_op_t *op)
{
    bool sends = queue == &conn->ops.send;
    bool inlined = sends && op->bytes <= conn->qps[1].inline_max;
    return op->region != NULL || op->bytes == 0 || inlined ? WEFT_OK
                                                           : ib_op_register_own(conn, queue, op);
}

void ib_op_unregister(weft_net_conn_t *conn, const weft_op_queue_t *queue, weft_posted_op_t *op);

/* Puts the connection into the device's list of busy ones, or takes it out, depending on whether an
 * operation is open or failover is under way. */
void ib_conn_set_busy(weft_net_conn_t *conn);
/* Takes it out in any case. */
void ib_conn_set_idle(weft_net_conn_t *conn);

/* Finishes an operation of `queue` with `status`. */
static inline void ib_op_finish(weft_net_conn_t *conn, weft_op_queue_t *queue, weft_posted_op_t *op,
                                weft_status_t status)
{
    if ((op->flags & IB_OP_OWN) != 0) {
        ib_op_unregister(conn, queue, op);
    }
    weft_op_finish(&conn->ops, queue, op, status);
    if (queue->open == 0) {
        ib_conn_set_busy(conn);
    }
}

#endif
