/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Why a connection does not come about, or ended. The acceptor tells an authenticated connector
 * why it refuses, so that the user of either end reads the cause. Thread: [progress]. */
#ifndef WEFT_PLUGINS_NET_IB_REFUSAL_H
#define WEFT_PLUGINS_NET_IB_REFUSAL_H

#include "ib.h"

#define IB_HELLO_REFUSED 0x66726977u /* "wirf" */

/* In place of the acceptor's record, and as long as one; little-endian. */
typedef struct ib_refusal {
    uint32_t magic;
    uint32_t status; /* weft_status_t */
    char text[440];
} ib_refusal_t;

/* Sets an error as weft_host_t.set_error, and keeps its text in conn->reason, for whoever asks
 * later why the connection failed. Returns `status`. */
weft_status_t ib_blame(weft_net_conn_t *conn, weft_status_t status, int cause, const char *format,
                       ...) WEFT_PRINTF(4, 5);

/* Tells the connector the reason, at most once and without waiting. */
void ib_refusal_send(weft_net_conn_t *conn, weft_status_t status);

/* Takes what the acceptor sent in place of its record. Returns ERR_LINK with the error set: its
 * text is the acceptor's, as far as it is printable. */
weft_status_t ib_refusal_take(const weft_net_conn_t *conn, const void *record);

#endif
