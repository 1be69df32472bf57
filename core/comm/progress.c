/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The progress thread: started by the first asynchronous operation, ended with the last
 * communicator that used it. It holds a communicator for one round at a time and keeps away from
 * those whose user drives them. */
#include "core/comm/progress.h"

#include "core/base/error.h"
#include "core/comm/engine.h"
#include "core/comm/streams.h"

#define MEMBERS 4096u
#define BUSY_NAP_NS (UINT64_C(50) * 1000)
#define LISTEN_NAP_NS WEFT_NS_PER_MS
#define RESTLESS 100u /* rounds without movement that only give way */

/* One life of the thread: a new one may start while the last is being joined. */
typedef struct runner {
    weft_os_thread_t *thread;
    _Atomic uint32_t stop;
} runner_t;

typedef struct progress {
    weft_os_mutex_t lock; /* guards members and runner */
    weft_comm_state_t *member[MEMBERS];
    uint32_t members;
    runner_t *runner;
    _Atomic uint32_t kicks; /* futex word: work was added */
} progress_t;

static progress_t progress;

/* The result of a round over one communicator; the largest of all decides how to go on. */
typedef enum found {
    FOUND_NOTHING = 0,
    FOUND_LISTENING, /* nothing under way, but a graph may be launched */
    FOUND_WAITING,
    FOUND_MOVED
} found_t;

static found_t progress_advance_one(weft_comm_state_t *state)
{
    uint32_t owner;
    if (!weft_comm_own(state, WEFT_OWNER_PROGRESS, &owner)) {
        return FOUND_WAITING;
    }
    bool busy = weft_engine_is_busy(state), moved = false;
    found_t found = busy                         ? FOUND_WAITING
                    : weft_streams_listen(state) ? FOUND_LISTENING
                                                 : FOUND_NOTHING;
    for (int i = 0; i < 16 && (busy || i == 0) && found != FOUND_NOTHING; i++) {
        moved |= weft_engine_step(state);
        busy = weft_engine_is_busy(state);
    }
    weft_comm_disown(state);
    return moved ? FOUND_MOVED : found;
}

/* Gives way, then naps; for longer and longer where only captured operations may come. */
static void progress_rest(uint32_t idle, bool listening)
{
    uint32_t naps = idle < RESTLESS ? 0 : (idle - RESTLESS) / RESTLESS;
    if (idle < RESTLESS) {
        weft_os_yield();
    } else if (listening) {
        uint64_t nap = BUSY_NAP_NS << (naps < 10 ? naps : 10);
        weft_os_sleep_ns(nap < LISTEN_NAP_NS ? nap : LISTEN_NAP_NS);
    } else {
        weft_os_sleep_ns(BUSY_NAP_NS);
    }
}

static void progress_main(void *arg)
{
    runner_t *runner = arg;
    uint32_t idle = 0;
    while (atomic_load_explicit(&runner->stop, memory_order_acquire) == 0) {
        uint32_t seen = atomic_load_explicit(&progress.kicks, memory_order_acquire);
        found_t best = FOUND_NOTHING;
        weft_os_lock(&progress.lock);
        for (uint32_t i = 0; i < progress.members; i++) {
            found_t found = progress_advance_one(progress.member[i]);
            best = found > best ? found : best;
        }
        weft_os_unlock(&progress.lock);
        if (best == FOUND_MOVED) {
            idle = 0;
        } else if (best == FOUND_NOTHING) {
            weft_os_futex_wait(&progress.kicks, seen, WEFT_NS_PER_S);
        } else {
            progress_rest(++idle, best == FOUND_LISTENING);
        }
    }
}

/* The caller holds progress.lock. */
static weft_status_t progress_start_runner(void)
{
    weft_os_mutex_assert_held(&progress.lock);
    runner_t *runner = weft_os_alloc(sizeof *runner, 0);
    if (runner == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "cannot start the progress thread");
    }
    weft_status_t status =
        weft_os_thread_start("weft-progress", progress_main, runner, &runner->thread);
    if (status != WEFT_OK) {
        weft_os_free(runner);
        return status;
    }
    progress.runner = runner;
    return WEFT_OK;
}

weft_status_t weft_progress_attach(weft_comm_state_t *state)
{
    weft_status_t status = WEFT_OK;
    weft_assert_owner(state);
    if (state->has_progress) {
        return WEFT_OK;
    }
    weft_os_lock(&progress.lock);
    if (progress.members == MEMBERS) {
        status = weft_fail(WEFT_ERR_RESOURCE, 0,
                           "more than %u communicators with asynchronous calls", MEMBERS);
    } else if (progress.runner == NULL) {
        status = progress_start_runner();
    }
    if (status == WEFT_OK) {
        progress.member[progress.members++] = state;
        state->has_progress = true;
    }
    weft_os_unlock(&progress.lock);
    return status;
}

void weft_progress_kick(void)
{
    atomic_fetch_add_explicit(&progress.kicks, 1, memory_order_release);
    weft_os_futex_wake(&progress.kicks);
}

void weft_progress_detach(weft_comm_state_t *state)
{
    runner_t *ended = NULL;
    if (!state->has_progress) {
        return;
    }
    weft_os_lock(&progress.lock);
    for (uint32_t i = 0; i < progress.members; i++) {
        if (progress.member[i] == state) {
            progress.member[i] = progress.member[--progress.members];
        }
    }
    if (progress.members == 0) {
        ended = progress.runner;
        progress.runner = NULL;
    }
    weft_os_unlock(&progress.lock);
    state->has_progress = false;
    if (ended != NULL) {
        atomic_store_explicit(&ended->stop, 1, memory_order_release);
        weft_progress_kick();
        weft_os_thread_join(ended->thread);
        weft_os_free(ended);
    }
}
