/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Processes of one thread under a virtual clock: a program that is linked with the wraps of
 * tests/scale/CMakeLists.txt finds sockets, epoll, the clock and threads here instead of in the
 * system, and nothing of the code above the C library is replaced. Processes are coroutines. The
 * one whose clock is least runs, so what it sees of the others is what had reached it at that time.
 *
 * The network: TCP over a switch without limits, all on one host's addresses, told apart by port. A
 * message leaves a process after the one before it, at its rate, and arrives `latency` later. A
 * listener whose backlog is full drops what asks for a connection, which asks again after 1, 3, 7 …
 * seconds, as Linux does. Buffers have no limit, nothing is lost, and each system call costs the
 * same. */
#ifndef WEFT_TESTS_SIMULATED_PROCESS_H
#define WEFT_TESTS_SIMULATED_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <time.h>
#include <ucontext.h>

#include "core/base/error.h"
#include "tests/scale/wrap.h"

typedef struct kernel_model {
    double latency;   /* seconds from one process to another */
    double call;      /* seconds of a system call */
    double per_byte;  /* seconds of a byte on a process's line */
    uint32_t backlog; /* most connections that wait to be accepted: somaxconn */
} kernel_model_t;

/* What a process has done. Owned by the caller of kernel_start(). */
typedef struct kernel_load {
    double busy;                     /* seconds of processor time */
    double ended;                    /* when it returned; −1: it did not */
    uint64_t calls, messages, bytes; /* messages and bytes that it sent */
    uint64_t asked_again;            /* connections that found a full backlog, each time */
    uint32_t descriptors, descriptors_most;
} kernel_load_t;

/* Begins anew at time 0. */
void kernel_init(const kernel_model_t *model);
/* Has a process run `run` from the time `at` on, in seconds. What it starts with
 * weft_os_thread_launch() is another process, whose load is in *threads. */
void kernel_start(double at, void (*run)(void *), void *arg, kernel_load_t *load,
                  kernel_load_t *threads);
/* Runs until nothing can happen any more. */
void kernel_run(void);

/* The running process: its argument, and processor time that its own work takes. */
void *kernel_self(void);
void kernel_work(double seconds);
/* Seconds since the beginning. */
double kernel_now(void);

/* For the parts of the kernel ------------------------------------------------------------------ */

typedef struct process {
    void (*run)(void *);
    void *arg;
    kernel_load_t *load, *threads;
    ucontext_t context;
    void *stack;
    weft_error_t error;  /* the thread's error record while it does not run */
    uint32_t generation; /* of its next turn: older events are void */
    bool asleep;
    uint64_t line_free; /* when the last message has left */
} process_t;

typedef struct kernel_state {
    kernel_model_t model;
    uint64_t now;    /* nanoseconds of CLOCK_MONOTONIC */
    process_t *self; /* the running process */
} kernel_state_t;

extern kernel_state_t kernel_state;

uint64_t kernel_ns(double seconds);
/* `memory`, unless it is NULL or MAP_FAILED: then the program ends. */
void *kernel_must(void *memory);
/* Has something happen later, between two turns of processes. */
void kernel_at(uint64_t at, void (*happen)(void *object), void *object);
/* The running process makes a system call. What happens before this moment happens first. */
void process_call(void);
/* The running process sleeps until `until`, or until process_turn_at(). */
void process_sleep(uint64_t until);
void process_turn_at(process_t *process, uint64_t at);

/* In place of the functions of these names */
int kernel_real_clock_gettime(clockid_t clock, struct timespec *t) WEFT_TEST_REAL(clock_gettime);
int kernel_clock_gettime(clockid_t clock, struct timespec *t) WEFT_TEST_WRAP(clock_gettime);
int kernel_getrlimit(int resource, struct rlimit *limit) WEFT_TEST_WRAP(getrlimit);
weft_status_t kernel_weft_os_thread_launch(const char *name, void (*run)(void *), void *arg)
    WEFT_TEST_WRAP(weft_os_thread_launch);

#endif
