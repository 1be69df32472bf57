/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations that the host does while their stream waits for it. */
#ifndef WEFT_COMM_HOST_WAIT_H
#define WEFT_COMM_HOST_WAIT_H

#include "core/comm/comm.h"

/* Operations behind one host wait. */
typedef struct weft_batch {
    struct weft_batch *next;
    uint64_t number; /* of the host wait */
    bool captured;   /* comes with every launch of the graph */
    uint32_t count;
    weft_request_t *request[];
} weft_batch_t;

typedef struct weft_host_waits {
    weft_batch_t *batches; /* in the order of their numbers */
    weft_batch_t *reached; /* the one of them that the engine has */
    uint64_t numbers;      /* given so far */
} weft_host_waits_t;

/* Puts a host wait into the stream and takes the requests, of which `first` heads the list. On
 * failure they stay the caller's and nothing was started. The kernel's failure; ERR_RESOURCE. */
weft_status_t weft_host_wait_put(weft_comm_state_t *state, weft_host_waits_t *waits,
                                 void *const *stream, weft_request_t *first);

/* Starts the operations that a stream has come to, and lets it go on when they are done. True if
 * something moved. */
bool weft_host_wait_step(weft_comm_state_t *state, weft_host_waits_t *waits);

/* True if a stream waits for operations that are under way. */
static inline bool weft_host_wait_is_reached(const weft_host_waits_t *waits)
{
    return waits->reached != NULL;
}
/* True if an operation is not completed; captured ones count while a stream waits for them. */
bool weft_host_wait_is_busy(const weft_host_waits_t *waits);
/* True if a stream may come to a host wait at any time. */
static inline bool weft_host_wait_listens(const weft_host_waits_t *waits)
{
    return waits->batches != NULL;
}

/* True if an operation behind a host wait reduces with `op`. */
bool weft_host_wait_uses(const weft_host_waits_t *waits, weft_op_t op);

void weft_host_wait_free(weft_host_waits_t *waits);

#endif
