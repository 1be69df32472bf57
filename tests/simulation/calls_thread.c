/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Threads, time, chance, and who a process is. */
#include "calls.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "descriptor.h"

enum { CPUS = 4 };

/* Threads -------------------------------------------------------------------------------------- */

SIM_CALL int pthread_create(pthread_t *id, const pthread_attr_t *attr, void *(*run)(void *),
                            void *arg)
{
    if (!machine_inside()) {
        return SIM_REAL(pthread_create)(id, attr, run, arg);
    }
    thread_call("pthread_create");
    if (machine_odd(machine.odd.refused)) {
        return EAGAIN;
    }
    thread_t *thread = thread_create(machine.self->process, run, arg,
                                     machine.now + machine_between(5 * SIM_US, SIM_MS));
    *id = (pthread_t)(uintptr_t)thread;
    return 0;
}

SIM_CALL int pthread_join(pthread_t id, void **result)
{
    if (!machine_inside()) {
        return SIM_REAL(pthread_join)(id, result);
    }
    thread_call("pthread_join");
    thread_join((thread_t *)(uintptr_t)id);
    return 0;
}

SIM_CALL pthread_t pthread_self(void)
{
    return machine_inside() ? (pthread_t)(uintptr_t)machine.self : SIM_REAL(pthread_self)();
}

SIM_CALL int pthread_setname_np(pthread_t id, const char *name)
{
    return machine_inside() ? 0 : SIM_REAL(pthread_setname_np)(id, name);
}

SIM_CALL int pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
    if (!machine_inside()) {
        return SIM_REAL(pthread_sigmask)(how, set, before);
    }
    if (before != NULL) {
        (void)sigemptyset(before);
    }
    return 0;
}

SIM_CALL int pthread_key_create(pthread_key_t *key, void (*destroy)(void *))
{
    if (!machine_inside()) {
        return SIM_REAL(pthread_key_create)(key, destroy);
    }
    process_t *process = machine.self->process;
    if (process->keys == SIM_KEYS) {
        return EAGAIN;
    }
    process->key_free[process->keys] = destroy;
    *key = process->keys++;
    return 0;
}

SIM_CALL int pthread_setspecific(pthread_key_t key, const void *value)
{
    if (!machine_inside()) {
        return SIM_REAL(pthread_setspecific)(key, value);
    }
    machine.self->key[key] = (void *)(uintptr_t)value;
    return 0;
}

SIM_CALL void *pthread_getspecific(pthread_key_t key)
{
    return machine_inside() ? machine.self->key[key] : SIM_REAL(pthread_getspecific)(key);
}

/* Handlers of forks belong to the process, which makes none. */
SIM_CALL int __register_atfork(void (*before)(void), void (*parent)(void), void (*child)(void),
                               void *object);
SIM_CALL int __register_atfork(void (*before)(void), void (*parent)(void), void (*child)(void),
                               void *object)
{
    return machine_inside() ? 0 : SIM_REAL(__register_atfork)(before, parent, child, object);
}

/* Mutexes between processes -------------------------------------------------------------------- */

/* Lies in the memory of the pthread_mutex_t. */
typedef struct sim_mutex {
    int owner, owner_thread; /* 0: free */
    uint32_t spare[2];
} sim_mutex_t;

_Static_assert(sizeof(sim_mutex_t) <= sizeof(pthread_mutex_t), "has room there");

SIM_CALL int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attr)
{
    if (!machine_inside()) {
        return SIM_REAL(pthread_mutex_init)(mutex, attr);
    }
    memset(mutex, 0, sizeof *mutex);
    return 0;
}

static int mutex_take(sim_mutex_t *mutex)
{
    const process_t *owner = mutex->owner != 0 ? process_find(mutex->owner) : NULL;
    if (mutex->owner != 0 && owner != NULL && !owner->dead) {
        return EBUSY;
    }
    int result = mutex->owner != 0 ? EOWNERDEAD : 0;
    mutex->owner = machine.self->process->pid;
    mutex->owner_thread = machine.self->number;
    return result;
}

