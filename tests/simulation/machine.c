/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The machine: what happens when, whose turn it is, and chance. */
#include "machine.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "descriptor.h"
#include "memory.h"
#include "tests/support/event_queue.h"

/* The clock at the beginning: to some code 0 means never. */
#define BEGINNING (1000 * SIM_S)

machine_t machine;

static struct {
    event_queue_t events;
    jmp_buf scheduler;
    bool stop;
} queue;

/* Chance --------------------------------------------------------------------------------------- */

/* splitmix64. */
uint64_t machine_random(void)
{
    uint64_t h = machine.random += UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    h = (h ^ h >> 27) * UINT64_C(0x94d049bb133111eb);
    return h ^ h >> 31;
}

uint64_t machine_below(uint64_t bound)
{
    return bound > 0 ? machine_random() % bound : 0;
}

bool machine_odd(uint32_t of_65536)
{
    return of_65536 > 0 && machine_random() % 65536 < of_65536;
}

uint64_t machine_between(uint64_t least, uint64_t most)
{
    uint64_t range = least > 0 ? most / least : most;
    uint32_t doublings = 0;
    while (range > 1) {
        range /= 2;
        doublings++;
    }
    uint64_t base = least << machine_below(doublings + 1);
    uint64_t value = base + machine_below(base + 1);
    return value < most ? value : most;
}

/* What happened -------------------------------------------------------------------------------- */

static void trace_add(uint64_t value)
{
    machine.trace = (machine.trace ^ value) * UINT64_C(0x100000001b3);
}

void machine_note(const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    trace_add(machine.now);
    for (int i = 0; i < length && i < (int)sizeof text - 1; i++) {
        trace_add((uint8_t)text[i]);
    }
    if (machine.loud) {
        fprintf(stderr, "%12.6f %s\n", (double)(machine.now - BEGINNING) / 1e9, text);
    }
}

void machine_tell(const char *line, size_t bytes)
{
    if (machine.loud) {
        fprintf(stderr, "%12.6f %u says: %.*s", (double)(machine.now - BEGINNING) / 1e9,
                machine.self->process->number, (int)bytes, line);
    }
}

/* Events --------------------------------------------------------------------------------------- */

void machine_at(uint64_t at, void (*happen)(void *object), void *object)
{
    event_queue_add(&queue.events, (event_t){.at = at, .happen = happen, .object = object});
}

static void thread_add_turn(thread_t *thread, uint64_t at)
{
    event_queue_add(&queue.events,
                    (event_t){.at = at, .object = thread, .generation = thread->generation});
}

/* From one stack to another. swapcontext() would also keep the signal mask, by two calls of the
 * system. */
static void thread_resume(thread_t *thread)
{
    if (_setjmp(queue.scheduler) == 0) {
        if (thread->begun) {
            _longjmp(thread->place, 1);
        }
        thread->begun = true;
        setcontext(&thread->context);
    }
}

static void thread_take_turn(thread_t *thread, uint32_t generation)
{
    if (thread->generation != generation || thread->ended || thread->process->dead) {
        return;
    }
    if (thread->process->stopped) {
        thread->held = true;
        return;
    }
    thread->asleep = false;
    machine.self = thread;
    machine.turns++;
    trace_add(machine.now);
    trace_add((uint64_t)thread->number);
    image_use_tls(thread->process->image, thread->tls);
    errno = thread->error_number;
    thread_resume(thread);
    machine.self = NULL;
}

/* Threads that ended keep their place until the end, because events may name them. */
static void thread_give_way(void)
{
    thread_t *self = machine.self;
    self->error_number = errno;
    if (_setjmp(self->place) == 0) {
        _longjmp(queue.scheduler, 1);
    }
    errno = machine.self->error_number;
}

void thread_call(const char *where)
{
    thread_t *self = machine.self;
    machine.calls++;
    self->where = where;
    machine.now += 50 + machine_random() % 512;
    if (machine_odd(machine.odd.preempted)) {
        machine.now += machine_between(10 * SIM_US, 4 * SIM_MS);
    }
    if (self->files == 0 && event_queue_next(&queue.events) < machine.now) {
        self->generation++;
        thread_add_turn(self, machine.now);
        thread_give_way();
    }
}

bool thread_sleep(const char *where, uint64_t until)
{
    thread_t *self = machine.self;
    self->where = where;
    self->woken = false;
    self->generation++;
    self->asleep = true;
    if (until != SIM_NEVER) {
        thread_add_turn(self, until > machine.now ? until : machine.now);
    }
    thread_give_way();
    self->asleep = false;
    return self->woken;
}

void thread_wake(thread_t *thread, uint64_t at)
{
    if (thread->asleep && !thread->woken && !thread->ended && !thread->process->dead) {
        thread->woken = true;
        thread->generation++;
        thread_add_turn(thread, at > machine.now ? at : machine.now);
    }
}

