/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The way of an operation from its entry point into the communicator, and what entry points
 * share. */
#ifndef WEFT_COMM_CALL_H
#define WEFT_COMM_CALL_H

#include "core/comm/args.h"

/* Checks and starts one operation and, unless given->request_p or given->stream is set, waits for
 * its end; in a group it is noted. */
weft_status_t weft_comm_call(weft_comm_t *comm, weft_args_t *args, const weft_call_t *given);

/* Logs the calling thread's error as it leaves the library, and returns `status`. `object` is the
 * log's prefix. */
weft_status_t weft_api_error(const char *object, weft_status_t status);

#endif