SIM_CALL int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *at)
{
    int result;
    if (!machine_inside()) {
        return SIM_REAL(pthread_mutex_timedlock)(mutex, at);
    }
    uint64_t until = (uint64_t)at->tv_sec * SIM_S + (uint64_t)at->tv_nsec;
    thread_call("mutex");
    while ((result = mutex_take((sim_mutex_t *)mutex)) == EBUSY) {
        if (machine.now >= until) {
            return ETIMEDOUT;
        }
        (void)thread_sleep("mutex", machine.now + 20 * SIM_US);
    }
    return result;
}

/* Of libraries that all processes share. */
SIM_CALL int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    if (!machine_inside()) {
        return SIM_REAL(pthread_mutex_lock)(mutex);
    }
    while (mutex_take((sim_mutex_t *)mutex) == EBUSY) {
        (void)thread_sleep("mutex", machine.now + 20 * SIM_US);
    }
    return 0;
}

SIM_CALL int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    if (!machine_inside()) {
        return SIM_REAL(pthread_mutex_unlock)(mutex);
    }
    ((sim_mutex_t *)mutex)->owner = 0;
    return 0;
}

SIM_CALL int pthread_mutex_consistent(pthread_mutex_t *mutex)
{
    return machine_inside() ? 0 : SIM_REAL(pthread_mutex_consistent)(mutex);
}

/* Time ----------------------------------------------------------------------------------------- */

/* Asking for the time is no call of the system, but others that are late by now have their turn, or
 * a thread that waits for them by asking would wait for good. */
static void time_passes(void)
{
    machine.now += 25 + machine_random() % 32;
    if ((machine_random() & 15) == 0) {
        thread_call("clock");
    }
}

SIM_CALL int clock_gettime(clockid_t clock, struct timespec *t)
{
    if (!machine_inside()) {
        return SIM_REAL(clock_gettime)(clock, t);
    }
    time_passes();
    *t = (struct timespec){.tv_sec = (time_t)(machine.now / SIM_S),
                           .tv_nsec = (long)(machine.now % SIM_S)};
    return 0;
}

SIM_CALL time_t time(time_t *out)
{
    time_t now = machine_inside() ? (time_t)(machine.now / SIM_S) : SIM_REAL(time)(NULL);
    if (out != NULL) {
        *out = now;
    }
    return now;
}

SIM_CALL int nanosleep(const struct timespec *t, struct timespec *left)
{
    if (!machine_inside()) {
        return SIM_REAL(nanosleep)(t, left);
    }
    uint64_t ns = (uint64_t)t->tv_sec * SIM_S + (uint64_t)t->tv_nsec;
    thread_call("nanosleep");
    if (left != NULL && ns > 2 && machine_odd(machine.odd.interrupted)) {
        uint64_t slept = machine_below(ns);
        (void)thread_sleep("nanosleep", machine.now + slept);
        *left = (struct timespec){.tv_sec = (time_t)((ns - slept) / SIM_S),
                                  .tv_nsec = (long)((ns - slept) % SIM_S)};
        errno = EINTR;
        return -1;
    }
    (void)thread_sleep("nanosleep", machine.now + ns);
    return 0;
}

SIM_CALL int sched_yield(void)
{
    if (!machine_inside()) {
        return SIM_REAL(sched_yield)();
    }
    machine.now += SIM_US;
    thread_call("sched_yield");
    return 0;
}

SIM_CALL ssize_t getrandom(void *out, size_t bytes, unsigned flags)
{
    if (!machine_inside()) {
        return SIM_REAL(getrandom)(out, bytes, flags);
    }
    for (size_t i = 0; i < bytes; i++) {
        ((uint8_t *)out)[i] = (uint8_t)(machine_random() >> 24);
    }
    return (ssize_t)bytes;
}

/* System calls by number ----------------------------------------------------------------------- */

