/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Queue pairs of iWARP ports. Their connection is a TCP stream of the adapter's own, which only the
 * connection manager of librdmacm can make. The side channel stays the authority: it carries where the
 * acceptor's adapter listens, and a token without which nobody is let in there. */
#ifndef WEFT_PLUGINS_NET_IB_CM_H
#define WEFT_PLUGINS_NET_IB_CM_H

#include "ib.h"

/* What: makes librdmacm usable for this instance; again is no fault. Failure: ERR_UNSUPPORTED, *why_p says
 * what is missing; ERR_RESOURCE. */
weft_status_t ib_cm_load(weft_net_t *net, const char **why_p);
void ib_cm_unload(weft_net_t *net);

/* What: finds the addresses of this host that lead over the port, of either family. Failure:
 * ERR_RESOURCE. */
weft_status_t ib_cm_addresses(ib_port_t *port);

/* What: listens for the queue pairs of a connection and writes into `hello` where, and the token.
 * Failure: ERR_RESOURCE, ERR_LINK, ERR_SYSTEM. Nothing is done for other ports than iWARP's, here and
 * below. */
weft_status_t ib_cm_listen(weft_net_conn_t *conn, ib_hello_t *hello);

/* What: begins to connect all queue pairs to where `peer` says. Failure: as above, ERR_PROTO. */
weft_status_t ib_cm_dial(weft_net_conn_t *conn, const ib_hello_t *peer);

/* What: goes on with either. Returns: OK when both ends may use all queue pairs (the connector has sent a
 * first message on each, the acceptor has received them), IN_PROGRESS, or a failure. */
weft_status_t ib_cm_poll(weft_net_conn_t *conn);

/* What: ends the connection of one queue pair, which is destroyed next. */
void ib_cm_lane_close(weft_net_conn_t *conn, uint32_t lane);
void ib_cm_close(weft_net_conn_t *conn);

#endif
