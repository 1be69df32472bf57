/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The notes of all threads: a table of fixed size, because a handler of signals reads it. */
#include "core/os/call_note.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

static weft_call_place_t places[WEFT_CALL_PLACES];
static weft_call_place_t crowd; /* of threads that found no place */

_Thread_local weft_call_place_t *weft_call_place_mine;

static pthread_once_t call_once = PTHREAD_ONCE_INIT;
static pthread_key_t call_key;
static bool call_key_made;

static void call_place_free(void *place)
{
    weft_call_place_t *mine = place;
    atomic_store_explicit(&mine->plugin, NULL, memory_order_relaxed);
    atomic_store_explicit(&mine->thread, 0, memory_order_release);
}

/* A forked child has one thread, with another id. */
static void call_forked(void)
{
    for (uint32_t i = 0; i < WEFT_CALL_PLACES; i++) {
        if (&places[i] != weft_call_place_mine) {
            call_place_free(&places[i]);
        }
    }
    if (weft_call_place_mine != NULL && weft_call_place_mine != &crowd) {
        atomic_store_explicit(&weft_call_place_mine->thread, (int32_t)syscall(SYS_gettid),
                              memory_order_relaxed);
    }
}

static void call_init(void)
{
    call_key_made = pthread_key_create(&call_key, call_place_free) == 0;
    (void)pthread_atfork(NULL, NULL, call_forked);
}

static weft_call_place_t *call_place_find(void)
{
    int32_t thread = (int32_t)syscall(SYS_gettid);
    (void)pthread_once(&call_once, call_init);
    for (uint32_t i = 0; i < WEFT_CALL_PLACES && call_key_made; i++) {
        int32_t nobody = 0;
        if (atomic_compare_exchange_strong_explicit(&places[i].thread, &nobody, thread,
                                                    memory_order_acquire, memory_order_relaxed)) {
            (void)pthread_setspecific(call_key, &places[i]);
            return &places[i];
        }
    }
    return &crowd;
}

weft_call_place_t *weft_call_place_take(void)
{
    weft_call_place_mine = call_place_find();
    return weft_call_place_mine;
}

/* Takes the note of a place. False: it is in no call, or goes from one to the next. */
static bool call_read(const weft_call_place_t *place, weft_call_note_t *note)
{
    const uint64_t number = atomic_load_explicit(&place->number, memory_order_acquire);
    note->plugin = atomic_load_explicit(&place->plugin, memory_order_acquire);
    note->method = atomic_load_explicit(&place->method, memory_order_acquire);
    const char *plugin = atomic_load_explicit(&place->plugin, memory_order_acquire);
    return note->plugin != NULL && note->method != NULL && note->plugin == plugin &&
           atomic_load_explicit(&place->number, memory_order_relaxed) == number;
}

weft_call_note_t weft_call_of_thread(int32_t thread)
{
    for (uint32_t i = 0; i < WEFT_CALL_PLACES; i++) {
        weft_call_note_t note;
        if (atomic_load_explicit(&places[i].thread, memory_order_relaxed) == thread &&
            call_read(&places[i], &note)) {
            return note;
        }
    }
    return (weft_call_note_t){.plugin = NULL};
}

/* Returns for how long the place has been in the call that it is in now. */
static uint64_t call_lasted(weft_call_watch_t *watch, uint32_t i, uint64_t now)
{
    uint64_t number = atomic_load_explicit(&places[i].number, memory_order_relaxed);
    bool inside = atomic_load_explicit(&places[i].plugin, memory_order_relaxed) != NULL;
    if (!inside || watch->since[i] == 0 || watch->number[i] != number) {
        watch->number[i] = number;
        watch->since[i] = inside ? now : 0;
        watch->told[i] = false;
    }
    return inside ? now - watch->since[i] : 0;
}

bool weft_call_watch_next(weft_call_watch_t *watch, uint32_t *index_p, uint64_t now,
                          uint64_t long_ns, weft_call_note_t *note, uint64_t *lasted_ns)
{
    for (; *index_p < WEFT_CALL_PLACES; (*index_p)++) {
        uint32_t i = *index_p;
        uint64_t lasted = call_lasted(watch, i, now);
        if (lasted < long_ns || watch->told[i] || lasted == 0 || !call_read(&places[i], note) ||
            atomic_load_explicit(&places[i].number, memory_order_relaxed) != watch->number[i]) {
            continue;
        }
        *lasted_ns = lasted;
        watch->told[i] = true;
        return true;
    }
    return false;
}

bool weft_call_any(void)
{
    for (uint32_t i = 0; i < WEFT_CALL_PLACES; i++) {
        if (atomic_load_explicit(&places[i].plugin, memory_order_relaxed) != NULL) {
            return true;
        }
    }
    return false;
}
