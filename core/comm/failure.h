/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The failure of a communicator. The first one wins; it stays. */
#ifndef WEFT_COMM_FAILURE_H
#define WEFT_COMM_FAILURE_H

#include <stdatomic.h>

#include "core/comm/identity.h"

typedef struct weft_failure {
    _Atomic uint32_t failed;
    weft_os_mutex_t lock; /* guards the rest */
    weft_error_t error;
    weft_missing_t missing;     /* count 0: no list */
    weft_flight_comm_t *flight; /* constant: where the failure is noted too */
    bool named;                 /* the text of the failure says the name */
    char name[WEFT_COMM_NAME_BYTES];
    weft_boot_t *telling; /* what tells the others, while they may not have been told; or NULL */
    int fd;               /* readable after the failure; −1: nobody has asked for it */
} weft_failure_t;

void weft_failure_init(weft_failure_t *failure, weft_flight_comm_t *flight);
void weft_failure_fini(weft_failure_t *failure);

/* The name of the communicator, by which its failure is told: "world" until another one is set.
 * Thread: any. */
void weft_failure_set_name(weft_failure_t *failure, const char *name);
void weft_failure_name(weft_failure_t *failure, char *text, size_t bytes);

/* Room for the words before what is told of a communicator. */
#define WEFT_FAILURE_PLACE (WEFT_COMM_NAME_BYTES + 8)
/* Writes these words: "in NAME: ", with the name in the flight record; "" for "world". Returns
 * `text`. Thread: any. */
const char *weft_failure_place(weft_failure_t *failure, char text[WEFT_FAILURE_PLACE]);

/* True if this rank logs such a failure. All ranks come to the same verdict on a plan: the first
 * one tells it. Thread: any. */
bool weft_failure_speaks(const weft_comm_identity_t *self, weft_status_t status);

/* Keeps and logs the error, unless there is one already; tells the other ranks if `tell`. An error
 * without a culprit (peer −1) names this rank to the others. `missing`: the ranks that did not
 * come, if that is why; or NULL. Thread: any. */
void weft_failure_set(weft_failure_t *failure, const weft_comm_identity_t *self,
                      const weft_error_t *error, const weft_missing_t *missing, bool tell);

/* Returns how many ranks are listed as missing, and writes the first `max` of them, in ascending
 * order. Thread: any. */
uint32_t weft_failure_missing(weft_failure_t *failure, uint32_t *ranks, uint32_t max);

/* Copies the failure. Returns who tells the others of it, if that is this rank and they may not
 * have been told: weft_health_await() waits for that; NULL: nothing to wait for. Thread: any. */
weft_boot_t *weft_failure_copy(weft_failure_t *failure, weft_error_t *error);

/* Copies the failure. One that is this rank's to tell is on its way to the others when this
 * returns, for the program may end then: that may take 1 s. Thread: any but the health
 * thread. */
void weft_failure_get(weft_failure_t *failure, weft_error_t *error);

/* Returns a descriptor that is readable once the communicator has failed; it belongs to the
 * failure. ERR_RESOURCE, ERR_SYSTEM. Thread: any. */
weft_status_t weft_failure_descriptor(weft_failure_t *failure, int *fd_p);

/* Makes the failure the calling thread's error and returns its status. As weft_failure_get(). */
weft_status_t weft_failure_raise(weft_failure_t *failure);

static inline bool weft_failure_is_set(const weft_failure_t *failure)
{
    return atomic_load_explicit(&failure->failed, memory_order_acquire) != 0;
}

#endif
