/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The waits, the clock and the threads of the core, in the hands of a fuzz target. */
#include "turns.h"

#include "core/os/os.h"
#include "core/os/os_socket.h"
#include "fuzz.h"

#define WAITS_MOST 200000u

static turns_world_t world;
static void *world_arg;
static uint64_t now, last;
static uint32_t waits;
static void (*thread_run)(void *);
static void *thread_arg;

void turns_begin(turns_world_t turn, void *arg)
{
    world = turn;
    world_arg = arg;
    now = last = WEFT_NS_PER_S;
    waits = 0;
    thread_run = NULL;
}

void turns_pass(uint64_t ns)
{
    now += ns;
}

uint64_t turns_since(uint64_t deadline)
{
    uint64_t from = deadline > last ? deadline : last;
    return now > from ? now - from : 0;
}

bool turns_run_thread(void)
{
    if (thread_run == NULL) {
        return false;
    }
    thread_run(thread_arg);
    return true;
}

/* Nothing is ready: what happens next. False: the time has come. */
static bool turns_go_on(uint64_t until)
{
    FUZZ_NEED(++waits < WAITS_MOST);
    if (now >= until) {
        return false;
    }
    if (!world(world_arg)) {
        FUZZ_NEED(until != WEFT_NEVER);
        now = until;
    } else {
        last = now;
    }
    return true;
}

/* What the linker puts in the place of the core's functions ------------------------------------ */

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names */
int __real_weft_os_poll(struct pollfd *entries, uint32_t count, uint64_t until);
int __real_weft_os_watch_wait(int watch, uint64_t *tags, uint32_t room, uint64_t until);
int __wrap_weft_os_poll(struct pollfd *entries, uint32_t count, uint64_t until);
int __wrap_weft_os_watch_wait(int watch, uint64_t *tags, uint32_t room, uint64_t until);
uint64_t __wrap_weft_os_clock_ns(void);
uint64_t __wrap_weft_os_deadline(double seconds);
void __wrap_weft_os_sleep_ns(uint64_t ns);
weft_status_t __wrap_weft_os_thread_launch(const char *name, void (*run)(void *), void *arg);
weft_status_t __wrap_weft_os_thread_start(const char *name, void (*run)(void *), void *arg,
                                          weft_os_thread_t **thread_p);
void __wrap_weft_os_thread_join(weft_os_thread_t *thread);

int __wrap_weft_os_poll(struct pollfd *entries, uint32_t count, uint64_t until)
{
    int ready;
    do {
        ready = __real_weft_os_poll(entries, count, 0);
    } while (ready == 0 && turns_go_on(until));
    return ready;
}

int __wrap_weft_os_watch_wait(int watch, uint64_t *tags, uint32_t room, uint64_t until)
{
    int ready;
    do {
        ready = __real_weft_os_watch_wait(watch, tags, room, 0);
    } while (ready == 0 && turns_go_on(until));
    return ready;
}

uint64_t __wrap_weft_os_clock_ns(void)
{
    return now;
}

uint64_t __wrap_weft_os_deadline(double seconds)
{
    return seconds > 0 && seconds <= 1e9 ? now + (uint64_t)(seconds * (double)WEFT_NS_PER_S)
                                         : WEFT_NEVER;
}

void __wrap_weft_os_sleep_ns(uint64_t ns)
{
    now += ns;
}

weft_status_t __wrap_weft_os_thread_launch(const char *name, void (*run)(void *), void *arg)
{
    (void)name;
    thread_run = run;
    thread_arg = arg;
    return WEFT_OK;
}

weft_status_t __wrap_weft_os_thread_start(const char *name, void (*run)(void *), void *arg,
                                          weft_os_thread_t **thread_p)
{
    *thread_p = NULL;
    return __wrap_weft_os_thread_launch(name, run, arg);
}

void __wrap_weft_os_thread_join(weft_os_thread_t *thread)
{
    (void)thread;
}
/* NOLINTEND(bugprone-reserved-identifier) */
