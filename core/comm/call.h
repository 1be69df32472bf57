/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the API entry points share: starting an operation, and telling a failure. */
#ifndef WEFT_COMM_CALL_H
#define WEFT_COMM_CALL_H

#include "core/comm/comm.h"

/* Checks, starts and, unless call->request_p is set, finishes one collective. */
weft_status_t weft_comm_call(weft_comm_t *comm, const weft_args_t *args, const weft_call_t *call);

/* Logs the calling thread's error as it leaves the library, and returns `status`. */
weft_status_t weft_api_error(const char *call, weft_status_t status);

#endif
