/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that processes of one user on one host share without a name in any folder, and locks in it
 * that outlive their holder. The memory belongs to a descriptor of its maker, where others find it
 * under /proc; it is gone with the last process that has it. */
#ifndef WEFT_OS_HOST_MEMORY_H
#define WEFT_OS_HOST_MEMORY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include <weft/types.h>

typedef struct weft_os_host_memory {
    void *memory; /* NULL: none. Zero where nobody has written; pages are taken when written */
    size_t bytes;
    int fd; /* of the maker; −1: found */
} weft_os_host_memory_t;

/* Makes it. `name` tells it from others of this process. ERR_RESOURCE, ERR_SYSTEM. Blocks: no. */
weft_status_t weft_os_host_memory_create(const char *name, size_t bytes,
                                         weft_os_host_memory_t *memory_p);
/* Finds the memory that process `pid` made. False: there is none of this name, size and user, or
 * the system does not let us look; no error is recorded. Blocks: no. */
bool weft_os_host_memory_find(int32_t pid, const char *name, size_t bytes,
                              weft_os_host_memory_t *memory_p);
void weft_os_host_memory_close(weft_os_host_memory_t *memory);

/* A lock in such memory. */
typedef struct weft_os_host_lock {
    pthread_mutex_t mutex;
} weft_os_host_lock_t;

typedef enum weft_os_locked {
    WEFT_OS_LOCKED,
    WEFT_OS_LOCKED_ORPHAN, /* too, but the process that held it has died */
    WEFT_OS_LOCK_TIMEOUT
} weft_os_locked_t;

weft_status_t weft_os_host_lock_init(weft_os_host_lock_t *lock);
/* Blocks until `until` (weft_os_clock_ns()) at most. The calling thread unlocks. */
weft_os_locked_t weft_os_host_lock(weft_os_host_lock_t *lock, uint64_t until);
void weft_os_host_unlock(weft_os_host_lock_t *lock);

#endif
