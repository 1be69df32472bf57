/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a connection is made, the same at both ends once the control stream stands: each end
 * listens with the library, tells the handle, connects to the other's and accepts, and says that
 * it is ready. */
#ifndef WEFT_PLUGINS_NCCLNET_JOIN_H
#define WEFT_PLUGINS_NCCLNET_JOIN_H

#include "ncclnet.h"

/* Advances the part that is the same at both ends. OK when the connection is ready, IN_PROGRESS,
 * or a failure that is recorded. */
weft_status_t ncclnet_join_advance(weft_net_conn_t *conn);
/* Ends it, done or not. */
void ncclnet_join_close(weft_net_conn_t *conn);
/* A line about a connection that is given up after it has waited for long. */
void ncclnet_join_tell_late(const weft_net_conn_t *conn);

#endif