/* Threads -------------------------------------------------------------------------------------- */

static void thread_main(void)
{
    thread_t *self = machine.self;
    (void)self->run(self->arg);
    thread_exit();
}

void thread_exit(void)
{
    thread_t *self = machine.self;
    for (uint32_t k = 0; k < self->process->keys; k++) {
        if (self->key[k] != NULL && self->process->key_free[k] != NULL) {
            self->process->key_free[k](self->key[k]);
        }
    }
    self->ended = true;
    if (self->joiner != NULL) {
        thread_wake(self->joiner, machine.now);
    }
    thread_give_way();
    abort(); /* it has no turn any more */
}

thread_t *thread_create(process_t *process, void *(*run)(void *), void *arg, uint64_t at)
{
    thread_t *thread = machine_alloc(sizeof *thread);
    *thread = (thread_t){.next = process->threads,
                         .process = process,
                         .run = run,
                         .arg = arg,
                         .number = process->threads == NULL ? process->pid : machine.pids + 1,
                         .stack = memory_stack_take(),
                         .tls = image_make_tls(process->image)};
    machine.pids += process->threads != NULL;
    process->threads = thread;
    getcontext(&thread->context);
    thread->context.uc_stack.ss_sp = thread->stack;
    thread->context.uc_stack.ss_size = MEMORY_STACK_BYTES;
    makecontext(&thread->context, thread_main, 0);
    thread_add_turn(thread, at);
    return thread;
}

void thread_join(thread_t *thread)
{
    while (!thread->ended) {
        thread->joiner = machine.self;
        (void)thread_sleep("pthread_join", SIM_NEVER);
    }
}

/* Processes ------------------------------------------------------------------------------------ */

static void process_free_threads(process_t *process)
{
    thread_t *thread = process->threads;
    process->threads = NULL;
    while (thread != NULL) {
        thread_t *next = thread->next;
        memory_stack_give(thread->stack);
        image_free_tls(process->image, thread->tls);
        thread->stack = thread->tls = NULL;
        /* Its events are void by `ended`; machine_fini() frees what is left. */
        thread->ended = true;
        thread->next = process->threads;
        process->threads = thread;
        thread = next;
    }
}

static void machine_all_ended(void *nothing)
{
    (void)nothing;
    queue.stop = machine.alive == 0; /* a newcomer may have been started */
}

/* Between two turns: nothing of the process runs. */
static void process_bury(void *dead)
{
    process_t *process = dead;
    process_free_threads(process);
    memory_process_fini(process);
    process->image->used = false;
}

static void process_end(process_t *process, bool silent)
{
    process->dead = true;
    process->stopped = false;
    descriptor_close_all(process, silent);
    for (process_t *p = machine.processes; p != NULL; p = p->next) {
        process_wake_pollers(p, machine.now + 10 * SIM_US); /* who watches it by a pidfd */
    }
    machine_at(machine.now, process_bury, process);
    machine.ended = machine.now;
    if (--machine.alive == 0) {
        machine_at(machine.now, machine_all_ended, NULL);
    }
}

void process_kill(process_t *process, bool silent)
{
    if (!process->dead) {
        machine_note("kill %u%s", process->number, silent ? " silently" : "");
        process->exit_code = -1;
        process_end(process, silent);
    }
}

typedef struct process_begin {
    void *(*run)(void *);
    void *arg;
} process_begin_t;

static void *process_main(void *begin)
{
    process_begin_t first = *(process_begin_t *)begin;
    process_t *process = machine.self->process;
    machine_free(begin);
    process->exit_code = (int)(intptr_t)first.run(first.arg);
    machine_note("exit %u: %d", process->number, process->exit_code);
    process_end(process, false);
    return NULL;
}

process_t *process_start(image_t *image, uint32_t host, uint32_t number, void *(*run)(void *),
                         void *arg, uint64_t at)
{
    process_t *process = machine_alloc(sizeof *process);
    process_begin_t *begin = machine_alloc(sizeof *begin);
    *begin = (process_begin_t){.run = run, .arg = arg};
    *process = (process_t){.next = machine.processes,
                           .image = image,
                           .pid = ++machine.pids,
                           .host = host,
                           .number = number,
                           .files_most = SIM_FILES_MOST,
                           .started = at};
    machine.processes = process;
    image->used = true;
    machine.alive++;
    image_reset(image);
    memory_process_init(process);
    thread_create(process, process_main, begin, at);
    machine_note("start %u on host %u, pid %d", number, host, process->pid);
    return process;
}

void process_stop(process_t *process)
{
    machine_note("stop %u", process->number);
    process->stopped = !process->dead;
}

void process_go_on(process_t *process)
{
    machine_note("go on %u", process->number);
    process->stopped = false;
    for (thread_t *thread = process->threads; thread != NULL; thread = thread->next) {
        if (thread->held) {
            thread->held = false;
            thread->generation++;
            thread_add_turn(thread, machine.now);
        }
    }
}

