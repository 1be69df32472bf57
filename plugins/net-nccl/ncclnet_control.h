/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The control stream of a connection: TCP, with the handshake of the SDK. Nothing here blocks. */
#ifndef WEFT_PLUGINS_NCCLNET_CONTROL_H
#define WEFT_PLUGINS_NCCLNET_CONTROL_H

#include "ncclnet.h"

/* Advances the connector's control stream over the addresses of the peer until the handshake is
 * done. OK, IN_PROGRESS, or a failure that is recorded. */
weft_status_t ncclnet_control_connect(weft_net_conn_t *conn);

/* Moves the rest of a record. OK, IN_PROGRESS, or ERR_LINK, recorded. */
weft_status_t ncclnet_control_send(weft_net_conn_t *conn, const void *record, uint32_t bytes,
                                   uint32_t *done_p);
weft_status_t ncclnet_control_receive(weft_net_conn_t *conn, void *record, uint32_t bytes,
                                      uint32_t *done_p);
/* For an end that waits for its library: IN_PROGRESS while the peer is there, else ERR_LINK,
 * recorded. */
weft_status_t ncclnet_control_wait(const weft_net_conn_t *conn);

/* Says that this end closes, and how much it has sent. */
void ncclnet_control_bye(const weft_net_conn_t *conn);
/* Returns whether the peer has said that it closes. */
bool ncclnet_control_has_bye(weft_net_conn_t *conn);
/* Looks whether the peer is still there. OK while it is, or while messages that it sent before
 * its end are still to come; else ERR_PEER_DEAD, ERR_LINK or ERR_PROTO, recorded. */
weft_status_t ncclnet_control_look(weft_net_conn_t *conn);

#endif
