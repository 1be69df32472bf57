/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Queue pairs of iWARP ports. They are connected over a TCP stream of the adapter's own, which
 * only the connection manager of librdmacm can make. The side channel stays the authority: it
 * says where the acceptor's adapter listens, and carries a token without which no queue pair is
 * connected there.
 *
 * For ports of other kinds these functions do nothing and return OK. Thread: [progress]. */
#ifndef WEFT_PLUGINS_NET_IB_CM_H
#define WEFT_PLUGINS_NET_IB_CM_H

#include "ib_hello.h"

/* Listens for the queue pairs of a connection, and writes into `hello` where, and the token.
 * Returns OK; ERR_RESOURCE, ERR_LINK or ERR_SYSTEM with the error set. */
weft_status_t ib_cm_listen(weft_net_conn_t *conn, ib_hello_t *hello);

/* Begins to connect all queue pairs to where `peer` says. Returns as ib_cm_listen(), or
 * ERR_PROTO. */
weft_status_t ib_cm_connect(weft_net_conn_t *conn, const ib_hello_t *peer);

/* Advances either. Returns OK when both ends may use all queue pairs (the connector has sent a
 * first message on each, the acceptor has received them), IN_PROGRESS, or a failure with the
 * error set. */
weft_status_t ib_cm_poll(weft_net_conn_t *conn);

/* Ends the connection of one queue pair, which is destroyed next. */
void ib_cm_qp_close(weft_net_conn_t *conn, uint32_t qp);
void ib_cm_close(weft_net_conn_t *conn);

#endif
