/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See os_fork.h. */
#include "core/os/os_fork.h"

#include <pthread.h>

/* The only way to learn of a fork without a system call per question. */
_Atomic uint32_t weft_os_forks;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static _Atomic(weft_os_process_mutex_t *) fork_mutexes;

static void fork_in_child(void)
{
    atomic_fetch_add_explicit(&weft_os_forks, 1, memory_order_relaxed);
    for (weft_os_process_mutex_t *mutex = atomic_load_explicit(&fork_mutexes, memory_order_acquire);
         mutex != NULL; mutex = mutex->next) {
        bool held = weft_os_mutex_renew(&mutex->mutex);
        if (mutex->forked != NULL) {
            mutex->forked(held);
        }
    }
}

static void fork_watch(void)
{
    (void)pthread_atfork(NULL, NULL, fork_in_child);
}

uint32_t weft_os_fork_generation(void)
{
    (void)pthread_once(&fork_once, fork_watch);
    return atomic_load_explicit(&weft_os_forks, memory_order_relaxed);
}

static void fork_note(weft_os_process_mutex_t *mutex)
{
    (void)pthread_once(&fork_once, fork_watch);
    if (!atomic_exchange_explicit(&mutex->known, true, memory_order_relaxed)) {
        mutex->next = atomic_load_explicit(&fork_mutexes, memory_order_relaxed);
        while (!atomic_compare_exchange_weak_explicit(&fork_mutexes, &mutex->next, mutex,
                                                      memory_order_release, memory_order_relaxed)) {
        }
    }
}

void weft_os_process_lock(weft_os_process_mutex_t *mutex)
{
    if (!atomic_load_explicit(&mutex->known, memory_order_relaxed)) {
        fork_note(mutex);
    }
    weft_os_lock(&mutex->mutex);
}

void weft_os_process_unlock(weft_os_process_mutex_t *mutex)
{
    weft_os_unlock(&mutex->mutex);
}
