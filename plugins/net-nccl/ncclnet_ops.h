/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations: posted ones wait in the queue of the SDK until the library takes them, and are
 * tested one after the other, the oldest first, as NCCL does. */
#ifndef WEFT_PLUGINS_NCCLNET_OPS_H
#define WEFT_PLUGINS_NCCLNET_OPS_H

#include "ncclnet.h"

/* Starts what the library takes and finishes what it has done. A failure is recorded, and is
 * that of the connection. */
weft_status_t ncclnet_conn_advance(weft_net_conn_t *conn);

/* Ends registrations of single operations, before the comm is closed. */
void ncclnet_way_forget(weft_net_conn_t *conn, ncclnet_way_t *way);

#endif
