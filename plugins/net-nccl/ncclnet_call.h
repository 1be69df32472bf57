/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls into the foreign library. Each is noted, so that a hang or a crash in it is named, and each
 * failure is recorded with library, function, device and result. Log lines of the library go to the
 * instance that called it; the first warning becomes part of the failure's text. */
#ifndef WEFT_PLUGINS_NCCLNET_CALL_H
#define WEFT_PLUGINS_NCCLNET_CALL_H

#include "ncclnet.h"

/* A function of the library, in its own words. */
typedef struct ncclnet_call {
    weft_net_t *net;
    ncclnet_function_t function;
    int dev; /* −1: none */
    weft_net_t *outer;
    const char *before;
} ncclnet_call_t;

ncclnet_call_t ncclnet_call_begin(weft_net_t *net, ncclnet_function_t function, int dev);
/* Ends it. Returns OK for ncclSuccess; else records the failure: ERR_SYSTEM, ERR_LINK for a peer
 * that failed, ERR_PLUGIN for what should not be. */
weft_status_t ncclnet_call_end(const ncclnet_call_t *call, int result);
/* The same for a call with which a connection is made: the text names the peer, and is kept as
 * conn->why. */
weft_status_t ncclnet_call_end_join(const ncclnet_call_t *call, weft_net_conn_t *conn, int result);
/* The same for an operation of a connection: ERR_PROTO where test() says that the use was
 * invalid, which is how libraries tell that a message is too long; else ERR_LINK. */
weft_status_t ncclnet_call_end_operation(const ncclnet_call_t *call, weft_net_conn_t *conn,
                                         int result);
/* Records a failure of a connection, and keeps the first for whoever uses it afterwards. */
weft_status_t ncclnet_conn_error(weft_net_conn_t *conn, weft_status_t status, const char *format,
                                 ...) WEFT_PRINTF(3, 4);
/* Ends the call of a function that a failure does not stop: it is a warning. */
void ncclnet_call_end_close(const ncclnet_call_t *call, int result);

/* Makes the texts by which calls are noted. */
void ncclnet_call_prepare(ncclnet_library_t *library);

/* The log function for the library. */
void ncclnet_log(int level, unsigned long subsystems, const char *where, int line,
                 const char *format, ...) WEFT_PRINTF(5, 6);

/* Instances that take log lines of the library's own threads. */
void ncclnet_log_add(weft_net_t *net);
void ncclnet_log_remove(weft_net_t *net);

#endif
