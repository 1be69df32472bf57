/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The flow of messages: credits, writes, immediates. All functions return OK, or a failure of the
 * connection with the error set. Nothing blocks. Thread: [progress]. */
#ifndef WEFT_PLUGINS_NET_IB_FLOW_H
#define WEFT_PLUGINS_NET_IB_FLOW_H

#include "ib.h"

#define IB_TOO_LONG UINT32_C(0xffffffff) /* immediate: the message is longer than its room */

/* Sends what has been posted, as far as there are credits and room in the send queues. */
weft_status_t ib_flow_send(weft_net_conn_t *conn);

/* Sends credits for posted receives. */
weft_status_t ib_flow_credit(weft_net_conn_t *conn);

/* Takes an immediate that arrived on a queue pair: a number of credits, or the size of a
 * message. */
weft_status_t ib_flow_arrive(weft_net_conn_t *conn, uint32_t index, uint32_t immediate);

/* Notes that a part of a message has arrived at the peer. */
weft_status_t ib_flow_acked(weft_net_conn_t *conn, weft_posted_op_t *op, uint32_t qp);

/* Continues after a queue pair was replaced, of which the peer has received `arrived` parts, or
 * credits. Adds to *again_p what had to be sent again. */
weft_status_t ib_flow_resume(weft_net_conn_t *conn, uint32_t qp, uint32_t arrived,
                             uint32_t *again_p);

/* Returns the number of parts in which a message of `bytes` is sent, and in *part_p the bytes of
 * each but the last. Both ends compute the same. */
uint32_t ib_flow_parts(const ib_config_t *config, uint32_t data_qps, uint64_t bytes,
                       uint64_t *part_p);

#endif
