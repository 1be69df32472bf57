/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Posted operations of a connection. */
#include "ib_ops.h"

#include "ib_memory.h"

/* The slot's registration for an operation whose memory the caller did not register. */
static weft_net_region_t *ib_op_own(weft_net_conn_t *conn, const weft_op_queue_t *queue,
                                    const weft_posted_op_t *op)
{
    weft_net_region_t *own = queue == &conn->ops.send ? conn->own.send : conn->own.recv;
    return &own[op - queue->ops];
}

weft_status_t ib_op_register_own(weft_net_conn_t *conn, const weft_op_queue_t *queue,
                                 weft_posted_op_t *op)
{
    weft_net_region_t *own = ib_op_own(conn, queue, op);
    op->region = own;
    op->flags |= IB_OP_OWN;
    return ib_region_init(conn, op, queue == &conn->ops.send ? IB_PIN_READ : IB_PIN_WRITE, own);
}

void ib_op_unregister(weft_net_conn_t *conn, const weft_op_queue_t *queue, weft_posted_op_t *op)
{
    if ((op->flags & IB_OP_OWN) != 0) {
        ib_region_fini(ib_op_own(conn, queue, op));
        op->flags &= ~IB_OP_OWN;
    }
}

static void ib_conn_list(weft_net_conn_t *conn, bool busy)
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
    ib_conn_list(conn, conn->ops.send.open + conn->ops.recv.open > 0 || conn->moving);
}

void ib_conn_set_idle(weft_net_conn_t *conn)
{
    ib_conn_list(conn, false);
}
