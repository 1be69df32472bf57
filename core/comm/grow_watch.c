/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The watch of a growing communicator: a thread that tells the root why the join will not come to
 * an end. It speaks for the rank that failed the communicator, which may have joined or not. */
#include "core/comm/grow_watch.h"

#include <errno.h>
#include <stdio.h>

#include "core/base/error.h"
#include "core/boot/claim.h"
#include "core/os/os.h"

#define LOOK_NS (10 * WEFT_NS_PER_MS)
/* The root hears itself of the end of a rank that it knows. */
#define ROOT_HEARS_NS (100 * WEFT_NS_PER_MS)
/* The root has a thread of its own, mostly in this process. */
#define SPEAK_NS (10 * WEFT_NS_PER_S)

struct weft_grow_watch {
    weft_grow_watch_setup_t setup;
    weft_os_thread_t *thread;
    _Atomic uint32_t ended;
};

/* True if the watch ends before `ns` have passed. */
static bool grow_watch_pause(weft_grow_watch_t *watch, uint64_t ns)
{
    uint64_t until = weft_os_clock_ns() + ns, now;
    while (atomic_load_explicit(&watch->ended, memory_order_acquire) == 0 &&
           (now = weft_os_clock_ns()) < until) {
        weft_os_futex_wait(&watch->ended, 0, until - now);
    }
    return atomic_load_explicit(&watch->ended, memory_order_acquire) != 0;
}

void weft_grow_speak(const weft_grow_watch_setup_t *setup, const weft_error_t *failure)
{
    bool known = failure->peer >= 0 && (uint32_t)failure->peer < setup->members;
    uint32_t rank = known ? setup->number[failure->peer] : setup->rank;
    weft_error_t kept = *weft_error_record(), *error = weft_error_record();
    *error = *failure;
    if (known) {
        snprintf(error->text, sizeof error->text,
                 "the communicator that was to grow failed; of %u ranks there, rank %d is rank %u "
                 "here: %.380s",
                 setup->members, (int)failure->peer, rank, failure->text);
    }
    error->peer = (int32_t)rank;
    uint64_t until = weft_os_clock_ns() + SPEAK_NS;
    until = setup->until < until ? setup->until : until;
    weft_claim_report_failure(setup->id, setup->nranks, rank, until);
    *error = kept;
}

static void grow_watch_run(void *arg)
{
    weft_grow_watch_t *watch = arg;
    weft_error_t failure = {.size = sizeof failure};
    while (!grow_watch_pause(watch, LOOK_NS)) {
        if (weft_comm_error(watch->setup.comm, &failure) != WEFT_OK) {
            return;
        }
        if (failure.status != WEFT_OK) {
            if (!grow_watch_pause(watch, ROOT_HEARS_NS)) {
                weft_grow_speak(&watch->setup, &failure);
            }
            return;
        }
    }
}

weft_status_t weft_grow_watch_start(const weft_grow_watch_setup_t *setup,
                                    weft_grow_watch_t **watch_p)
{
    weft_grow_watch_t *watch = weft_os_alloc(sizeof *watch, 0);
    if (watch == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory to watch a growing communicator");
    }
    watch->setup = *setup;
    weft_status_t status = weft_os_thread_start("weft-grow", grow_watch_run, watch, &watch->thread);
    if (status != WEFT_OK) {
        weft_os_free(watch);
        return status;
    }
    *watch_p = watch;
    return WEFT_OK;
}

void weft_grow_watch_end(weft_grow_watch_t *watch)
{
    if (watch == NULL) {
        return;
    }
    atomic_store_explicit(&watch->ended, 1, memory_order_release);
    weft_os_futex_wake(&watch->ended);
    weft_os_thread_join(watch->thread);
    weft_os_free(watch);
}
