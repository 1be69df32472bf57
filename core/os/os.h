/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the core asks the system for: time, randomness, memory, threads, sleep, files, shared
 * objects. Sockets, addresses, paths and private files have headers of their own. No other folder
 * of the core calls the system. Any thread may call these functions. */
#ifndef WEFT_OS_H
#define WEFT_OS_H

#include <stdatomic.h>
#include <stdbool.h>

#include <weft/types.h>

#include "core/os/assert.h"

/* Time ----------------------------------------------------------------------------------------- */

#define WEFT_NS_PER_S UINT64_C(1000000000)
#define WEFT_NS_PER_MS UINT64_C(1000000)
#define WEFT_NEVER UINT64_MAX /* a deadline that does not come */

/* Returns monotonic time in nanoseconds. */
uint64_t weft_os_clock_ns(void);
/* Returns seconds since 1970. For labels only: the clock may be set. */
uint64_t weft_os_wall_s(void);
uint64_t weft_os_wall_ms(void);
/* Returns the time `seconds` from now, or WEFT_NEVER if they are 0 or negative. */
uint64_t weft_os_deadline(double seconds);
/* The same for a caller that has looked at the clock: `seconds` from `now`. */
uint64_t weft_os_deadline_after(uint64_t now, double seconds);
void weft_os_sleep_ns(uint64_t ns);

/* Randomness and memory ------------------------------------------------------------------------ */

/* Fills `out` with random bytes that are fit for keys. ERR_SYSTEM. */
weft_status_t weft_os_random(void *out, size_t bytes);

/* Returns zeroed memory, or NULL. `align` is a power of two or 0. Free it with weft_os_free(). */
void *weft_os_alloc(size_t bytes, size_t align);
void weft_os_free(void *memory);
/* Gives pages of the heap that are free back to the system, where the C library can. Takes time. */
void weft_os_trim(void);
/* Returns zeroed, page-aligned memory, or NULL. Asks for huge pages where the size allows them, so
 * the first byte that is touched takes 2 MiB: for memory that is used as a whole. */
void *weft_os_pages(size_t bytes);
/* As weft_os_pages(), but takes what is touched only: for memory of which little may be used. */
void *weft_os_sparse_pages(size_t bytes);
/* As weft_os_sparse_pages(), shared: a kernel may map it a second time for its device. */
void *weft_os_shared_pages(size_t bytes);
void weft_os_pages_free(void *memory, size_t bytes);

/* Threads -------------------------------------------------------------------------------------- */

typedef struct weft_os_thread weft_os_thread_t;

/* Starts a thread with a stack of fixed size, in which no signals are handled but those of its own
 * faults (quiet_thread.h). Linux cuts `name` to 15 characters. ERR_SYSTEM, ERR_RESOURCE. */
weft_status_t weft_os_thread_start(const char *name, void (*run)(void *), void *arg,
                                   weft_os_thread_t **thread_p);
/* Waits until the thread has ended and frees it. NULL is allowed. */
void weft_os_thread_join(weft_os_thread_t *thread);
/* In a child of fork(): frees what stands for a thread of the parent. */
void weft_os_thread_forget(weft_os_thread_t *thread);
/* Starts a thread that is not joined. `run` owns `arg` and must return in bounded time. */
weft_status_t weft_os_thread_launch(const char *name, void (*run)(void *), void *arg);
/* What to run in a thread when it ends, before its thread-local variables go. */
typedef struct weft_os_thread_end {
    void (*run)(void);
} weft_os_thread_end_t;
/* Runs it when the calling thread ends; nothing at the end of the process. A thread has one: the
 * last that it was given. `end` outlives the thread. */
void weft_os_at_thread_end(const weft_os_thread_end_t *end);
/* A number other than 0 that no other living thread of the process has. */
uintptr_t weft_os_thread_self(void);
int32_t weft_os_pid(void);
int32_t weft_os_parent_pid(void);

/* A mutex on a futex. All zero is an unlocked one. */
typedef struct weft_os_mutex {
    _Atomic uint32_t word;
#ifdef WEFT_CHECKED
    _Atomic uintptr_t holder; /* thread that holds it; 0: none */
#endif
} weft_os_mutex_t;
void weft_os_lock(weft_os_mutex_t *mutex);
/* False: it was not free until then. */
bool weft_os_lock_until(weft_os_mutex_t *mutex, uint64_t until);
void weft_os_unlock(weft_os_mutex_t *mutex);
/* For a child of fork(), in its only thread: makes the mutex a free one. True: it was held. */
bool weft_os_mutex_renew(weft_os_mutex_t *mutex);

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

/* Sleeps until *word differs from `seen`, or a wake, or the timeout; may return early. The word may
 * lie in memory that processes share. */
void weft_os_futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t timeout_ns);
void weft_os_futex_wake(_Atomic uint32_t *word);
/* A word of such a sleep. */
typedef struct weft_os_futex {
    _Atomic uint32_t *word;
    uint32_t seen;
} weft_os_futex_t;
/* Most words of one sleep. */
#define WEFT_OS_FUTEXES 128u
/* The same for several words, for hours at most. Returns false, at once, where the system cannot:
 * Linux before 5.16, or a sandbox that does not know the call. */
