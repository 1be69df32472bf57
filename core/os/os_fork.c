/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See os_fork.h. */
#include "core/os/os_fork.h"

#include <pthread.h>
#include <unistd.h>

/* The only way to learn of a fork without a system call per question. */
_Atomic uint32_t weft_os_forks;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static _Atomic(weft_os_process_mutex_t *) fork_mutexes;
static weft_os_mutex_t fork_list_lock; /* of who adds to them */

/* Descriptors that a child closes, a bit each. Larger ones stay open in it. */
#define FORK_WORD_BITS 32u
#define FORK_WORDS 2048u
static _Atomic uint32_t fork_fds[FORK_WORDS];
static _Atomic uint32_t fork_fd_words; /* those behind were never used */

static void fork_close_fds(void)
{
    uint32_t words = atomic_load_explicit(&fork_fd_words, memory_order_relaxed);
    for (uint32_t i = 0; i < words; i++) {
        uint32_t bits = atomic_exchange_explicit(&fork_fds[i], 0, memory_order_relaxed);
        for (uint32_t bit = 0; bit < FORK_WORD_BITS; bit++) {
            if ((bits >> bit & 1) != 0) {
                (void)close((int)(i * FORK_WORD_BITS + bit));
            }
        }
    }
}

/* Who holds forks goes in by the mutex, and stays beside others. Who forks keeps the mutex, and
 * waits for those that are inside. */
static weft_os_mutex_t fork_gate;
static _Atomic uint32_t fork_holders;
static _Thread_local uint32_t fork_depth; /* pairs that this thread is inside */
static _Thread_local bool fork_waited;    /* and has the mutex */

static void fork_before(void)
{
    uint64_t until = weft_os_deadline(WEFT_FORK_PATIENCE_S);
    uint32_t turns = 0;
    fork_waited = fork_depth == 0 && weft_os_lock_until(&fork_gate, until);
    while (fork_waited && atomic_load_explicit(&fork_holders, memory_order_acquire) != 0 &&
           weft_os_clock_ns() < until) {
        weft_os_give_way(&turns);
    }
}

static void fork_in_parent(void)
{
    if (fork_waited) {
        fork_waited = false;
        weft_os_unlock(&fork_gate);
    }
}

static void fork_in_child(void)
{
    fork_waited = false;
    (void)weft_os_mutex_renew(&fork_gate);
    atomic_store_explicit(&fork_holders, fork_depth > 0, memory_order_relaxed);
    atomic_fetch_add_explicit(&weft_os_forks, 1, memory_order_relaxed);
    fork_close_fds();
    (void)weft_os_mutex_renew(&fork_list_lock);
    for (weft_os_process_mutex_t *mutex = atomic_load_explicit(&fork_mutexes, memory_order_acquire);
         mutex != NULL; mutex = mutex->next) {
        /* The thread that listed it may not have come to that. */
        atomic_store_explicit(&mutex->known, true, memory_order_relaxed);
        bool held = weft_os_mutex_renew(&mutex->mutex);
        if (mutex->forked != NULL) {
            mutex->forked(held);
        }
    }
}

static void fork_watch(void)
{
    (void)pthread_atfork(fork_before, fork_in_parent, fork_in_child);
}

uint32_t weft_os_fork_generation(void)
{
    (void)pthread_once(&fork_once, fork_watch);
    return atomic_load_explicit(&weft_os_forks, memory_order_relaxed);
}

void weft_os_hold_forks(void)
{
    (void)weft_os_fork_generation();
    if (fork_depth++ == 0) {
        weft_os_lock(&fork_gate);
        atomic_fetch_add_explicit(&fork_holders, 1, memory_order_relaxed);
        weft_os_unlock(&fork_gate);
    }
}

void weft_os_release_forks(void)
{
    if (--fork_depth == 0) {
        atomic_fetch_sub_explicit(&fork_holders, 1, memory_order_release);
    }
}

void weft_os_close_in_children(int fd)
{
    uint32_t word = (uint32_t)fd / FORK_WORD_BITS;
    (void)weft_os_fork_generation();
    if (fd >= 0 && word < FORK_WORDS) {
        uint32_t words = atomic_load_explicit(&fork_fd_words, memory_order_relaxed);
        while (words <= word &&
               !atomic_compare_exchange_weak_explicit(&fork_fd_words, &words, word + 1,
                                                      memory_order_relaxed, memory_order_relaxed)) {
        }
        atomic_fetch_or_explicit(&fork_fds[word], 1u << (uint32_t)fd % FORK_WORD_BITS,
                                 memory_order_relaxed);
    }
}

/* Before the number is free: a child would close what another thread opens under it. */
void weft_os_leave_to_children(int fd)
{
    uint32_t word = (uint32_t)fd / FORK_WORD_BITS;
    if (fd >= 0 && word < FORK_WORDS) {
        atomic_fetch_and_explicit(&fork_fds[word], ~(1u << (uint32_t)fd % FORK_WORD_BITS),
                                  memory_order_release);
    }
}

/* Lists it before it is known: one that is known and not listed would stay as it is in a child. */
static void fork_note(weft_os_process_mutex_t *mutex)
{
    (void)pthread_once(&fork_once, fork_watch);
    weft_os_lock(&fork_list_lock);
    if (!atomic_load_explicit(&mutex->known, memory_order_relaxed)) {
        mutex->next = atomic_load_explicit(&fork_mutexes, memory_order_relaxed);
        atomic_store_explicit(&fork_mutexes, mutex, memory_order_release);
        atomic_store_explicit(&mutex->known, true, memory_order_release);
    }
    weft_os_unlock(&fork_list_lock);
}

void weft_os_process_lock(weft_os_process_mutex_t *mutex)
{
    /* Acquire, for the release in fork_note(): who finds it known, and forks inside, finds it
     * listed. */
    if (!atomic_load_explicit(&mutex->known, memory_order_acquire)) {
        fork_note(mutex);
    }
    weft_os_lock(&mutex->mutex);
}

void weft_os_process_unlock(weft_os_process_mutex_t *mutex)
{
    weft_os_unlock(&mutex->mutex);
}
