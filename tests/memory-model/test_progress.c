/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A user leaves work to the progress thread and ends it: the work is done, and the thread ends,
 * though it sleeps for ever where it finds nothing to do.
 * Sources: core/comm/progress.c */
#include "core/comm/progress.c"
#include "model_system.h"

static weft_comm_state_t state;
static weft_family_t family;
static runner_t runner;
static pthread_t runner_thread;
static bool busy;             /* by the owner of the communicator */
static _Atomic uint32_t done; /* the work is */

void *weft_os_alloc(size_t bytes, size_t align)
{
    (void)bytes, (void)align;
    atomic_store_explicit(&runner.stop, 0, memory_order_relaxed);
    return &runner;
}

void weft_os_free(void *allocated)
{
    (void)allocated;
}

static void *runner_start(void *arg)
{
    progress_main(arg);
    return NULL;
}

weft_status_t weft_os_thread_start(const char *name, void (*run)(void *), void *arg,
                                   weft_os_thread_t **thread_p)
{
    (void)name, (void)run, (void)thread_p;
    pthread_create(&runner_thread, NULL, runner_start, arg);
    return WEFT_OK;
}

void weft_os_thread_join(weft_os_thread_t *thread)
{
    (void)thread;
    pthread_join(runner_thread, NULL);
}

/* Without descriptors: the thread sleeps on words only. */
weft_status_t weft_os_wake_open(int *fd_p)
{
    (void)fd_p;
    return WEFT_ERR_RESOURCE;
}

void weft_os_close(int fd)
{
    (void)fd;
}

uint32_t weft_os_cpus(void)
{
    return 2;
}

uint32_t weft_os_cpu_here(void)
{
    return 0;
}

void weft_os_thread_cpus(weft_os_cpu_set_t *set)
{
    (void)set;
}

void weft_os_thread_use_cpu(uint32_t cpu)
{
    (void)cpu;
}

void weft_os_thread_take_turns(uint64_t ns)
{
    (void)ns;
}

bool weft_engine_is_busy(const weft_comm_state_t *comm)
{
    (void)comm;
    return busy;
}

bool weft_engine_needs_host(const weft_comm_state_t *comm)
{
    (void)comm;
    return true;
}

bool weft_engine_step(weft_comm_state_t *comm)
{
    (void)comm;
    busy = false;
    atomic_store_explicit(&done, 1, memory_order_relaxed);
    return true;
}

bool weft_streams_are_busy(const weft_comm_state_t *comm)
{
    (void)comm;
    return false;
}

bool weft_streams_listen(const weft_comm_state_t *comm)
{
    (void)comm;
    return false;
}

bool weft_links_are_called(const weft_links_t *links)
{
    (void)links;
    return false;
}

static void model_begin(void)
{
    family.here.ranks = 1;
    state.self.family = &family;
    busy = false;
    atomic_store_explicit(&done, 0, memory_order_relaxed);
}

static void *model_use(void *arg)
{
    (void)arg;
    uint32_t owner;
    (void)weft_comm_own(&state, WEFT_OWNER_USER, &owner);
    (void)weft_progress_attach(&state);
    busy = true;
    const weft_progress_need_t need = weft_progress_need(&state);
    weft_comm_disown(&state);
    weft_progress_kick(need);
    while (atomic_load_explicit(&done, memory_order_relaxed) == 0) {
        model_turn();
    }
    while (!weft_comm_own(&state, WEFT_OWNER_USER, &owner)) {
        model_turn();
    }
    weft_progress_detach(&state);
    weft_comm_disown(&state);
    return NULL;
}

static void model_end(void)
{
    model_assert(!busy);
}

MODEL_PLAY(model_use)