bool weft_os_futex_wait_any(const weft_os_futex_t *list, uint32_t count, uint64_t timeout_ns);
void weft_os_yield(void);
/* One step of waiting for a thread that needs a short turn; *turns begins at 0. Yields at first,
 * and then sleeps: yielding lets no thread of a lower scheduling class run. */
void weft_os_give_way(uint32_t *turns);

/* One step of busy waiting. `yield` does nothing on servers of AArch64, which have one thread in a
 * core; `isb` lets the pipeline run empty, which comes nearest to x86's pause. */
static inline void weft_os_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

/* What was read before this is read before what is read after it. TSan knows no fences; the code
 * that needs this one reads memory that its owner may write at any time, and looks afterwards. */
static inline void weft_os_fence_reads(void)
{
#if defined(WEFT_TSAN) && defined(__x86_64__)
    __asm__ volatile("" ::: "memory"); /* the processor keeps the order of reads */
#else
    atomic_thread_fence(memory_order_acquire);
#endif
}

/* What was written before this is seen before what is written after it. Its readers are other
 * processes, or look with the fence above. */
static inline void weft_os_fence_writes(void)
{
#if defined(WEFT_TSAN) && defined(__x86_64__)
    __asm__ volatile("" ::: "memory"); /* the processor keeps the order of writes */
#else
    atomic_thread_fence(memory_order_release);
#endif
}

/* Waits until what this thread has stored has left for memory, in order to measure how long that
 * takes. No order depends on it, so it is left out under TSan, which knows no fences. */
static inline void weft_os_drain_stores(void)
{
#if !defined(WEFT_TSAN)
    atomic_thread_fence(memory_order_seq_cst);
#endif
}

/* CPUs that a thread may run on: opaque, 1,024 at most. */
#define WEFT_OS_CPU_SET_MAX 1024u
typedef struct weft_os_cpu_set {
    uint64_t word[WEFT_OS_CPU_SET_MAX / 64];
} weft_os_cpu_set_t;
bool weft_os_cpu_set_has(const weft_os_cpu_set_t *set, uint32_t cpu);

/* Gets and sets the CPUs of the calling thread. What the system refuses stays as it was. */
void weft_os_thread_cpus(weft_os_cpu_set_t *set);
void weft_os_thread_use_cpus(const weft_os_cpu_set_t *set);
/* Lets the calling thread run on every CPU that the system allows this process, however its threads
 * are bound. */
void weft_os_thread_use_all_cpus(void);
/* Keeps the calling thread on that CPU. */
void weft_os_thread_use_cpu(uint32_t cpu);
/* Returns the CPU that the calling thread runs on. It may have changed already. */
uint32_t weft_os_cpu_here(void);
/* Asks the scheduler for turns of that length: a thread with short turns interrupts one with longer
 * turns when it wakes up. Linux from 6.12 on; elsewhere nothing changes. */
void weft_os_thread_take_turns(uint64_t ns);

/* The machine ---------------------------------------------------------------------------------- */

/* Returns how many CPUs this process may use: its affinity mask, limited by the quota of its
 * cgroup. At least 1. */
uint32_t weft_os_cpus(void);
/* Writes 16 bytes that are equal in all processes on the same running kernel, and differ
 * elsewhere. */
void weft_os_host_id(uint8_t id[16]);
/* Writes the host's name, cut to `bytes`. */
void weft_os_host_name(char *name, size_t bytes);

/* Files ---------------------------------------------------------------------------------------- */

/* Reads a regular file of at most `max` bytes. *text_p ends with NUL; free it with weft_os_free().
 * ERR_RESOURCE with EFBIG in *errno_p if the file is larger, with ENOMEM if there is no memory;
 * ERR_SYSTEM with errno, EINVAL for what is neither a file nor a folder, such as a pipe. */
weft_status_t weft_os_read_file(const char *path, size_t max, char **text_p, size_t *bytes_p,
                                int *errno_p);

/* Opens /dev/null as those of the descriptors 0, 1 and 2 that are closed. A connection that gets
 * one of them would be written to by whoever prints. Called wherever one is about to be made. */
void weft_os_open_standard(void);

/* Loads a shared object, RTLD_NOW | RTLD_LOCAL. Returns NULL and the reason in `why` on failure. A
 * file that is shorter than its segments is refused: the system would map it, and end the process
 * when it is touched. So is one for another machine, of which the loader says that it is not there.
 * Where the loader cannot map a file, the reason has the cause: noexec, or ulimit -v. */
void *weft_os_dl_open(const char *path, char *why, size_t bytes);
void *weft_os_dl_symbol(void *object, const char *name, char *why, size_t bytes);
/* Returns a symbol of the program and what it is linked with, or, if `library` is not NULL, of that
 * library; NULL if it is not there. Loads nothing. */
void *weft_os_dl_loaded(const char *library, const char *name);
/* Does nothing under sanitizers, so that their reports keep the symbols. */
void weft_os_dl_close(void *object);

#endif
