/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Handles: an entry in a table and the generation of that entry. The table is shared by the
 * process and never shrinks; entries are read without a lock. */
#include "core/comm/handle.h"

#include <stdint.h>

#include "core/base/error.h"
#include "core/comm/progress.h"

#define HANDLES 4096u
#define HANDLE_BITS 12u

typedef struct handle_entry {
    _Atomic uintptr_t handle; /* 0 = free */
    weft_comm_state_t *state;
    uint64_t generation;
} handle_entry_t;

static handle_entry_t entries[HANDLES];
static weft_os_mutex_t entries_lock;

/* The lowest bit keeps a handle from being NULL or an aligned address. */
static uintptr_t handle_make(uint32_t index, uint64_t generation)
{
    return (uintptr_t)(generation << (HANDLE_BITS + 1)) | (uintptr_t)index << 1 | 1u;
}

weft_status_t weft_handle_add(weft_comm_state_t *state, weft_comm_t **handle_p)
{
    weft_os_lock(&entries_lock);
    for (uint32_t i = 0; i < HANDLES; i++) {
        if (atomic_load_explicit(&entries[i].handle, memory_order_relaxed) == 0) {
            uintptr_t handle = handle_make(i, ++entries[i].generation);
            entries[i].state = state;
            state->self.handle = (weft_comm_t *)handle;
            atomic_store_explicit(&entries[i].handle, handle, memory_order_release);
            *handle_p = state->self.handle;
            weft_os_unlock(&entries_lock);
            return WEFT_OK;
        }
    }
    weft_os_unlock(&entries_lock);
    return weft_fail(WEFT_ERR_RESOURCE, 0, "more than %u communicators in one process", HANDLES);
}

static handle_entry_t *handle_find(weft_comm_t *handle)
{
    uintptr_t number = (uintptr_t)handle;
    handle_entry_t *entry = &entries[number >> 1 & (HANDLES - 1)];
    return atomic_load_explicit(&entry->handle, memory_order_acquire) == number ? entry : NULL;
}

static weft_status_t handle_refuse(weft_comm_t *handle, const char *call)
{
    if (handle == NULL) {
        return weft_fail(WEFT_ERR_ARG, 0, "%s: the communicator is NULL", call);
    }
    return weft_fail(WEFT_ERR_STATE, 0, "%s: the communicator was destroyed, or never was one",
                     call);
}

static weft_status_t handle_refuse_fork(const char *call)
{
    return weft_fail(WEFT_ERR_STATE, 0,
                     "%s: the communicator belongs to the process before fork(); create one here",
                     call);
}

weft_status_t weft_comm_enter(weft_comm_t *handle, const char *call, weft_comm_state_t **state_p)
{
    handle_entry_t *entry = handle_find(handle);
    if (handle == NULL || entry == NULL) {
        return handle_refuse(handle, call);
    }
    weft_comm_state_t *state = entry->state;
    if (state->fork_generation != weft_os_fork_generation()) {
        return handle_refuse_fork(call);
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
    bool needed = weft_progress_is_needed(state);
    weft_comm_disown(state);
    if (needed) {
        weft_progress_kick();
    }
}

weft_status_t weft_handle_visit(weft_comm_t *handle, const char *call,
                                void (*visit)(weft_comm_state_t *state, void *arg), void *arg)
{
    weft_status_t status = WEFT_OK;
    weft_os_lock(&entries_lock);
    handle_entry_t *entry = handle_find(handle);
    if (handle == NULL || entry == NULL) {
        status = handle_refuse(handle, call);
    } else if (entry->state->fork_generation != weft_os_fork_generation()) {
        status = handle_refuse_fork(call);
    } else {
        visit(entry->state, arg);
    }
    weft_os_unlock(&entries_lock);
    return status;
}

void weft_handle_remove(weft_comm_t *handle)
{
    weft_os_lock(&entries_lock);
    handle_entry_t *entry = handle_find(handle);
    if (entry != NULL) {
        atomic_store_explicit(&entry->handle, 0, memory_order_release);
        entry->state = NULL;
    }
    weft_os_unlock(&entries_lock);
}

/* Tools ---------------------------------------------------------------------------------------- */

typedef struct kernel_answer {
    weft_kernel_t *kernel;
    const weft_kernel_ops_t *ops;
} kernel_answer_t;

static void handle_copy_kernel(weft_comm_state_t *state, void *arg)
{
    *(kernel_answer_t *)arg =
        (kernel_answer_t){state->self.family->kernel.instance, state->self.family->kernel.ops};
}

const void *weft_comm_kernel(weft_comm_t *comm, const char *extension, weft_kernel_t **kernel_p)
{
    kernel_answer_t answer = {0};
    weft_status_t status = weft_handle_visit(comm, "weft_comm_kernel", handle_copy_kernel, &answer);
    if (status != WEFT_OK || !WEFT_HAS(answer.ops, weft_kernel_ops_t, get_extension)) {
        return NULL;
    }
    *kernel_p = answer.kernel;
    return answer.ops->get_extension(answer.kernel, extension);
}