static long call_futex(const long *a)
{
    const struct timespec *t = (const struct timespec *)a[3];
    uint32_t *word = (uint32_t *)a[0];
    if ((a[1] & FUTEX_CMD_MASK) == FUTEX_WAKE) {
        return futex_wake(word);
    }
    return futex_wait(&(futex_word_t){.word = word, .seen = (uint32_t)a[2]}, 1,
                      t != NULL ? (uint64_t)t->tv_sec * SIM_S + (uint64_t)t->tv_nsec : SIM_NEVER);
}

/* futex_waitv(2), which old headers do not know. */
#define CALL_FUTEX_WAITV 449

typedef struct call_waitv {
    uint64_t seen, word;
    uint32_t flags, reserved;
} call_waitv_t;

static long call_futex_waitv(const long *a)
{
    const call_waitv_t *list = (const call_waitv_t *)a[0];
    const struct timespec *t = (const struct timespec *)a[3];
    const uint64_t until = (uint64_t)t->tv_sec * SIM_S + (uint64_t)t->tv_nsec;
    futex_word_t words[SIM_FUTEXES];
    for (long i = 0; i < a[1]; i++) {
        words[i] = (futex_word_t){.word = (const uint32_t *)(uintptr_t)list[i].word,
                                  .seen = (uint32_t)list[i].seen};
    }
    return futex_wait(words, (uint32_t)a[1], until > machine.now ? until - machine.now : 0);
}

static long call_pidfd_open(int pid)
{
    process_t *process = process_find(pid);
    thread_call("pidfd_open");
    if (process == NULL || process->dead || process->host != machine.self->process->host) {
        errno = ESRCH;
        return -1;
    }
    object_t *object = object_make(OBJECT_PIDFD);
    object->process = process;
    return descriptor_open(object);
}

SIM_CALL long syscall(long number, ...)
{
    long a[6];
    va_list args;
    va_start(args, number);
    for (int i = 0; i < 6; i++) {
        a[i] = va_arg(args, long);
    }
    va_end(args);
    if (machine_inside()) {
        switch (number) {
        case SYS_futex:
            return call_futex(a);
        case CALL_FUTEX_WAITV:
            return call_futex_waitv(a);
        case SYS_gettid:
            return machine.self->number;
        case SYS_pidfd_open:
            return call_pidfd_open((int)a[0]);
        default:
            errno = ENOSYS;
            return -1;
        }
    }
    return SIM_REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Who a process is ----------------------------------------------------------------------------- */

SIM_CALL pid_t getpid(void)
{
    return machine_inside() ? machine.self->process->pid : SIM_REAL(getpid)();
}

SIM_CALL pid_t getppid(void)
{
    return machine_inside() ? 1 : SIM_REAL(getppid)();
}

SIM_CALL uid_t geteuid(void)
{
    return machine_inside() ? 1000 : SIM_REAL(geteuid)();
}

SIM_CALL pid_t fork(void)
{
    errno = EAGAIN;
    return machine_inside() ? -1 : SIM_REAL(fork)();
}

SIM_CALL int kill(pid_t pid, int number)
{
    if (!machine_inside()) {
        return SIM_REAL(kill)(pid, number);
    }
    const process_t *process = process_find(pid);
    errno = ESRCH;
    return process != NULL && !process->dead && number == 0 ? 0 : -1;
}

SIM_CALL int sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
    if (!machine_inside()) {
        return SIM_REAL(sigaction)(number, action, before);
    }
    if (before != NULL) {
        memset(before, 0, sizeof *before);
    }
    return 0;
}

SIM_CALL int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set)
{
    if (!machine_inside()) {
        return SIM_REAL(sched_getaffinity)(pid, bytes, set);
    }
    memset(set, 0, bytes);
    for (size_t i = 0; i < CPUS; i++) {
        CPU_SET_S(i, bytes, set);
    }
    return 0;
}

SIM_CALL int sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t *set)
{
    return machine_inside() ? 0 : SIM_REAL(sched_setaffinity)(pid, bytes, set);
}

SIM_CALL int sched_getcpu(void)
{
    return machine_inside() ? machine.self->number % CPUS : SIM_REAL(sched_getcpu)();
}
