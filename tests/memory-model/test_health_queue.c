/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank tells that it has failed and waits until its health thread has sent that, before its
 * process ends: the wait ends, and not before.
 * Sources: core/boot/health_queue.c */
#include "core/boot/health_queue.c"
#include "model_system.h"

static weft_health_queue_t queue = {.wake = -1};
static weft_health_event_t event;
static _Atomic uint32_t posted; /* the descriptor that wakes the health thread */
static uint32_t sent;           /* by the health thread */

void weft_os_free(void *allocated)
{
    (void)allocated;
}

void weft_os_wake(int fd)
{
    (void)fd;
    atomic_store_explicit(&posted, 1, memory_order_release);
}

void weft_os_wake_clear(int fd)
{
    (void)fd;
    atomic_store_explicit(&posted, 0, memory_order_relaxed);
}

static void model_begin(void)
{
    atomic_store_explicit(&posted, 0, memory_order_relaxed);
    sent = 0;
}

static void *model_tell(void *arg)
{
    (void)arg;
    weft_os_lock(&queue.mutex);
    (void)health_queue_append(&queue, &event);
    weft_os_unlock(&queue.mutex);
    weft_os_wake(queue.wake);
    weft_health_queue_await(&queue, 1);
    model_assert(sent == 1);
    return NULL;
}

static void *model_serve(void *arg)
{
    (void)arg;
    bool stop;
    while (atomic_load_explicit(&posted, memory_order_acquire) == 0) {
        model_turn();
    }
    sent += weft_health_queue_take(&queue, &stop) != NULL;
    weft_health_queue_served(&queue);
    return NULL;
}

static void model_end(void)
{
    model_assert(sent == 1);
}

MODEL_PLAY(model_tell, model_serve)
