/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Completion queues: a table that never shrinks, so that a late look at a queue is always legal. */
#include "core/comm/completion_queue.h"

#include "core/base/error.h"
#include "core/os/os_fork.h"
#include "core/os/os_socket.h"

#define QUEUES 256u
#define QUEUE_BITS 8u
#define SLEEP_NS WEFT_NS_PER_S
#define CALL_DESTROY "weft_completion_queue_destroy"

struct weft_completion_state {
    _Atomic uintptr_t handle;  /* 0 = free */
    _Atomic uint32_t signal;   /* futex word: entries and wakes */
    _Atomic uint32_t sleepers; /* threads that wait for the signal, or are about to */
    _Atomic uint32_t fork_generation;
    uint64_t generation;  /* guarded by queues_lock */
    weft_os_mutex_t lock; /* guards the rest */
    uint64_t expected;    /* operations that name it and are not complete */
    weft_completion_entry_t *first, *last;
    uint64_t wakes;  /* asked for so far … */
    uint64_t served; /* … and seen by somebody */
    int fd;          /* −1: nobody has asked for it */
    bool readable;
};

typedef weft_completion_state_t completion_state_t;

static completion_state_t queues[QUEUES];
static void completion_forked(bool held);
/* Guards which are free. */
static weft_os_process_mutex_t queues_lock = {.forked = completion_forked};

/* The queues themselves stay the parent's: a place is free once its queue was destroyed there. */
static void completion_forked(bool held)
{
    (void)held;
    for (uint32_t i = 0; i < QUEUES; i++) {
        (void)weft_os_mutex_renew(&queues[i].lock);
    }
}

static uintptr_t completion_handle(uint32_t index, uint64_t generation)
{
    return (uintptr_t)(generation << (QUEUE_BITS + 1)) | (uintptr_t)index << 1 | 1u;
}

weft_status_t weft_completion_create(weft_completion_queue_t **queue_p)
{
    uint32_t i = 0;
    weft_os_process_lock(&queues_lock);
    while (i < QUEUES && atomic_load_explicit(&queues[i].handle, memory_order_relaxed) != 0) {
        i++;
    }
    if (i < QUEUES) {
        completion_state_t *q = &queues[i];
        uintptr_t handle = completion_handle(i, ++q->generation);
        weft_os_lock(&q->lock);
        q->fd = -1;
        q->readable = false;
        q->served = q->wakes;
        weft_os_unlock(&q->lock);
        atomic_store_explicit(&q->fork_generation, weft_os_fork_generation(), memory_order_relaxed);
        atomic_store_explicit(&q->sleepers, 0, memory_order_relaxed);
        atomic_store_explicit(&q->handle, handle, memory_order_release);
        *queue_p = (weft_completion_queue_t *)handle;
    }
    weft_os_process_unlock(&queues_lock);
    return i < QUEUES ? WEFT_OK
                      : weft_fail(WEFT_ERR_RESOURCE, 0,
                                  "more than %u completion queues in one process", QUEUES);
}

/* Finds a queue and locks it; NULL and an error of `call`: there is none. */
static completion_state_t *completion_lock(weft_completion_queue_t *queue, const char *call)
{
    uintptr_t number = (uintptr_t)queue;
    completion_state_t *q = &queues[number >> 1 & (QUEUES - 1)];
    if (number == 0) {
        weft_fail(WEFT_ERR_ARG, 0, "%s: the completion queue is NULL", call);
        return NULL;
    }
    bool known = atomic_load_explicit(&q->handle, memory_order_acquire) == number;
    uint32_t forks = atomic_load_explicit(&q->fork_generation, memory_order_relaxed);
    if (known && forks != weft_os_fork_generation()) {
        weft_fail(WEFT_ERR_STATE, 0,
                  "%s: the completion queue belongs to the process before fork(); create one here",
                  call);
        return NULL;
    }
    if (known) {
        weft_os_lock(&q->lock);
        if (atomic_load_explicit(&q->handle, memory_order_relaxed) == number) {
            return q;
        }
        weft_os_unlock(&q->lock);
    }
    weft_fail(WEFT_ERR_STATE, 0, "%s: the completion queue was destroyed, or never was one", call);
    return NULL;
}

weft_status_t weft_completion_end(weft_completion_queue_t *queue, weft_completion_entry_t **left_p)
{
    completion_state_t *q = completion_lock(queue, CALL_DESTROY);
    if (q == NULL) {
        return weft_error_record()->status;
    }
    if (q->expected > 0) {
        uint64_t expected = q->expected;
        weft_os_unlock(&q->lock);
        return weft_fail(
            WEFT_ERR_STATE, 0,
            CALL_DESTROY
            ": operations that name the completion queue are not complete: %llu; wait for "
            "them, or destroy their communicators first",
            (unsigned long long)expected);
    }
    *left_p = q->first;
    q->first = q->last = NULL;
    weft_os_close(q->fd);
    q->fd = -1;
    atomic_store_explicit(&q->handle, 0, memory_order_release);
    weft_os_unlock(&q->lock);
    return WEFT_OK;
}

