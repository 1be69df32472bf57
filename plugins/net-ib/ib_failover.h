/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Failover: the queue pairs of a lost rail continue on the other rails, and each message still
 * arrives exactly once. Nothing blocks. Thread: [progress]. */
#ifndef WEFT_PLUGINS_NET_IB_FAILOVER_H
#define WEFT_PLUGINS_NET_IB_FAILOVER_H

#include "ib_hello.h"

/* Agrees on failover if both ends want it and can; conn->failover stays NULL else. Returns OK or
 * ERR_RESOURCE. */
weft_status_t ib_failover_init(weft_net_conn_t *conn, const ib_hello_t *peer);
void ib_failover_fini(weft_net_conn_t *conn);

/* Looks for lost rails and begins to replace them. Returns whether failover deals with what is
 * wrong. */
bool ib_failover_watch(weft_net_conn_t *conn, uint64_t now);

/* Advances what is under way. Returns OK, or a failure of the connection with the error set. */
weft_status_t ib_failover_advance(weft_net_conn_t *conn);

/* Returns OK, or ERR_LINK with the error set if the peer has not answered within
 * failover_patience. */
weft_status_t ib_failover_overdue(weft_net_conn_t *conn, uint64_t now);

/* Returns whether another control message of the peer may be received now. */
bool ib_failover_expects(const weft_net_conn_t *conn);

/* Takes the step in conn->side.control. Returns false if the peer must not send it now. */
bool ib_failover_receive(weft_net_conn_t *conn);

/* Logs why a failing connection with several rails does not continue. */
void ib_failover_decline(const weft_net_conn_t *conn);

#endif
