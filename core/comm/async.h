/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What an asynchronous operation has besides its request: who waits for its end, who is told of it,
 * and who may still look at it. The owner of the communicator ends it; every other function may be
 * called by any thread that holds it. */
#ifndef WEFT_COMM_ASYNC_H
#define WEFT_COMM_ASYNC_H

#include <stdatomic.h>

#include "core/comm/completion_queue.h"
#include "core/os/os.h"

typedef enum weft_async_done {
    WEFT_ASYNC_UNDER_WAY = 0,
    WEFT_ASYNC_AWAITED = 1, /* … and somebody sleeps */
    WEFT_ASYNC_DONE = 2
} weft_async_done_t;

typedef struct weft_async {
    _Atomic uint32_t done;    /* weft_async_done_t; a futex word */
    _Atomic uint32_t holders; /* the caller's request, the entry of a queue */
    weft_completion_entry_t entry;
    /* The request of a group, and the position of this operation in it; or NULL. */
    struct weft_async_group *group;
    uint32_t index;
} weft_async_t;

/* The operations of a group that have one request, whose `async` is this one's. */
typedef struct weft_async_group {
    weft_async_t async;
    weft_async_t *parts; /* one for each operation */
    uint32_t nparts, ncomms;
    weft_comm_t **comms;   /* their communicators, each once */
    _Atomic uint32_t open; /* operations that are not complete, and 1 until all have begun */
    weft_os_mutex_t lock;  /* guards the rest */
    uint32_t failed;       /* the first that failed, in the order of the calls … */
    weft_status_t status;  /* … and how */
    weft_error_t *error;
} weft_async_group_t;

/* Prepares the end of `request`, of the function `name` with the options `call`. ERR_STATE: there
 * is no such queue. */
weft_status_t weft_async_init(weft_async_t *async, weft_request_t *request, const char *name,
                              const weft_call_t *call);
/* Frees what the end needed. It has been reached, or the operation was never begun. */
void weft_async_fini(weft_async_t *async);

/* Ends the operation; a failure is the calling thread's error. `async` and its request may be gone
 * when this returns. */
void weft_async_end(weft_async_t *async, weft_status_t status);
/* The same for one share of a group. */
void weft_async_group_end(weft_async_group_t *group);

/* For the owner of the communicator, before the operation begins: takes it out of its queue, which
 * is returned, or NULL. Then, before it is shared: put back, or given up when it is done. */
weft_completion_state_t *weft_async_leave_queue(weft_async_t *async);
void weft_async_rejoin_queue(weft_async_t *async, weft_completion_state_t *queue);
void weft_async_give_up_queue(weft_async_t *async, weft_completion_state_t *queue);

/* Drops one holder. True: it was the last, and frees it. */
bool weft_async_drop(weft_async_t *async);

static inline bool weft_async_is_done(const weft_async_t *async)
{
    return atomic_load_explicit(&async->done, memory_order_acquire) == WEFT_ASYNC_DONE;
}

/* Sleeps until the operation is done, at most that long. */
void weft_async_sleep(weft_async_t *async, uint64_t ns);

/* Returns a copy of the calling thread's error, which the caller frees. NULL: the error is of
 * another status and so of another call, or there is no memory. */
weft_error_t *weft_async_keep_error(weft_status_t status);

/* Makes a recorded failure the calling thread's error. */
void weft_async_raise(const weft_error_t *error, weft_status_t status);

#endif
