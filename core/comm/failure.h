/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The failure of a communicator. The first one wins; it stays. */
#ifndef WEFT_COMM_FAILURE_H
#define WEFT_COMM_FAILURE_H

#include <stdatomic.h>

#include "core/comm/identity.h"

typedef struct weft_failure {
    _Atomic uint32_t failed;
    weft_os_mutex_t lock; /* guards error */
    weft_error_t error;
} weft_failure_t;

void weft_failure_init(weft_failure_t *failure);

/* Keeps and logs the error, unless there is one already; tells the other ranks if `tell`. An error
 * without a culprit (peer −1) names this rank to the others. Thread: any. */
void weft_failure_set(weft_failure_t *failure, const weft_comm_identity_t *self,
                      const weft_error_t *error, bool tell);

/* Copies the failure. Thread: any. */
void weft_failure_get(weft_failure_t *failure, weft_error_t *error);

/* Makes the failure the calling thread's error and returns its status. Thread: any. */
weft_status_t weft_failure_raise(weft_failure_t *failure);

static inline bool weft_failure_is_set(const weft_failure_t *failure)
{
    return atomic_load_explicit(&failure->failed, memory_order_acquire) != 0;
}

#endif