process_t *process_find(int pid)
{
    process_t *process = machine.processes;
    while (process != NULL && process->pid != pid) {
        process = process->next;
    }
    return process;
}

void process_wake_pollers(process_t *process, uint64_t at)
{
    for (thread_t *thread = process->threads; thread != NULL; thread = thread->next) {
        if (thread->asleep && thread->where != NULL && strcmp(thread->where, "poll") == 0) {
            thread_wake(thread, at);
        }
    }
}

void process_print_all(void)
{
    for (const process_t *p = machine.processes; p != NULL; p = p->next) {
        for (const thread_t *t = p->dead ? NULL : p->threads; t != NULL; t = t->next) {
            fprintf(stderr, "  process %u, pid %d, thread %d: %s%s%s\n", p->number, p->pid,
                    t->number,
                    t->ended           ? "ended"
                    : t->where != NULL ? t->where
                                       : "not begun",
                    t->asleep ? ", asleep" : "", p->stopped ? ", stopped" : "");
        }
    }
}

/* Futexes -------------------------------------------------------------------------------------- */

/* Of an address of the running process. */
static futex_key_t futex_key(const void *word)
{
    uint64_t offset;
    const object_t *file = memory_file_of(machine.self->process, word, &offset);
    if (file != NULL) {
        return (futex_key_t){.place = (uint64_t)(uintptr_t)file, .word = offset};
    }
    return (futex_key_t){.place = (uint64_t)machine.self->process->pid,
                         .word = (uint64_t)(uintptr_t)word};
}

int futex_wait(const futex_word_t *words, uint32_t count, uint64_t timeout_ns)
{
    thread_t *self = machine.self;
    futex_key_t keys[SIM_FUTEXES];
    thread_call("futex");
    for (uint32_t i = 0; i < count; i++) {
        if (*(const volatile uint32_t *)words[i].word != words[i].seen) {
            errno = EAGAIN;
            return -1;
        }
        keys[i] = futex_key(words[i].word);
    }
    if (machine_odd(machine.odd.spurious)) {
        errno = EINTR;
        return -1;
    }
    self->futex_keys = keys;
    self->futex_count = count;
    bool woken = thread_sleep(
        "futex", timeout_ns < SIM_NEVER - machine.now ? machine.now + timeout_ns : SIM_NEVER);
    errno = ETIMEDOUT;
    return woken ? 0 : -1;
}

static bool futex_waits_for(const thread_t *t, futex_key_t key)
{
    bool found = false;
    if (!t->asleep || t->woken || t->where == NULL || strcmp(t->where, "futex") != 0) {
        return false;
    }
    for (uint32_t i = 0; i < t->futex_count && !found; i++) {
        found = t->futex_keys[i].place == key.place && t->futex_keys[i].word == key.word;
    }
    return found;
}

int futex_wake(const uint32_t *word)
{
    const futex_key_t key = futex_key(word);
    int count = 0;
    for (process_t *p = machine.processes; p != NULL; p = p->next) {
        for (thread_t *t = p->dead ? NULL : p->threads; t != NULL; t = t->next) {
            if (futex_waits_for(t, key)) {
                thread_wake(t, machine.now + 1000 + machine_below(20 * SIM_US));
                count++;
            }
        }
    }
    thread_call("futex wake");
    return count;
}

/* The run -------------------------------------------------------------------------------------- */

void machine_init(uint64_t seed, bool loud)
{
    machine = (machine_t){.seed = seed,
                          .random = seed * UINT64_C(0x2545f4914f6cdd1d) + 1,
                          .now = BEGINNING,
                          .patience = 3 * SIM_S,
                          .loud = loud,
                          .trace = UINT64_C(0xcbf29ce484222325),
                          .pids = 1000,
                          .port = 20000};
    queue.events.count = 0;
    queue.events.added = 0;
    queue.stop = false;
}

void machine_run(uint64_t limit)
{
    while (queue.events.count > 0 && !queue.stop) {
        event_t event = event_queue_take(&queue.events);
        if (event.at > limit) {
            machine.now = limit;
            return;
        }
        machine.now = event.at; /* a thread that gave way was ahead of it */
        if (event.happen != NULL) {
            event.happen(event.object);
        } else {
            thread_take_turn(event.object, event.generation);
        }
    }
}

void machine_fini(void)
{
    while (machine.processes != NULL) {
        process_t *process = machine.processes;
        machine.processes = process->next;
        if (!process->dead) {
            process->dead = true;
            descriptor_close_all(process, true);
        }
        if (process->image->used) {
            process_bury(process);
        }
        while (process->threads != NULL) {
            thread_t *thread = process->threads;
            process->threads = thread->next;
            machine_free(thread);
        }
        machine_free(process);
    }
    descriptor_fini();
    queue.events.count = 0;
}
