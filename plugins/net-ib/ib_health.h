/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What can be wrong with a connection besides its completions, and what it means: the end of the
 * side channel, ports, adapters, asynchronous events, flushed requests. Nothing blocks. Thread:
 * [progress]. */
#ifndef WEFT_PLUGINS_NET_IB_HEALTH_H
#define WEFT_PLUGINS_NET_IB_HEALTH_H

#include "ib.h"

/* Takes a control message of the peer, or notes the end of the side channel. */
void ib_health_side(weft_net_conn_t *conn);

/* Judges everything that was noted. Returns OK, or a failure of the connection with the error
 * set. */
weft_status_t ib_health_check(weft_net_conn_t *conn);

/* Returns whether the passing of time alone may change what ib_health_check() returns. */
bool ib_health_due(const weft_net_conn_t *conn);

#endif
