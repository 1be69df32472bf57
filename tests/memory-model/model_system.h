/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The system under a model: time that stands still, a futex, and the core's mutexes over it. */
#ifndef WEFT_TESTS_MEMORY_MODEL_SYSTEM_H
#define WEFT_TESTS_MEMORY_MODEL_SYSTEM_H

#include "core/os/mutex.c"
#include "core/os/os_fork.h"
#include "model.h"

#ifdef WEFT_GENMC
_Atomic uint32_t weft_os_forks; /* tests have the core's */
#endif

uint32_t weft_os_fork_generation(void)
{
    return 0;
}

uint64_t weft_os_clock_ns(void)
{
    return 0;
}

/* Executions in which a loop gives way more often than that end there. */
#ifndef MODEL_TURNS
#define MODEL_TURNS UINT32_MAX
#endif

void weft_os_give_way(uint32_t *turns)
{
#ifdef WEFT_GENMC
    __VERIFIER_assume(++*turns <= MODEL_TURNS);
#else
    (void)turns;
#endif
    model_turn();
}

void weft_os_process_lock(weft_os_process_mutex_t *mutex)
{
    weft_os_lock(&mutex->mutex);
}

void weft_os_process_unlock(weft_os_process_mutex_t *mutex)
{
    weft_os_unlock(&mutex->mutex);
}

/* As in Linux, looking at the word and falling asleep are one step, under the lock of a bucket.
 * Whoever wakes others takes it, too. Nobody wakes up without a wake, so a lost one is a thread
 * that never ends. */
static pthread_mutex_t futex_bucket = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint32_t futex_wakes;

void weft_os_futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t timeout_ns)
{
    (void)timeout_ns;
    pthread_mutex_lock(&futex_bucket);
    const bool sleeps = atomic_load_explicit(word, memory_order_relaxed) == seen;
    const uint32_t before = atomic_load_explicit(&futex_wakes, memory_order_relaxed);
    pthread_mutex_unlock(&futex_bucket);
    if (sleeps) {
        while (atomic_load_explicit(&futex_wakes, memory_order_relaxed) == before) {
            model_turn();
        }
    }
}

void weft_os_futex_wake(_Atomic uint32_t *word)
{
    (void)word;
    pthread_mutex_lock(&futex_bucket);
    const uint32_t before = atomic_load_explicit(&futex_wakes, memory_order_relaxed);
    atomic_store_explicit(&futex_wakes, before + 1, memory_order_relaxed);
    pthread_mutex_unlock(&futex_bucket);
}

#endif
