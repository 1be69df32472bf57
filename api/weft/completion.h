/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Part of the user API, included by weft/weft.h: what becomes of asynchronous operations. */
#ifndef WEFT_COMPLETION_H
#define WEFT_COMPLETION_H

#include <weft/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_request weft_request_t;                   /* one asynchronous operation */
typedef struct weft_completion_queue weft_completion_queue_t; /* tells of operations at their end */

/* Requests ------------------------------------------------------------------------------------- */

/* Asynchronous operations progress in calls on their communicator, and otherwise in a thread of
 * weft: nobody has to test or wait. A request may be tested and waited for by any thread, one at a
 * time per request, while other threads are inside calls on its communicator. A request outlives
 * its communicator: weft_comm_destroy() completes it.
 *
 * A call writes its request to *weft_call_t.request_p before it returns, and never afterwards: the
 * request may be copied and the variable may go. Every request that a call stored is freed by a
 * test or a wait, that of a group that failed, too: it has ended with the group's failure.
 *
 * A request is an address, and not checked as other handles are: after the test or the wait that
 * frees it, no copy of it may be used. */

/* Makes progress and tests whether the operation is complete. Where the ranks of a host outnumber
 * its cores, or with exec.wait = yield, a test that finds nothing to do yields the core. Returns
 * IN_PROGRESS, or the final status of the operation. With the final status the request is freed and
 * *request_p becomes NULL. After a failure weft_last_error() has its record.
 * Errors: ERR_ARG, ERR_STATE (recorded in a group that is still open), and those of the operation.
 * Blocking: no. Thread: any, one at a time per request. */
WEFT_EXPORT weft_status_t weft_request_test(weft_request_t **request_p);

/* Waits until the operation is complete, at most up to its deadline (weft_call_t.timeout). The
 * request is freed and *request_p becomes NULL. After a failure weft_last_error() has its record.
 * Errors: ERR_ARG, ERR_STATE (recorded in a group that is still open), and those of the operation.
 * Blocking: up to the deadline. Thread: any, one at a time per request. */
WEFT_EXPORT weft_status_t weft_request_wait(weft_request_t **request_p);

/* Waits as weft_request_wait() does, but at most `seconds`; 0 or less only looks, infinity waits as
 * long as that does. Returns IN_PROGRESS if the operation is not complete by then.
 * Errors: as weft_request_wait(), and ERR_ARG (`seconds` is NaN).
 * Blocking: up to `seconds`. Thread: any, one at a time per request. */
WEFT_EXPORT weft_status_t weft_request_wait_for(weft_request_t **request_p, double seconds);

/* Completion queues ---------------------------------------------------------------------------- */

/* A completion queue tells when operations are complete, for callers that do not want a thread to
 * wait for each of them. A call with weft_call_t.queue is asynchronous. When its operation is
 * complete on this rank, successfully or not, it is entered in the queue, exactly once. One queue
 * may serve all communicators of a process and be used by any number of threads.
 *
 * With request_p there is also a request. It belongs to the caller as without a queue: test or wait
 * frees it, before or after the entry has been read. Without request_p the entry is all there is.
 *
 * Communicators that fail, are aborted or destroyed enter their operations with the failure. */

/* One completed operation. */
typedef struct weft_completion {
    weft_request_t *request; /* of the call, for comparison: it may have been freed; or NULL */
    void *context;           /* weft_call_t.context */
    weft_status_t status;    /* final status of the operation */
    uint32_t reserved;       /* 0 */
} weft_completion_t;

/* Makes a completion queue. The caller owns it until weft_completion_queue_destroy().
 * Errors: ERR_ARG, ERR_RESOURCE (also more than 256 at once).
 * Blocking: no. Thread: any. */
WEFT_EXPORT weft_status_t weft_completion_queue_create(weft_completion_queue_t **queue_p);

/* Frees a completion queue. Entries that were not read are dropped. No other call may use the queue
 * at the same time. NULL is allowed.
 * Errors: ERR_STATE (already destroyed, forked child, or operations that name it are not complete).
 * Blocking: no. Thread: any. */
WEFT_EXPORT weft_status_t weft_completion_queue_destroy(weft_completion_queue_t *queue);

/* Returns a descriptor that poll(2), epoll and select report readable while the queue has entries.
 * It belongs to the queue: do not read from it and do not close it. When it is readable, read the
 * queue until it is empty.
 * Errors: ERR_ARG, ERR_STATE, ERR_RESOURCE (no descriptors left).
 * Blocking: no. Thread: any. */
WEFT_EXPORT weft_status_t weft_completion_queue_fd(weft_completion_queue_t *queue, int *fd_p);

/* Takes up to `max` entries out of the queue, oldest first. *count_p is their number, 0 if the
 * queue is empty. An entry with a failure is the last one of a call: weft_last_error() then has its
 * record.
 * Errors: ERR_ARG, ERR_STATE. Failures of operations are in the entries only.
 * Blocking: no. Thread: any. */
WEFT_EXPORT weft_status_t weft_completion_queue_poll(weft_completion_queue_t *queue,
                                                     weft_completion_t *entries, uint32_t max,
                                                     uint32_t *count_p);

/* Waits until the queue has an entry, or weft_completion_queue_wake(), and then does what
 * weft_completion_queue_poll() does. Returns OK with *count_p = 0 after `timeout` seconds; a
 * negative timeout, or infinity, waits without a limit. Several threads may wait; each entry wakes
 * one.
 * Errors: ERR_ARG (also `timeout` is NaN), ERR_STATE.
 * Blocking: up to `timeout`. Thread: any. */
WEFT_EXPORT weft_status_t weft_completion_queue_wait(weft_completion_queue_t *queue,
                                                     weft_completion_t *entries, uint32_t max,
                                                     uint32_t *count_p, double timeout);

/* Makes all threads that wait for the queue return, and if none does, the next that would.
 * Errors: ERR_ARG, ERR_STATE.
 * Blocking: no. Thread: any. */
WEFT_EXPORT weft_status_t weft_completion_queue_wake(weft_completion_queue_t *queue);

#ifdef __cplusplus
}
#endif
#endif
