/* SPDX-License-Identifier: BSD-3-Clause
 *
 * OS seam: threads, waiting between threads and processes, CPUs. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <weft/sdk/quiet_thread.h>

#include "core/base/error.h"
#include "core/os/assert.h"
#include "core/os/os.h"
#include "core/os/os_quota.h"

/* Sanitizers need far more than the library itself. */
#define THREAD_STACK_BYTES (1u << 20)
#define THREAD_STACK_LARGE (64u << 20)

struct weft_os_thread {
    pthread_t id;
    char name[16];
    void (*run)(void *);
    void *arg;
    bool launched; /* frees itself */
};

static void *thread_main(void *arg)
{
    weft_os_thread_t *thread = arg;
    pthread_setname_np(pthread_self(), thread->name);
    bool launched = thread->launched;
    thread->run(thread->arg);
    if (launched) {
        weft_os_free(thread);
    }
    return NULL;
}

static weft_status_t thread_create(const char *name, void (*run)(void *), void *arg, bool launched,
                                   weft_os_thread_t **thread_p)
{
    weft_os_thread_t *thread = weft_os_alloc(sizeof *thread, 0);
    if (thread == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot start thread %s", name);
    }
    snprintf(thread->name, sizeof thread->name, "%s", name);
    thread->run = run;
    thread->arg = arg;
    thread->launched = launched;

    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, THREAD_STACK_BYTES);
    pthread_attr_setdetachstate(&attr,
                                launched ? PTHREAD_CREATE_DETACHED : PTHREAD_CREATE_JOINABLE);
    pthread_t id;
    int error = weft_quiet_thread_create(&id, &attr, thread_main, thread);
    if (error == EINVAL) {
        /* Thread-local variables of the program lie on the stack too: make room for large ones. */
        pthread_attr_setstacksize(&attr, THREAD_STACK_LARGE);
        error = weft_quiet_thread_create(&id, &attr, thread_main, thread);
    }
    pthread_attr_destroy(&attr);
    if (error != 0) {
        weft_os_free(thread);
        return weft_fail(WEFT_ERR_RESOURCE, error, "cannot start thread %s%s", name,
                         error == EAGAIN ? " (see ulimit -u, and pids.max of the cgroup)" : "");
    }
    if (!launched) {
        thread->id = id;
        *thread_p = thread;
    }
    return WEFT_OK;
}

weft_status_t weft_os_thread_start(const char *name, void (*run)(void *), void *arg,
                                   weft_os_thread_t **thread_p)
{
    return thread_create(name, run, arg, false, thread_p);
}

weft_status_t weft_os_thread_launch(const char *name, void (*run)(void *), void *arg)
{
    return thread_create(name, run, arg, true, NULL);
}

void weft_os_thread_join(weft_os_thread_t *thread)
{
    if (thread != NULL) {
        pthread_join(thread->id, NULL);
        weft_os_free(thread);
    }
}

void weft_os_thread_forget(weft_os_thread_t *thread)
{
    weft_os_free(thread);
}

static pthread_once_t end_once = PTHREAD_ONCE_INIT;
static pthread_key_t end_key;
static bool end_key_made;

static void thread_end_run(void *end)
{
    ((const weft_os_thread_end_t *)end)->run();
}

static void thread_end_init(void)
{
    end_key_made = pthread_key_create(&end_key, thread_end_run) == 0;
}

void weft_os_at_thread_end(const weft_os_thread_end_t *end)
{
    (void)pthread_once(&end_once, thread_end_init);
    if (end_key_made) {
        (void)pthread_setspecific(end_key, end);
    }
}

uintptr_t weft_os_thread_self(void)
{
    static _Thread_local char self;
    return (uintptr_t)&self;
}

int32_t weft_os_pid(void)
{
    return (int32_t)getpid();
}

int32_t weft_os_parent_pid(void)
{
    return (int32_t)getppid();
}

void weft_os_futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t timeout_ns)
{
    struct timespec t = {.tv_sec = (time_t)(timeout_ns / WEFT_NS_PER_S),
                         .tv_nsec = (long)(timeout_ns % WEFT_NS_PER_S)};
    syscall(SYS_futex, word, FUTEX_WAIT, seen, &t, NULL, 0);
}

/* glibc and older kernel headers know neither the number, which all architectures share, nor the
 * types. */