weft_status_t weft_completion_expect(weft_completion_queue_t *queue, const char *call,
                                     weft_completion_entry_t *entry)
{
    completion_state_t *q = completion_lock(queue, call);
    if (q == NULL) {
        return weft_error_record()->status;
    }
    q->expected++;
    weft_os_unlock(&q->lock);
    entry->queue = q;
    return WEFT_OK;
}

void weft_completion_forgo(weft_completion_entry_t *entry)
{
    weft_os_lock(&entry->queue->lock);
    entry->queue->expected--;
    weft_os_unlock(&entry->queue->lock);
    entry->queue = NULL;
}

/* Makes the descriptor say whether there are entries. The caller holds the lock. */
static void completion_show(completion_state_t *q)
{
    bool readable = q->first != NULL;
    if (q->fd >= 0 && readable != q->readable) {
        q->readable = readable;
        if (readable) {
            weft_os_wake(q->fd);
        } else {
            weft_os_wake_clear(q->fd);
        }
    }
}

/* Whoever takes has looked under the lock before this caller had it, and is seen as a sleeper, or
 * looks after it and finds what is there. */
static void completion_signal(completion_state_t *q)
{
    atomic_fetch_add_explicit(&q->signal, 1, memory_order_relaxed);
    if (atomic_load_explicit(&q->sleepers, memory_order_relaxed) != 0) {
        weft_os_futex_wake(&q->signal);
    }
}

void weft_completion_push(weft_completion_entry_t *entry)
{
    completion_state_t *q = entry->queue;
    entry->next = NULL;
    weft_os_lock(&q->lock);
    *(q->last != NULL ? &q->last->next : &q->first) = entry;
    q->last = entry;
    q->expected--;
    completion_show(q);
    weft_os_unlock(&q->lock);
    completion_signal(q); /* the table stays, also if the queue is gone by now */
}

weft_status_t weft_completion_descriptor(weft_completion_queue_t *queue, int *fd_p)
{
    completion_state_t *q = completion_lock(queue, "weft_completion_queue_fd");
    if (q == NULL) {
        return weft_error_record()->status;
    }
    weft_status_t status = q->fd < 0 ? weft_os_wake_open(&q->fd) : WEFT_OK;
    if (status == WEFT_OK) {
        completion_show(q);
        *fd_p = q->fd;
    }
    weft_os_unlock(&q->lock);
    return status;
}

/* Cuts up to `max` entries off the front. The caller holds the lock. */
static weft_completion_entry_t *completion_cut(completion_state_t *q, uint32_t max)
{
    weft_completion_entry_t *first = q->first, *last = NULL;
    for (uint32_t i = 0; i < max && q->first != NULL && (last == NULL || last->told.status >= 0);
         i++) {
        last = q->first;
        q->first = last->next;
    }
    if (last == NULL) {
        return NULL;
    }
    last->next = NULL;
    q->last = q->first != NULL ? q->last : NULL;
    completion_show(q);
    return first;
}

static void completion_sleep(completion_state_t *q, uint32_t seen, uint64_t deadline)
{
    uint64_t now = weft_os_clock_ns();
    uint64_t left = deadline > now ? deadline - now : 0;
    weft_os_futex_wait(&q->signal, seen, left < SLEEP_NS ? left : SLEEP_NS);
}

weft_status_t weft_completion_take(weft_completion_queue_t *queue, uint32_t max, uint64_t deadline,
                                   weft_completion_entry_t **first_p)
{
    const char *call = deadline != 0 ? "weft_completion_queue_wait" : "weft_completion_queue_poll";
    uint64_t wakes = 0;
    bool waits = false, over = false;
    completion_state_t *q;
    while ((q = completion_lock(queue, call)) != NULL) {
        uint32_t seen = atomic_load_explicit(&q->signal, memory_order_relaxed);
        weft_completion_entry_t *first = completion_cut(q, max);
        wakes = waits ? wakes : q->served;
        if (deadline != 0 && wakes != q->wakes) {
            q->served = q->wakes;
            over = true;
        }
        over = over || first != NULL || deadline == 0 || weft_os_clock_ns() >= deadline;
        if (!waits && !over) {
            waits = true;
            atomic_fetch_add_explicit(&q->sleepers, 1, memory_order_relaxed);
        } else if (waits && over) {
            atomic_fetch_sub_explicit(&q->sleepers, 1, memory_order_relaxed);
        }
        weft_os_unlock(&q->lock);
        if (over) {
            *first_p = first;
            return WEFT_OK;
        }
        completion_sleep(q, seen, deadline);
    }
    return weft_error_record()->status;
}

weft_status_t weft_completion_wake(weft_completion_queue_t *queue)
{
    completion_state_t *q = completion_lock(queue, "weft_completion_queue_wake");
    if (q == NULL) {
        return weft_error_record()->status;
    }
    q->wakes++;
    weft_os_unlock(&q->lock);
    completion_signal(q);
    return WEFT_OK;
}
