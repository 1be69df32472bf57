/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Completion queues: what a caller learns of operations that are complete. A handle is a checked
 * number, as those of communicators are. Entries are parts of the operations that they tell of, so
 * entering one needs no memory and cannot fail. Every function may be called by any thread. */
#ifndef WEFT_COMM_COMPLETION_QUEUE_H
#define WEFT_COMM_COMPLETION_QUEUE_H

#include <weft/weft.h>

typedef struct weft_completion_state weft_completion_state_t;

/* One entry; in the queue from push to take. */
typedef struct weft_completion_state weft_completion_state_t;

typedef struct weft_completion_entry {
    struct weft_completion_entry *next;
    weft_completion_t told;
    weft_request_t *request;        /* whose entry it is; `told` may not say */
    weft_error_t *error;            /* of a failure; NULL: no memory was left for it */
    weft_completion_state_t *queue; /* NULL: the operation has none */
} weft_completion_entry_t;

/* ERR_RESOURCE: too many. */
weft_status_t weft_completion_create(weft_completion_queue_t **queue_p);
/* Ends a queue and returns the entries that were not read. ERR_STATE: operations still name it. */
weft_status_t weft_completion_end(weft_completion_queue_t *queue, weft_completion_entry_t **left_p);

/* Notes that an operation of `call` will enter `entry`, until it does or weft_completion_forgo().
 * ERR_STATE: there is no such queue. */
weft_status_t weft_completion_expect(weft_completion_queue_t *queue, const char *call,
                                     weft_completion_entry_t *entry);
void weft_completion_forgo(weft_completion_entry_t *entry);
/* Enters it and wakes who waits. The entry may be gone when this returns. */
void weft_completion_push(weft_completion_entry_t *entry);

/* Returns a descriptor that is readable while there are entries. ERR_STATE, ERR_RESOURCE. */
weft_status_t weft_completion_descriptor(weft_completion_queue_t *queue, int *fd_p);

/* Takes up to `max` entries, oldest first, none behind a failure; *first_p is NULL if there are
 * none. Waits for the first one or a wake until `deadline`; 0: does not wait. ERR_STATE. */
weft_status_t weft_completion_take(weft_completion_queue_t *queue, uint32_t max, uint64_t deadline,
                                   weft_completion_entry_t **first_p);
/* Ends the waits that are under way, or else the next one. ERR_STATE. */
weft_status_t weft_completion_wake(weft_completion_queue_t *queue);

#endif
