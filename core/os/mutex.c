/* SPDX-License-Identifier: BSD-3-Clause
 *
 * OS seam: the mutex. */
#include "core/os/assert.h"
#include "core/os/os.h"

/* Keeps who holds the mutex, for weft_os_mutex_assert_held(). */
static void mutex_note_holder(weft_os_mutex_t *mutex, bool held)
{
#ifdef WEFT_CHECKED
    atomic_store_explicit(&mutex->holder, held ? weft_os_thread_self() : 0, memory_order_relaxed);
#else
    (void)mutex;
    (void)held;
#endif
}

/* 0 free, 1 held, 2 held and somebody sleeps. Three-state futex mutex after U. Drepper, "Futexes
 * are tricky" (2011). Who gives up may leave a 2 without sleepers, which costs a call that wakes
 * nobody. */
static bool mutex_acquire(weft_os_mutex_t *mutex, uint64_t until)
{
    uint32_t state = 0;
    if (atomic_compare_exchange_strong_explicit(&mutex->word, &state, 1, memory_order_acquire,
                                                memory_order_relaxed)) {
        return true;
    }
    if (state != 2) {
        state = atomic_exchange_explicit(&mutex->word, 2, memory_order_acquire);
    }
    while (state != 0 && (until == WEFT_NEVER || weft_os_clock_ns() < until)) {
        weft_os_futex_wait(&mutex->word, 2,
                           until == WEFT_NEVER ? WEFT_NS_PER_S : WEFT_NS_PER_S / 100);
        state = atomic_exchange_explicit(&mutex->word, 2, memory_order_acquire);
    }
    return state == 0;
}

bool weft_os_lock_until(weft_os_mutex_t *mutex, uint64_t until)
{
    bool got = mutex_acquire(mutex, until);
    if (got) {
        mutex_note_holder(mutex, true);
    }
    return got;
}

void weft_os_lock(weft_os_mutex_t *mutex)
{
    (void)weft_os_lock_until(mutex, WEFT_NEVER);
}

void weft_os_unlock(weft_os_mutex_t *mutex)
{
    weft_os_mutex_assert_held(mutex);
    mutex_note_holder(mutex, false);
    if (atomic_exchange_explicit(&mutex->word, 0, memory_order_release) == 2) {
        weft_os_futex_wake(&mutex->word);
    }
}

bool weft_os_mutex_renew(weft_os_mutex_t *mutex)
{
    mutex_note_holder(mutex, false);
    return atomic_exchange_explicit(&mutex->word, 0, memory_order_acquire) != 0;
}
