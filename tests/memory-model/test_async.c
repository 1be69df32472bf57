/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An operation ends in one thread while another one sleeps until it is done and a third one waits
 * at its completion queue: both wake up, see its status, and the last of them frees it.
 * Sources: core/comm/async.c, core/comm/completion_queue.c */
#include "core/comm/async.c"
#include "core/comm/completion_queue.c"
#include "model_system.h"

static weft_completion_queue_t *queue;
static weft_async_t async;
static uint32_t freed;

void weft_os_free(void *allocated)
{
    (void)allocated;
}

static void model_begin(void)
{
    freed = 0;
    if (queue == NULL) {
        (void)weft_completion_create(&queue);
    }
    atomic_store_explicit(&async.done, WEFT_ASYNC_UNDER_WAY, memory_order_relaxed);
    atomic_store_explicit(&async.holders, 2, memory_order_relaxed);
    async.entry.told.status = WEFT_IN_PROGRESS;
    (void)weft_completion_expect(queue, "model", &async.entry);
}

static void *model_end_operation(void *arg)
{
    (void)arg;
    weft_async_end(&async, WEFT_OK);
    return NULL;
}

/* A race with a look at the operation is a use behind its end. */
static void model_drop(void)
{
    if (weft_async_drop(&async)) {
        async.entry.told.status = WEFT_ERR_STATE;
        freed++;
    }
}

static void *model_wait(void *arg)
{
    (void)arg;
    while (!weft_async_is_done(&async)) {
        weft_async_sleep(&async, 1);
    }
    model_assert(async.entry.told.status == WEFT_OK);
    model_drop();
    return NULL;
}

static void *model_take(void *arg)
{
    (void)arg;
    weft_completion_entry_t *first = NULL;
    (void)weft_completion_take(queue, 1, UINT64_MAX, &first);
    model_assert(first == &async.entry && first->told.status == WEFT_OK);
    model_drop();
    return NULL;
}

static void model_end(void)
{
    model_assert(freed == 1);
}

MODEL_PLAY(model_end_operation, model_wait, model_take)
