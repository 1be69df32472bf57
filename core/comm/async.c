/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The end of asynchronous operations. */
#include "core/comm/async.h"

#include "core/base/error.h"

weft_status_t weft_async_init(weft_async_t *async, weft_request_t *request, const char *name,
                              const weft_call_t *call)
{
    const bool handle = call->request_p != NULL;
    weft_completion_queue_t *queue = call->queue;
    atomic_init(&async->done, WEFT_ASYNC_UNDER_WAY);
    atomic_init(&async->holders, (handle ? 1u : 0u) + (queue != NULL ? 1u : 0u));
    async->entry = (weft_completion_entry_t){
        .request = request, .told = {.request = handle ? request : NULL, .context = call->context}};
    return queue != NULL ? weft_completion_expect(queue, name, &async->entry) : WEFT_OK;
}

void weft_async_fini(weft_async_t *async)
{
    if (async->entry.queue != NULL && !weft_async_is_done(async)) {
        weft_completion_forgo(&async->entry);
    }
    weft_os_free(async->entry.error);
}

weft_error_t *weft_async_keep_error(weft_status_t status)
{
    weft_error_t *error =
        weft_error_record()->status == status ? weft_os_alloc(sizeof *error, 0) : NULL;
    if (error != NULL) {
        *error = *weft_error_record();
    }
    return error;
}

/* From the change of `done` on the caller's holder may go, and from the push on the queue's. */
static void async_tell(weft_async_t *async, weft_status_t status, weft_error_t *error)
{
    bool queued = async->entry.queue != NULL;
    async->entry.told.status = status;
    async->entry.error = error;
    uint32_t before = atomic_exchange_explicit(&async->done, WEFT_ASYNC_DONE, memory_order_acq_rel);
    if (before == WEFT_ASYNC_AWAITED) {
        weft_os_futex_wake(&async->done); /* an address: nothing there is touched */
    }
    if (queued) {
        weft_completion_push(&async->entry);
    }
}

void weft_async_group_end(weft_async_group_t *group)
{
    if (atomic_fetch_sub_explicit(&group->open, 1, memory_order_acq_rel) == 1) {
        async_tell(&group->async, group->status, group->error);
    }
}

static void async_fail_group(weft_async_group_t *group, uint32_t index, weft_status_t status)
{
    weft_os_lock(&group->lock);
    if (group->status == WEFT_OK || index < group->failed) {
        weft_os_free(group->error);
        group->error = weft_async_keep_error(status);
        group->status = status;
        group->failed = index;
    }
    weft_os_unlock(&group->lock);
}

void weft_async_end(weft_async_t *async, weft_status_t status)
{
    if (async->group == NULL) {
        async_tell(async, status, status < 0 ? weft_async_keep_error(status) : NULL);
        return;
    }
    if (status < 0) {
        async_fail_group(async->group, async->index, status);
    }
    weft_async_group_end(async->group);
}

weft_completion_state_t *weft_async_leave_queue(weft_async_t *async)
{
    weft_completion_state_t *queue = async->entry.queue;
    async->entry.queue = NULL;
    return queue;
}

void weft_async_rejoin_queue(weft_async_t *async, weft_completion_state_t *queue)
{
    async->entry.queue = queue;
}

void weft_async_give_up_queue(weft_async_t *async, weft_completion_state_t *queue)
{
    if (queue != NULL) {
        async->entry.queue = queue;
        weft_completion_forgo(&async->entry);
        weft_async_drop(async);
    }
}

bool weft_async_drop(weft_async_t *async)
{
    return atomic_fetch_sub_explicit(&async->holders, 1, memory_order_acq_rel) == 1;
}

void weft_async_sleep(weft_async_t *async, uint64_t ns)
{
    uint32_t before = WEFT_ASYNC_UNDER_WAY;
    if (atomic_compare_exchange_strong_explicit(&async->done, &before, WEFT_ASYNC_AWAITED,
                                                memory_order_relaxed, memory_order_relaxed) ||
        before == WEFT_ASYNC_AWAITED) {
        weft_os_futex_wait(&async->done, WEFT_ASYNC_AWAITED, ns);
    }
}

void weft_async_raise(const weft_error_t *error, weft_status_t status)
{
    if (error != NULL) {
        *weft_error_record() = *error;
    } else if (status < 0) {
        weft_fail(status, 0, "an asynchronous operation failed: %s", weft_status_text(status));
    }
}
