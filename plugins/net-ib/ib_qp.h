/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The queue pairs of a connection: creating, connecting, filling with receives, replacing.
 * Thread: [progress]. */
#ifndef WEFT_PLUGINS_NET_IB_QP_H
#define WEFT_PLUGINS_NET_IB_QP_H

#include "ib_hello.h"

/* Opens all rails but those in the mask `lost`, and creates all queue pairs on them; the peer has
 * GIDs like `peers`, one for each rail. Called again, it makes all anew. Returns OK; ERR_LINK,
 * ERR_RESOURCE or ERR_SYSTEM with the error set. */
weft_status_t ib_qps_create(weft_net_conn_t *conn, const ib_gid_t peers[IB_RAILS_MAX],
                            uint32_t lost);

/* Connects all queue pairs with those of the peer's record; ib_cm.c does it for iWARP ports.
 * Returns OK; ERR_PROTO or ERR_LINK with the error set. */
weft_status_t ib_qps_connect(weft_net_conn_t *conn, const ib_hello_t *peer);

/* Destroys all queue pairs. After it no adapter touches memory of the connection's operations. */
void ib_qps_destroy(weft_net_conn_t *conn);

/* Posts receives until none is missing. Returns OK, or ERR_LINK with the error set. */
weft_status_t ib_qp_fill(weft_net_conn_t *conn, ib_qp_t *qp);

/* Failover: stops a queue pair for good (received data can still be polled); creates its
 * successor on another rail, which stays stopped; connects that one. */
void ib_qp_stop(ib_qp_t *qp);
weft_status_t ib_qp_remake(weft_net_conn_t *conn, uint32_t index, uint32_t rail);
weft_status_t ib_qp_connect(weft_net_conn_t *conn, uint32_t index, const ib_hello_t *peer);

#endif
