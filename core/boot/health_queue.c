/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The queue of the health thread: a list under a mutex and a descriptor to wake the thread. */
#include "core/boot/health_queue.h"

#include "core/base/error.h"
#include "core/os/os_socket.h"

#define QUEUE_QUESTIONS 64 /* beyond this asks and answers are dropped */
#define QUEUE_SPARES 8     /* events that are there without memory */

/* Asks and answers are repeated: one that is lost does no harm. */
static bool health_queue_is_question(const weft_health_event_t *event)
{
    return event->type == WEFT_HEALTH_ASK || event->type == WEFT_HEALTH_ANSWER;
}

/* Fills up the reserve with the event, or frees it. */
static void health_queue_put_back(weft_health_queue_t *queue, weft_health_event_t *event)
{
    weft_os_lock(&queue->mutex);
    bool kept = queue->spares < QUEUE_SPARES;
    if (kept) {
        event->next = queue->spare;
        queue->spare = event;
        queue->spares++;
    }
    weft_os_unlock(&queue->mutex);
    if (!kept) {
        weft_os_free(event);
    }
}

/* Returns an event out of the reserve; NULL: it is used up. */
static weft_health_event_t *health_queue_spare(weft_health_queue_t *queue)
{
    weft_os_lock(&queue->mutex);
    weft_health_event_t *event = queue->spare;
    if (event != NULL) {
        queue->spare = event->next;
        queue->spares--;
    }
    weft_os_unlock(&queue->mutex);
    return event;
}

weft_status_t weft_health_queue_init(weft_health_queue_t *queue)
{
    *queue = (weft_health_queue_t){.wake = -1};
    while (queue->spares < QUEUE_SPARES) {
        weft_health_event_t *event = weft_os_alloc(sizeof *event, 0);
        if (event == NULL) {
            return weft_fail(WEFT_ERR_RESOURCE, 0, "out of memory for the queue of events");
        }
        health_queue_put_back(queue, event);
    }
    return weft_os_wake_open(&queue->wake);
}

void weft_health_queue_fini(weft_health_queue_t *queue)
{
    weft_health_queue_free(queue, queue->first);
    for (weft_health_event_t *event; (event = health_queue_spare(queue)) != NULL;) {
        weft_os_free(event);
    }
    queue->first = NULL;
    weft_os_close(queue->wake);
    queue->wake = -1;
}

/* False: the queue is full. The mutex is held. */
static bool health_queue_append(weft_health_queue_t *queue, weft_health_event_t *event)
{
    bool question = health_queue_is_question(event);
    weft_os_mutex_assert_held(&queue->mutex);
    if (question && queue->questions == QUEUE_QUESTIONS) {
        return false;
    }
    queue->questions += question;
    queue->posted++;
    *(queue->last != NULL ? &queue->last->next : &queue->first) = event;
    queue->last = event;
    return true;
}

void weft_health_queue_post(weft_health_queue_t *queue, const weft_health_event_t *event)
{
    weft_health_event_t *copy = weft_os_alloc(sizeof *copy, 0);
    if (copy == NULL && !health_queue_is_question(event)) {
        copy = health_queue_spare(queue);
    }
    if (copy == NULL) {
        return;
    }
    *copy = *event;
    copy->next = NULL;
    weft_os_lock(&queue->mutex);
    bool queued = health_queue_append(queue, copy);
    weft_os_unlock(&queue->mutex);
    if (!queued) {
        health_queue_put_back(queue, copy);
    }
    weft_os_wake(queue->wake);
}

void weft_health_queue_stop(weft_health_queue_t *queue)
{
    weft_os_lock(&queue->mutex);
    queue->stop = true;
    weft_os_unlock(&queue->mutex);
    weft_os_wake(queue->wake);
}

weft_health_event_t *weft_health_queue_take(weft_health_queue_t *queue, bool *stop_p)
{
    weft_os_wake_clear(queue->wake);
    weft_os_lock(&queue->mutex);
    weft_health_event_t *first = queue->first;
    queue->first = NULL;
    queue->last = NULL;
    queue->questions = 0;
    queue->taken = queue->posted;
    *stop_p = queue->stop;
    weft_os_unlock(&queue->mutex);
    return first;
}

void weft_health_queue_free(weft_health_queue_t *queue, weft_health_event_t *first)
{
    while (first != NULL) {
        weft_health_event_t *next = first->next;
        health_queue_put_back(queue, first);
        first = next;
    }
}

/* Sequentially consistent with the other side: it sees the count, or this that a thread waits. */
void weft_health_queue_served(weft_health_queue_t *queue)
{
    atomic_store_explicit(&queue->served, queue->taken, memory_order_seq_cst);
    if (atomic_load_explicit(&queue->awaiting, memory_order_seq_cst) != 0) {
        weft_os_futex_wake(&queue->served);
    }
}

void weft_health_queue_await(weft_health_queue_t *queue, uint64_t ns)
{
    uint64_t now = weft_os_clock_ns(), until = now + ns;
    weft_os_lock(&queue->mutex);
    uint32_t wanted = queue->posted;
    weft_os_unlock(&queue->mutex);
    atomic_fetch_add_explicit(&queue->awaiting, 1, memory_order_seq_cst);
    while (now < until) {
        uint32_t served = atomic_load_explicit(&queue->served, memory_order_seq_cst);
        if ((int32_t)(served - wanted) >= 0) {
            break;
        }
        weft_os_futex_wait(&queue->served, served, until - now);
        now = weft_os_clock_ns();
    }
    atomic_fetch_sub_explicit(&queue->awaiting, 1, memory_order_relaxed);
}
