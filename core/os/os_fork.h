/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What becomes of the process's state in a child of fork(). The child has one thread: the others
 * may have held a mutex, or been in the middle of what it guards. Before the fork nothing is done
 * but to wait, for a time, for those that hold forks: it may come from any thread, wherever that
 * is. */
#ifndef WEFT_OS_FORK_H
#define WEFT_OS_FORK_H

#include "core/os/os.h"

/* Counted by weft_os_fork_generation(). */
extern _Atomic uint32_t weft_os_forks;

/* Returns the number of forks between the first process that called this and the caller. A value
 * that was kept before a fork differs from the child's. */
uint32_t weft_os_fork_generation(void);

/* As weft_os_fork_generation() in a process that has called it before, or whose ancestor has. */
static inline uint32_t weft_os_fork_generation_again(void)
{
    return atomic_load_explicit(&weft_os_forks, memory_order_relaxed);
}

/* From now on a child of fork() closes its copy of the descriptor, so that the other end hears when
 * this process ends, however long its children live. Until weft_os_close(), or until the copy is
 * left to children, before somebody else closes the descriptor. */
void weft_os_close_in_children(int fd);
void weft_os_leave_to_children(int fd);

/* From hold to release a fork() of another thread waits, but WEFT_FORK_PATIENCE_S at most: for what
 * is not weft's and cannot be made whole in a child, such as the lists of the system's loader. The
 * pairs of a thread nest, and those of others go beside. */
#define WEFT_FORK_PATIENCE_S 5.0
void weft_os_hold_forks(void);
void weft_os_release_forks(void);

/* A mutex over what belongs to the process: it is free in a child of fork(). */
typedef struct weft_os_process_mutex {
    weft_os_mutex_t mutex;
    /* Runs in the child, before anything else there; NULL: nothing to do. `held`: a thread was
     * inside when the process forked, and may have left what the mutex guards half changed. */
    void (*forked)(bool held);
    struct weft_os_process_mutex *next; /* of those that were locked before */
    _Atomic bool known;                 /* it is one of them */
} weft_os_process_mutex_t;

void weft_os_process_lock(weft_os_process_mutex_t *mutex);
void weft_os_process_unlock(weft_os_process_mutex_t *mutex);

#endif
