/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The clock, what happens when, and whose turn it is. */
#include "tests/scale/simulated_process.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "core/os/os.h"
#include "tests/support/event_queue.h"

#define STACK_BYTES ((size_t)96 << 10)
#define EPOCH UINT64_C(1000000000) /* the clock at the beginning: 0 means never to some */

kernel_state_t kernel_state;

static struct {
    ucontext_t scheduler;
    event_queue_t events;
} kernel_queue;

void *kernel_must(void *memory)
{
    if (memory == NULL || memory == MAP_FAILED) {
        fprintf(stderr, "the simulated kernel is out of memory\n");
        exit(1);
    }
    return memory;
}

/* Events --------------------------------------------------------------------------------------- */

void kernel_at(uint64_t at, void (*happen)(void *object), void *object)
{
    event_queue_add(&kernel_queue.events, (event_t){.at = at, .happen = happen, .object = object});
}

uint64_t kernel_ns(double seconds)
{
    return (uint64_t)(seconds * 1e9);
}

/* Processes ------------------------------------------------------------------------------------ */

static void process_main(void)
{
    process_t *self = kernel_state.self;
    self->run(self->arg);
    if (self->load != NULL) {
        self->load->ended = kernel_now();
    }
    self->run = NULL;
    swapcontext(&self->context, &kernel_queue.scheduler);
}

static void process_give_way(void)
{
    process_t *self = kernel_state.self;
    self->error = *weft_error_record();
    swapcontext(&self->context, &kernel_queue.scheduler);
    *weft_error_record() = self->error;
}

static void process_add_turn(process_t *process, uint64_t at, uint32_t generation)
{
    event_queue_add(&kernel_queue.events,
                    (event_t){.at = at, .object = process, .generation = generation});
}

void process_turn_at(process_t *process, uint64_t at)
{
    process->asleep = false;
    process_add_turn(process, at, ++process->generation);
}

/* Sleeps until `until`, or until something that the process waits for is ready. */
void process_sleep(uint64_t until)
{
    process_t *self = kernel_state.self;
    self->generation++;
    if (until != WEFT_NEVER) {
        process_add_turn(self, until, self->generation);
    }
    self->asleep = true;
    process_give_way();
}

/* Processor time of the running process. */
static void process_spend(double seconds)
{
    kernel_state.now += kernel_ns(seconds);
    if (kernel_state.self->load != NULL) {
        kernel_state.self->load->busy += seconds;
    }
}

/* The running process enters the system. What happens before this moment happens first. */
void process_call(void)
{
    if (kernel_state.self->load != NULL) {
        kernel_state.self->load->calls++;
    }
    process_spend(kernel_state.model.call);
    if (event_queue_next(&kernel_queue.events) < kernel_state.now) {
        process_turn_at(kernel_state.self, kernel_state.now);
        process_give_way();
    }
}

void kernel_start(double at, void (*run)(void *), void *arg, kernel_load_t *load,
                  kernel_load_t *threads)
{
    process_t *process = kernel_must(calloc(1, sizeof *process));
    process->stack = kernel_must(mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    *process = (process_t){
        .run = run, .arg = arg, .load = load, .threads = threads, .stack = process->stack};
    if (load != NULL) {
        load->ended = -1;
    }
    weft_error_clear(&process->error);
    getcontext(&process->context);
    process->context.uc_stack.ss_sp = process->stack;
    process->context.uc_stack.ss_size = STACK_BYTES;
    makecontext(&process->context, process_main, 0);
    process_turn_at(process, EPOCH + kernel_ns(at));
}

void *kernel_self(void)
{
    return kernel_state.self != NULL ? kernel_state.self->arg : NULL;
}

void kernel_work(double seconds)
{
    if (kernel_state.self != NULL) {
        process_spend(seconds);
    }
}

double kernel_now(void)
{
    return (double)(kernel_state.now - EPOCH) / 1e9;
}

/* The rest ------------------------------------------------------------------------------------- */

int kernel_clock_gettime(clockid_t clock, struct timespec *t)
{
    if (kernel_state.self == NULL || clock != CLOCK_MONOTONIC) {
        return kernel_real_clock_gettime(clock, t);
    }
    *t = (struct timespec){.tv_sec = (time_t)(kernel_state.now / WEFT_NS_PER_S),
                           .tv_nsec = (long)(kernel_state.now % WEFT_NS_PER_S)};
    return 0;
}

int kernel_getrlimit(int resource, struct rlimit *limit)
{
    (void)resource;
    *limit = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
    return 0;
}

weft_status_t kernel_weft_os_thread_launch(const char *name, void (*run)(void *), void *arg)
{
    (void)name;
    kernel_start((double)(kernel_state.now - EPOCH) / 1e9, run, arg, kernel_state.self->threads,
                 NULL);
    return WEFT_OK;
}

static void process_take_turn(process_t *process, uint32_t generation)
{
    if (process->generation == generation && process->run != NULL) {
        process->asleep = false;
        kernel_state.self = process;
        swapcontext(&kernel_queue.scheduler, &process->context);
        kernel_state.self = NULL;
    }
}

void kernel_run(void)
{
    while (kernel_queue.events.count > 0) {
        event_t event = event_queue_take(&kernel_queue.events);
        kernel_state.now = event.at; /* a process that gave way was ahead of it */
        if (event.happen != NULL) {
            event.happen(event.object);
        } else {
            process_take_turn(event.object, event.generation);
        }
    }
}

void kernel_init(const kernel_model_t *model)
{
    kernel_state = (kernel_state_t){.model = *model, .now = EPOCH};
}