#define THREAD_FUTEX_WAITV 449
#define THREAD_FUTEX_32 2u

typedef struct thread_waitv {
    uint64_t seen, word;
    uint32_t flags, reserved;
} thread_waitv_t;

bool weft_os_futex_wait_any(const weft_os_futex_t *list, uint32_t count, uint64_t timeout_ns)
{
    static _Atomic bool cannot;
    thread_waitv_t words[WEFT_OS_FUTEXES];
    weft_assert(count > 0 && count <= WEFT_OS_FUTEXES);
    if (atomic_load_explicit(&cannot, memory_order_relaxed)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        words[i] = (thread_waitv_t){
            .seen = list[i].seen, .word = (uintptr_t)list[i].word, .flags = THREAD_FUTEX_32};
    }
    const uint64_t until = weft_os_clock_ns() + timeout_ns;
    struct timespec t = {.tv_sec = (time_t)(until / WEFT_NS_PER_S),
                         .tv_nsec = (long)(until % WEFT_NS_PER_S)};
    if (syscall(THREAD_FUTEX_WAITV, words, count, 0, &t, CLOCK_MONOTONIC) >= 0) {
        return true;
    }
    if (errno == ENOSYS || errno == EPERM) {
        atomic_store_explicit(&cannot, true, memory_order_relaxed);
    }
    return errno == EAGAIN || errno == ETIMEDOUT || errno == EINTR;
}

void weft_os_futex_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void weft_os_yield(void)
{
    sched_yield();
}

/* About a millisecond, in which a thread of the same class has had its turn. */
#define GIVE_WAY_YIELDS 1000u
#define GIVE_WAY_SLEEP_NS (UINT64_C(50) * 1000)

void weft_os_give_way(uint32_t *turns)
{
    if (*turns < GIVE_WAY_YIELDS) {
        ++*turns;
        weft_os_yield();
    } else {
        weft_os_sleep_ns(GIVE_WAY_SLEEP_NS);
    }
}

_Static_assert(sizeof(weft_os_cpu_set_t) == sizeof(cpu_set_t), "as large as the system's");

bool weft_os_cpu_set_has(const weft_os_cpu_set_t *set, uint32_t cpu)
{
    cpu_set_t own;
    memcpy(&own, set, sizeof own);
    return cpu < CPU_SETSIZE && CPU_ISSET(cpu, &own);
}

void weft_os_thread_cpus(weft_os_cpu_set_t *set)
{
    cpu_set_t own;
    CPU_ZERO(&own);
    (void)sched_getaffinity(0, sizeof own, &own);
    memcpy(set, &own, sizeof own);
}

void weft_os_thread_use_cpus(const weft_os_cpu_set_t *set)
{
    cpu_set_t own;
    memcpy(&own, set, sizeof own);
    (void)sched_setaffinity(0, sizeof own, &own);
}

void weft_os_thread_use_all_cpus(void)
{
    weft_os_cpu_set_t all;
    memset(&all, 0xff, sizeof all);
    weft_os_thread_use_cpus(&all);
}

void weft_os_thread_use_cpu(uint32_t cpu)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    if (cpu < CPU_SETSIZE) {
        CPU_SET(cpu, &one);
        (void)sched_setaffinity(0, sizeof one, &one);
    }
}

uint32_t weft_os_cpu_here(void)
{
    int cpu = sched_getcpu();
    return cpu < 0 ? 0 : (uint32_t)cpu;
}

/* The system's struct sched_attr in its first version, which not every C library declares. */
typedef struct thread_sched_attr {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
} thread_sched_attr_t;

void weft_os_thread_take_turns(uint64_t ns)
{
    thread_sched_attr_t attr = {.size = sizeof attr};
    if (syscall(SYS_sched_getattr, 0, &attr, sizeof attr, 0) == 0 && attr.policy == SCHED_OTHER) {
        attr.size = sizeof attr;
        attr.runtime = ns;
        (void)syscall(SYS_sched_setattr, 0, &attr, 0);
    }
}

uint32_t weft_os_cpus(void)
{
    cpu_set_t set;
    uint32_t cpus = 1;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        cpus = (uint32_t)CPU_COUNT(&set);
    }
    uint32_t quota = weft_os_quota_here().cpus;
    return quota > 0 && quota < cpus ? quota : cpus;
}
