/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The OS seam: with core/os/os_socket.h the only place of the core that asks the system for time,
 * randomness, memory, threads, sleep, files and shared objects. */
#ifndef WEFT_OS_H
#define WEFT_OS_H

#include <stdatomic.h>
#include <stdbool.h>

#include <weft/types.h>

#include "core/os/assert.h"

/* Time ------------------------------------------------------------------------------------------ */

#define WEFT_NS_PER_S UINT64_C(1000000000)
#define WEFT_NS_PER_MS UINT64_C(1000000)
#define WEFT_NEVER UINT64_MAX /* as a deadline: none */

/* Monotonic time in nanoseconds. */
uint64_t weft_os_clock_ns(void);
/* Wall-clock seconds since 1970, for labels only, never for decisions. */
uint64_t weft_os_wall_s(void);
/* Deadline `seconds` from now; 0 or negative means WEFT_NEVER. */
uint64_t weft_os_deadline(double seconds);
void weft_os_sleep_ns(uint64_t ns);

/* Randomness: fit for keys. ERR_SYSTEM on failure. */
weft_status_t weft_os_random(void *out, size_t bytes);

/* Memory: zeroed; align is a power of two or 0. NULL on failure. */
void *weft_os_alloc(size_t bytes, size_t align);
void weft_os_free(void *memory);
/* Pages: zeroed, page aligned; huge pages are asked for where the size allows it. */
void *weft_os_pages(size_t bytes);
void weft_os_pages_free(void *memory, size_t bytes);

/* Threads: all signals blocked, explicit stack, name of at most 15 characters. */
typedef struct weft_os_thread weft_os_thread_t;
weft_status_t weft_os_thread_start(const char *name, void (*run)(void *), void *arg,
                                   weft_os_thread_t **thread_p);
void weft_os_thread_join(weft_os_thread_t *thread); /* frees it; NULL is allowed */
/* As weft_os_thread_start(), for a thread that nobody joins: `run` must end by itself in bounded time
 * and owns `arg`. */
weft_status_t weft_os_thread_launch(const char *name, void (*run)(void *), void *arg);
/* A number other than 0 that no other living thread of the process has. */
uintptr_t weft_os_thread_self(void);
int32_t weft_os_pid(void);
int32_t weft_os_parent_pid(void);

/* Mutex: so that users of the seam see no pthread type. All zero is an unlocked one. */
typedef struct weft_os_mutex {
    _Atomic uint32_t word;
#ifdef WEFT_CHECKED
    _Atomic uintptr_t holder; /* thread that holds it; 0: none */
#endif
} weft_os_mutex_t;
void weft_os_lock(weft_os_mutex_t *mutex);
void weft_os_unlock(weft_os_mutex_t *mutex);

/* Checked builds: the calling thread holds the mutex. */
static inline void weft_os_mutex_assert_held(const weft_os_mutex_t *mutex)
{
#ifdef WEFT_CHECKED
    weft_assert(atomic_load_explicit(&mutex->holder, memory_order_relaxed) ==
                weft_os_thread_self());
#else
    (void)mutex;
#endif
}

/* Sleep until *word differs from `seen`, a wake, or the timeout. Works between processes when the
 * word is in shared memory. May return early. */
void weft_os_futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t timeout_ns);
void weft_os_futex_wake(_Atomic uint32_t *word);
void weft_os_yield(void);
/* Sleeps until the descriptor is readable, or the timeout. */
void weft_os_wait_readable(int fd, uint64_t timeout_ns);

/* Number of forks between the first process that called this and the caller: a value kept from before
 * a fork differs from the child's. */
uint32_t weft_os_fork_generation(void);

/* One busy-wait step. */
static inline void weft_os_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* CPUs this process may use: affinity mask limited by the cgroup's quota, at least 1. */
uint32_t weft_os_cpus(void);
/* 16 bytes that are equal for processes on the same running kernel, and differ elsewhere. */
void weft_os_host_id(uint8_t id[16]);
/* Host name, cut to `bytes`. */
void weft_os_host_name(char *name, size_t bytes);

/* Files: reads a whole regular file of at most `max` bytes; *text_p is NUL-terminated and freed with
 * weft_os_free. ERR_SYSTEM (errno kept in *errno_p), ERR_RESOURCE when larger than max. */
weft_status_t weft_os_read_file(const char *path, size_t max, char **text_p, size_t *bytes_p,
                                int *errno_p);

/* Shared objects: RTLD_NOW | RTLD_LOCAL. On failure NULL and dlerror's text in `why`. Never closed
 * under sanitizers, so that reports keep their symbols. */
void *weft_os_dl_open(const char *path, char *why, size_t bytes);
void *weft_os_dl_symbol(void *object, const char *name, char *why, size_t bytes);
void weft_os_dl_close(void *object);

#endif
