/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Handles: an entry in a table and the generation of that entry. The table is shared by the process and
 * never shrinks; entries are read without a lock. */
#include "core/comm/handle.h"

#include <stdint.h>

#include "core/base/error.h"

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
            state->self.handle = (weft_comm_t *)handle;
            atomic_store_explicit(&places[i].handle, handle, memory_order_release);
            *handle_p = state->self.handle;
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
        uint32_t owner;
        if (weft_comm_own(state, WEFT_OWNER_USER, &owner)) {
            *state_p = state;
            return WEFT_OK;
        }
        if (owner == WEFT_OWNER_USER) {
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
    weft_comm_disown(state);
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

/* Tools -------------------------------------------------------------------------------------------- */

typedef struct kernel_answer {
    weft_kernel_t *kernel;
    const weft_kernel_ops_t *ops;
} kernel_answer_t;

static void copy_kernel(weft_comm_state_t *state, void *arg)
{
    *(kernel_answer_t *)arg =
        (kernel_answer_t){state->self.family->kernel.instance, state->self.family->kernel.ops};
}

const void *weft_comm_kernel(weft_comm_t *comm, const char *extension, weft_kernel_t **kernel_p)
{
    kernel_answer_t answer = {0};
    weft_status_t status = weft_handle_visit(comm, "weft_comm_kernel", copy_kernel, &answer);
    if (status != WEFT_OK || !WEFT_HAS(answer.ops, weft_kernel_ops_t, get_extension)) {
        return NULL;
    }
    *kernel_p = answer.kernel;
    return answer.ops->get_extension(answer.kernel, extension);
}
