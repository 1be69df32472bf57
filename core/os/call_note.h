/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which call of a plugin a thread is in. The thread writes a note before the call and takes it back
 * behind it, which costs a few stores; the health thread, the watch of core.check and the handler
 * of crashes read the notes of all threads. Between two notes there is none, so that nobody reads
 * the plugin of one with the method of the other. */
#ifndef WEFT_OS_CALL_NOTE_H
#define WEFT_OS_CALL_NOTE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Both are texts that outlive the call. All zero: no call. */
typedef struct weft_call_note {
    const char *plugin;
    const char *method;
} weft_call_note_t;

/* The place of one thread, in a cache line of its own. Threads beyond the places share one, which
 * nobody reads. */
typedef struct weft_call_place {
    _Alignas(64) _Atomic(const char *) plugin; /* NULL: in no call */
    _Atomic(const char *) method;
    _Atomic uint64_t number; /* of calls that began; written first */
    _Atomic int32_t thread;  /* id of the system; 0: the place is free */
} weft_call_place_t;

/* The calling thread's place; NULL before its first call. The model of its memory saves a call of
 * the dynamic linker in every call of a plugin. */
extern _Thread_local weft_call_place_t *weft_call_place_mine
    __attribute__((tls_model("initial-exec")));
weft_call_place_t *weft_call_place_take(void);

static inline weft_call_place_t *weft_call_place(void)
{
    return weft_call_place_mine != NULL ? weft_call_place_mine : weft_call_place_take();
}

/* The note of the calling thread. */
static inline weft_call_note_t weft_call_now(void)
{
    weft_call_place_t *place = weft_call_place();
    return (weft_call_note_t){.plugin = atomic_load_explicit(&place->plugin, memory_order_relaxed),
                              .method = atomic_load_explicit(&place->method, memory_order_relaxed)};
}

/* Puts a note in the place of another. */
static inline void weft_call_note_set(weft_call_place_t *place, const char *plugin,
                                      const char *method)
{
    atomic_store_explicit(&place->plugin, NULL, memory_order_relaxed);
    atomic_store_explicit(&place->method, method, memory_order_release);
    atomic_store_explicit(&place->plugin, plugin, memory_order_release);
}

/* Notes that a call begins. Returns the note that was there before: a plugin may be called from a
 * call of another. */
static inline weft_call_note_t weft_call_enter(const char *plugin, const char *method)
{
    weft_call_place_t *place = weft_call_place();
    weft_call_note_t before = weft_call_now();
    uint64_t number = atomic_load_explicit(&place->number, memory_order_relaxed);
    /* Release: who sees this number does not find the plugin of a call before it. */
    atomic_store_explicit(&place->number, number + 1, memory_order_release);
    weft_call_note_set(place, plugin, method);
    return before;
}

/* Notes that the call has returned. */
static inline void weft_call_leave(weft_call_note_t before)
{
    weft_call_note_set(weft_call_place(), before.plugin, before.method);
}

/* Notes that the plugin's method goes into `function`, inside itself. In a thread that is in no
 * call nobody reads it. Returns the method that stood there. */
static inline const char *weft_call_deeper(const char *function)
{
    weft_call_place_t *place = weft_call_place();
    const char *before = atomic_load_explicit(&place->method, memory_order_relaxed);
    atomic_store_explicit(&place->method, function, memory_order_relaxed);
    return before;
}

/* Notes that it is back in `before`. */
static inline void weft_call_back(const char *before)
{
    atomic_store_explicit(&weft_call_place()->method, before, memory_order_relaxed);
}

/* The call that the thread with that id is in; none while that changes. Safe in a signal
 * handler. */
weft_call_note_t weft_call_of_thread(int32_t thread);

/* How long calls have lasted, as one reader sees it who looks now and then. All zero at first. */
#define WEFT_CALL_PLACES 256u
typedef struct weft_call_watch {
    uint64_t number[WEFT_CALL_PLACES];
    uint64_t since[WEFT_CALL_PLACES]; /* first look at this call; 0: none */
    bool told[WEFT_CALL_PLACES];
} weft_call_watch_t;

/* Looks at all threads. Returns the next call, from *index_p on, that has lasted for `long_ns` and
 * was not returned before, and for how long; *index_p begins at 0. False: there is none. */
bool weft_call_watch_next(weft_call_watch_t *watch, uint32_t *index_p, uint64_t now,
                          uint64_t long_ns, weft_call_note_t *note, uint64_t *lasted_ns);
/* Returns whether any thread is in a call. */
bool weft_call_any(void);

#endif
