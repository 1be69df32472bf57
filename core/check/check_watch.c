/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The watch of core.check. */
#include "core/check/check_watch.h"

#include <stdlib.h>

#include "core/base/log.h"
#include "core/os/call_note.h"
#include "core/os/os_fork.h"

#define LOOK_NS (50 * WEFT_NS_PER_MS)

/* One life of the watch: its flag is its own, as the next may begin before it has seen the flag. */
typedef struct watch_life {
    weft_call_watch_t seen;
    uint64_t patience_ns;
    weft_os_thread_t *thread;
    _Atomic bool stop;
} watch_life_t;

static void watch_forked(bool held);
static struct {
    weft_os_process_mutex_t lock;
    uint32_t users;
    watch_life_t *life; /* NULL: nobody watches */
} watch = {.lock = {.forked = watch_forked}};

/* The thread and its users are the parent's: the child starts its own. */
static void watch_forked(bool held)
{
    (void)held;
    watch.users = 0;
    if (watch.life != NULL) {
        weft_os_thread_forget(watch.life->thread);
        weft_os_free(watch.life);
        watch.life = NULL;
    }
}

static void watch_look(watch_life_t *life)
{
    weft_call_note_t note;
    uint64_t lasted;
    uint32_t index = 0;
    if (weft_call_watch_next(&life->seen, &index, weft_os_clock_ns(), life->patience_ns, &note,
                             &lasted)) {
        weft_log(WEFT_LOG_ERROR, "check",
                 "%s: %s has not returned for %.1f s; the contract says that it does not block, or "
                 "only briefly; this process ends (core.check = yes, after exec.op_timeout)",
                 note.plugin, note.method, (double)lasted / 1e9);
        abort();
    }
}

static void watch_run(void *arg)
{
    watch_life_t *life = arg;
    while (!atomic_load(&life->stop)) {
        weft_os_sleep_ns(LOOK_NS);
        watch_look(life);
    }
}

/* NULL: it cannot begin. */
static watch_life_t *watch_begin(double patience)
{
    watch_life_t *life = weft_os_alloc(sizeof *life, 0);
    if (life == NULL) {
        return NULL;
    }
    life->patience_ns = (uint64_t)(patience * 1e9);
    if (weft_os_thread_start("weft-check", watch_run, life, &life->thread) != WEFT_OK) {
        weft_os_free(life);
        return NULL;
    }
    return life;
}

void weft_check_watch_start(double patience)
{
    weft_os_process_lock(&watch.lock);
    if (watch.users++ == 0 && patience > 0) {
        watch.life = watch_begin(patience);
        if (watch.life == NULL) {
            weft_log(WEFT_LOG_WARN, "check", "no thread to watch the calls of plugins");
        }
    }
    weft_os_process_unlock(&watch.lock);
}

void weft_check_watch_stop(void)
{
    watch_life_t *ended = NULL;
    weft_os_process_lock(&watch.lock);
    if (--watch.users == 0) {
        ended = watch.life;
        watch.life = NULL;
    }
    weft_os_process_unlock(&watch.lock);
    if (ended != NULL) {
        atomic_store(&ended->stop, true);
        weft_os_thread_join(ended->thread);
        weft_os_free(ended);
    }
}
