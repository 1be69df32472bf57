/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The progress thread: one per process, started by the first asynchronous operation, ended with the
 * last communicator that used it. It holds a communicator for one round at a time and keeps away from
 * those whose user drives them. */
#include "core/base/error.h"
#include "core/comm/comm.h"

#define MEMBERS 4096u
#define BUSY_NAP_NS (UINT64_C(50) * 1000)

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

/* One round over one communicator. Returns 1 if something moved, 0 if it waits, −1 if it has no work. */
static int advance_one(weft_comm_state_t *state)
{
    uint32_t free_owner = OWNER_FREE;
    if (!atomic_compare_exchange_strong_explicit(&state->owner, &free_owner, OWNER_PROGRESS,
                                                 memory_order_acquire, memory_order_relaxed)) {
        return 0;
    }
    int result = -1;
    if (weft_comm_is_busy(state)) {
        result = 0;
        for (int i = 0; i < 16 && weft_comm_is_busy(state); i++) {
            result |= weft_engine_step(state);
        }
    }
    atomic_store_explicit(&state->owner, OWNER_FREE, memory_order_release);
    return result;
}

static void progress_main(void *arg)
{
    runner_t *runner = arg;
    uint32_t idle = 0;
    while (atomic_load_explicit(&runner->stop, memory_order_acquire) == 0) {
        uint32_t seen = atomic_load_explicit(&progress.kicks, memory_order_acquire);
        int best = -1;
        weft_os_lock(&progress.lock);
        for (uint32_t i = 0; i < progress.members; i++) {
            int result = advance_one(progress.member[i]);
            best = result > best ? result : best;
        }
        weft_os_unlock(&progress.lock);
        if (best == 1) {
            idle = 0;
        } else if (best == -1) {
            weft_os_futex_wait(&progress.kicks, seen, WEFT_NS_PER_S);
        } else if (++idle < 100) {
            weft_os_yield();
        } else {
            weft_os_sleep_ns(BUSY_NAP_NS);
        }
    }
}

static weft_status_t start_runner(void)
{
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
    if (state->has_progress) {
        return WEFT_OK;
    }
    weft_os_lock(&progress.lock);
    if (progress.members == MEMBERS) {
        status = weft_fail(WEFT_ERR_RESOURCE, 0,
                           "more than %u communicators with asynchronous calls", MEMBERS);
    } else if (progress.runner == NULL) {
        status = start_runner();
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
