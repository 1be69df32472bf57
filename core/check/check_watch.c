/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The watch of core.check. */
#include "core/check/check_watch.h"

#include <stdlib.h>

#include "core/base/log.h"
#include "core/os/call_note.h"
#include "core/os/os.h"

#define LOOK_NS (50 * WEFT_NS_PER_MS)

static struct {
    weft_os_mutex_t lock;
    uint32_t users;
    uint64_t patience_ns;
    weft_os_thread_t *thread;
    _Atomic bool stop;
} watch;

static void watch_look(weft_call_watch_t *seen)
{
    weft_call_note_t note;
    uint64_t lasted;
    uint32_t index = 0;
    if (weft_call_watch_next(seen, &index, weft_os_clock_ns(), watch.patience_ns, &note, &lasted)) {
        weft_log(WEFT_LOG_ERROR, "check",
                 "%s: %s has not returned for %.1f s; the contract says that it does not block, or "
                 "only briefly; this process ends (core.check = yes, after exec.op_timeout)",
                 note.plugin, note.method, (double)lasted / 1e9);
        abort();
    }
}

static void watch_run(void *arg)
{
    weft_call_watch_t *seen = arg;
    while (!atomic_load(&watch.stop)) {
        weft_os_sleep_ns(LOOK_NS);
        watch_look(seen);
    }
    weft_os_free(seen);
}

void weft_check_watch_start(double patience)
{
    weft_os_lock(&watch.lock);
    if (watch.users++ == 0 && patience > 0) {
        weft_call_watch_t *seen = weft_os_alloc(sizeof *seen, 0);
        watch.patience_ns = (uint64_t)(patience * 1e9);
        atomic_store(&watch.stop, false);
        if (seen == NULL ||
            weft_os_thread_start("weft-check", watch_run, seen, &watch.thread) != WEFT_OK) {
            weft_log(WEFT_LOG_WARN, "check", "no thread to watch the calls of plugins");
            weft_os_free(seen);
        }
    }
    weft_os_unlock(&watch.lock);
}

void weft_check_watch_stop(void)
{
    weft_os_thread_t *ended = NULL;
    weft_os_lock(&watch.lock);
    if (--watch.users == 0) {
        ended = watch.thread;
        watch.thread = NULL;
        atomic_store(&watch.stop, true);
    }
    weft_os_unlock(&watch.lock);
    weft_os_thread_join(ended);
}
