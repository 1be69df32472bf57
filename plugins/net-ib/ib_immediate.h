/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Immediates of adapters that have none (iWARP): after the writes of a message comes a message
 * of its own that is one word long. The word arrives when the written data has arrived. Each
 * queue pair has a word for every receive and for every request that can be outstanding. Thread:
 * [progress]. */
#ifndef WEFT_PLUGINS_NET_IB_IMMEDIATE_H
#define WEFT_PLUGINS_NET_IB_IMMEDIATE_H

#include "ib.h"

/* Allocates the connection's words if this is its first rail, and registers them with the rail.
 * Does nothing where the adapters have immediates. Returns OK, or ERR_RESOURCE. */
weft_status_t ib_immediate_create(weft_net_conn_t *conn, ib_rail_t *rail);
void ib_immediate_destroy(weft_net_conn_t *conn);

/* Sets `piece` to where the next receive of the queue pair puts its word. */
void ib_immediate_recv(const weft_net_conn_t *conn, uint32_t qp, struct ibv_sge *piece);

/* Makes `request`, whose id is set, the message that carries `value`. */
void ib_immediate_send(const weft_net_conn_t *conn, uint32_t qp, uint32_t value,
                       struct ibv_send_wr *request, struct ibv_sge *piece);

/* Reads the word that a completed receive brought. Returns OK, or ERR_PROTO with the error set. */
weft_status_t ib_immediate_take(weft_net_conn_t *conn, uint32_t qp, const struct ibv_wc *wc,
                                uint32_t *value_p);

#endif
