/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the API entry points share: starting an operation, and telling a failure. */
#ifndef WEFT_COMM_CALL_H
#define WEFT_COMM_CALL_H

#include "core/comm/comm.h"

/* Checks, starts and, unless call->request_p is set, finishes one operation; in a group it is noted. */
weft_status_t weft_comm_call(weft_comm_t *comm, weft_args_t *args, const weft_call_t *call);

/* Size of weft_call_t in its first version: programs built against it go on working. */
#define WEFT_CALL_LEAST offsetof(weft_call_t, scalar_read)

static inline bool weft_call_is_async(const weft_call_t *call)
{
    return call != NULL && call->request_p != NULL;
}

static inline bool weft_call_in_stream(const weft_call_t *call)
{
    return call != NULL && call->stream != NULL;
}

/* A request from checked arguments, ready to be appended. ERR_ARG (vectors), ERR_RESOURCE. */
weft_status_t weft_request_fill(weft_comm_state_t *state, weft_request_t *request,
                                const weft_args_t *args, const weft_call_t *call);
weft_status_t weft_request_create(weft_comm_state_t *state, const weft_args_t *args,
                                  const weft_call_t *call, weft_request_t **request_p);
void weft_request_free(weft_request_t *request);

/* All ranks tell each other `bytes` bytes, in all[] by rank: an operation like any other, which fails the
 * communicator as any would. `root`: which exchange it is, from WEFT_ROOT_CORE on. Blocks: up to
 * init_timeout. */
weft_status_t weft_comm_exchange(weft_comm_state_t *state, uint32_t root, const void *mine,
                                 uint64_t bytes, void *all);

/* group.c: the group of the calling thread. */
bool weft_group_is_open(void);
weft_status_t weft_group_note(weft_comm_state_t *state, const weft_args_t *args,
                              const weft_call_t *call);
/* Remembers that a call of the open group failed; returns `status`. */
weft_status_t weft_group_fail(weft_status_t status);
/* For calls that cannot be part of one. ERR_STATE inside a group, which fails with it. */
weft_status_t weft_group_refuse(const char *call);

/* Logs the calling thread's error as it leaves the library, and returns `status`. */
weft_status_t weft_api_error(const char *call, weft_status_t status);

#endif
