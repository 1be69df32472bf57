/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Handles. A weft_comm_t * is no address: it is a place in a table and the generation of that place,
 * so that the use of a destroyed communicator is found. The table is shared by the process and never
 * shrinks; entries are read without a lock. */
#include <stdint.h>

#include "core/base/error.h"
#include "core/comm/comm.h"

#define PLACES 4096u
#define PLACE_BITS 12u

typedef struct place {
    _Atomic uintptr_t handle; /* 0 = free */
    weft_comm_state_t *state;
    uint64_t generation;
} place_t;

static place_t places[PLACES];
static weft_os_mutex_t places_lock;

/* The lowest bit keeps a handle from being NULL or an aligned address. */
static uintptr_t make_handle(uint32_t index, uint64_t generation)
{
    return (uintptr_t)(generation << (PLACE_BITS + 1)) | (uintptr_t)index << 1 | 1u;
}

weft_status_t weft_handle_add(weft_comm_state_t *state, weft_comm_t **handle_p)
{
    weft_os_lock(&places_lock);
    for (uint32_t i = 0; i < PLACES; i++) {
        if (atomic_load_explicit(&places[i].handle, memory_order_relaxed) == 0) {
            uintptr_t handle = make_handle(i, ++places[i].generation);
            places[i].state = state;
            state->handle = (weft_comm_t *)handle;
            atomic_store_explicit(&places[i].handle, handle, memory_order_release);
            *handle_p = state->handle;
            weft_os_unlock(&places_lock);
            return WEFT_OK;
        }
    }
    weft_os_unlock(&places_lock);
    return weft_fail(WEFT_ERR_RESOURCE, 0, "more than %u communicators in one process", PLACES);
}

static place_t *find_place(weft_comm_t *handle)
{
    uintptr_t number = (uintptr_t)handle;
    place_t *place = &places[number >> 1 & (PLACES - 1)];
    return atomic_load_explicit(&place->handle, memory_order_acquire) == number ? place : NULL;
}

static weft_status_t refuse(weft_comm_t *handle, const char *call)
{
    if (handle == NULL) {
        return weft_fail(WEFT_ERR_ARG, 0, "%s: the communicator is NULL", call);
    }
    return weft_fail(WEFT_ERR_STATE, 0, "%s: the communicator was destroyed, or never was one",
                     call);
}

static weft_status_t refuse_fork(const char *call)
{
    return weft_fail(WEFT_ERR_STATE, 0,
                     "%s: the communicator belongs to the process before fork(); create one here",
                     call);
}

weft_status_t weft_comm_enter(weft_comm_t *handle, const char *call, weft_comm_state_t **state_p)
{
    place_t *place = find_place(handle);
    if (handle == NULL || place == NULL) {
        return refuse(handle, call);
    }
    weft_comm_state_t *state = place->state;
    if (state->fork_generation != weft_os_fork_generation()) {
        return refuse_fork(call);
    }
    for (;;) {
        uint32_t owner = OWNER_FREE;
        if (atomic_compare_exchange_strong_explicit(&state->owner, &owner, OWNER_USER,
                                                    memory_order_acquire, memory_order_relaxed)) {
            *state_p = state;
            return WEFT_OK;
        }
        if (owner == OWNER_USER) {
            return weft_fail(WEFT_ERR_STATE, 0,
                             "%s: another thread is inside a call of this "
                             "communicator; use one thread at a time",
                             call);
        }
        weft_os_yield(); /* The progress thread holds it for one round only. */
    }
}

void weft_comm_leave(weft_comm_state_t *state)
{
    atomic_store_explicit(&state->owner, OWNER_FREE, memory_order_release);
}

weft_status_t weft_handle_visit(weft_comm_t *handle, const char *call,
                                void (*visit)(weft_comm_state_t *state, void *arg), void *arg)
{
    weft_status_t status = WEFT_OK;
    weft_os_lock(&places_lock);
    place_t *place = find_place(handle);
    if (handle == NULL || place == NULL) {
        status = refuse(handle, call);
    } else if (place->state->fork_generation != weft_os_fork_generation()) {
        status = refuse_fork(call);
    } else {
        visit(place->state, arg);
    }
    weft_os_unlock(&places_lock);
    return status;
}

void weft_handle_remove(weft_comm_t *handle)
{
    weft_os_lock(&places_lock);
    place_t *place = find_place(handle);
    if (place != NULL) {
        atomic_store_explicit(&place->handle, 0, memory_order_release);
        place->state = NULL;
    }
    weft_os_unlock(&places_lock);
}
