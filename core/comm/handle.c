/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Handles: an entry in a table and the generation of that entry. The table is shared by the
 * process and never shrinks; entries are read without a lock. */
#include "core/comm/handle.h"

#include <stdint.h>

#include "core/base/error.h"
#include "core/comm/progress.h"
#include "core/os/os_fork.h"

#define HANDLES 4096u
#define HANDLE_BITS 12u

typedef struct handle_entry {
    _Atomic uintptr_t handle;           /* 0 = free */
    _Atomic(weft_comm_state_t *) state; /* of the last one, if it is free now */
    uint64_t generation;
    _Atomic uint32_t pins; /* threads that look at the state without owning it */
} handle_entry_t;

#define HANDLE_RESERVED UINTPTR_MAX /* no communicator has this number */

static handle_entry_t entries[HANDLES];
static uint32_t entries_used; /* all entries behind these were never used */
static void handle_forked(bool held);
/* Guards which entries are free. */
static weft_os_process_mutex_t entries_lock = {.forked = handle_forked};

/* An entry is valid at every moment of a change; the threads that looked at its state are gone. */
static void handle_forked(bool held)
{
    (void)held;
    for (uint32_t i = 0; i < entries_used; i++) {
        atomic_store_explicit(&entries[i].pins, 0, memory_order_relaxed);
    }
}

/* The lowest bit keeps a handle from being NULL or an aligned address. */
static uintptr_t handle_make(uint32_t index, uint64_t generation)
{
    return (uintptr_t)(generation << (HANDLE_BITS + 1)) | (uintptr_t)index << 1 | 1u;
}

/* A thread that waits in another communicator may own it, for a moment: wanted_links.h. */
static void handle_write_word(weft_comm_state_t *state)
{
    const uint64_t word = (uint64_t)(uintptr_t)state->self.handle << WEFT_OWNER_BITS;
    uint64_t none = 0;
    uint32_t turns = 0;
    while (!atomic_compare_exchange_weak_explicit(&state->owner, &none, word, memory_order_acq_rel,
                                                  memory_order_relaxed)) {
        none = 0;
        weft_os_give_way(&turns);
    }
}

/* Reserves a free entry. Returns its number, or HANDLES. */
static uint32_t handle_reserve(void)
{
    uint32_t i = 0;
    weft_os_process_lock(&entries_lock);
    while (i < HANDLES && atomic_load_explicit(&entries[i].handle, memory_order_relaxed) != 0) {
        i++;
    }
    if (i < HANDLES) {
        entries[i].generation++;
        entries_used = i < entries_used ? entries_used : i + 1;
        atomic_store_explicit(&entries[i].handle, HANDLE_RESERVED, memory_order_relaxed);
    }
    weft_os_process_unlock(&entries_lock);
    return i;
}

/* The caller does not own the communicator. */
weft_status_t weft_handle_add(weft_comm_state_t *state, weft_comm_t **handle_p)
{
    const uint32_t i = handle_reserve();
    if (i == HANDLES) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "more than %u communicators in one process",
                         HANDLES);
    }
    const uintptr_t handle = handle_make(i, entries[i].generation);
    state->self.handle = (weft_comm_t *)handle;
    handle_write_word(state);
    atomic_store_explicit(&entries[i].state, state, memory_order_release);
    atomic_store_explicit(&entries[i].handle, handle, memory_order_release);
    *handle_p = state->self.handle;
    return WEFT_OK;
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

/* Tries once to take a communicator of a pinned entry. While *waits_p is set it counts this thread
 * among those that want it. OK and NULL in *state_p: the progress thread has it, for one round
 * only, or a thread that waits for a request. */
static weft_status_t handle_take(weft_comm_state_t *state, const char *call, bool *waits_p,
                                 weft_comm_state_t **state_p)
{
    uint32_t owner;
    if (state->fork_generation != weft_os_fork_generation()) {
        return handle_refuse_fork(call);
    }
    const bool owned = weft_comm_own(state, WEFT_OWNER_USER, &owner);
    const bool again = !owned && owner != WEFT_OWNER_USER;
    if (again != *waits_p) {
        atomic_fetch_add_explicit(&state->wanted, again ? 1 : UINT32_MAX, memory_order_relaxed);
        *waits_p = again;
    }
    *state_p = owned ? state : NULL;
    return owned || again
               ? WEFT_OK
               : weft_fail(WEFT_ERR_STATE, 0,
                           "%s: this communicator is inside another call; use one thread at a "
                           "time, no call from a user operator, and leave calls by their return "
                           "alone",
                           call);
}

/* Takes a communicator that is not free, or says why that cannot be. The entry is pinned for
 * moments only: a thread that is cancelled while it sleeps keeps nobody from destroying the
 * communicator. */
static weft_status_t handle_enter_slowly(weft_comm_t *handle, const char *call,
                                         weft_comm_state_t **state_p)
{
    handle_entry_t *entry = NULL;
    weft_status_t status = WEFT_OK;
    uint32_t turns = 0;
    bool waits = false;
    *state_p = NULL;
    while (handle != NULL && (entry = handle_find(handle)) != NULL) {
        atomic_fetch_add_explicit(&entry->pins, 1, memory_order_seq_cst);
        const bool there =
            atomic_load_explicit(&entry->handle, memory_order_seq_cst) == (uintptr_t)handle;
        status = there ? handle_take(entry->state, call, &waits, state_p) : WEFT_OK;
        atomic_fetch_sub_explicit(&entry->pins, 1, memory_order_release);
        if (*state_p != NULL || status != WEFT_OK) {
            return status;
        }
        if (there) {
            weft_os_give_way(&turns);
        }
    }
    return handle_refuse(handle, call);
}

/* The state stays while the entry is pinned: weft_handle_remove() waits. Sequentially consistent
 * with it: it sees the pin, or this that the handle is gone. */
weft_status_t weft_comm_try_enter(weft_comm_t *handle, const char *call,
                                  weft_comm_state_t **state_p)
{
    uintptr_t number = (uintptr_t)handle;
    handle_entry_t *entry = &entries[number >> 1 & (HANDLES - 1)];
    weft_status_t status = WEFT_OK;
    uint32_t owner;
    *state_p = NULL;
    atomic_fetch_add_explicit(&entry->pins, 1, memory_order_seq_cst);
    if (atomic_load_explicit(&entry->handle, memory_order_seq_cst) == number) {
        weft_comm_state_t *state = entry->state;
        if (state->fork_generation != weft_os_fork_generation()) {
            status = handle_refuse_fork(call);
        } else if (!weft_comm_is_wanted(state) && weft_comm_own(state, WEFT_OWNER_WAITER, &owner)) {
            *state_p = state;
        }
    }
    atomic_fetch_sub_explicit(&entry->pins, 1, memory_order_release);
    return status;
}

weft_status_t weft_comm_enter(weft_comm_t *handle, const char *call, weft_comm_state_t **state_p)
{
    const handle_entry_t *entry = handle_find(handle);
    uint32_t owner;
    weft_comm_state_t *state =
        entry != NULL ? atomic_load_explicit(&entry->state, memory_order_acquire) : NULL;
    if (handle != NULL && state != NULL && weft_comm_own_by_handle(state, handle, &owner)) {
        if (state->fork_generation == weft_os_fork_generation_again()) {
            *state_p = state;
            return WEFT_OK;
        }
        weft_comm_disown(state);
    }
    return handle_enter_slowly(handle, call, state_p);
}

void weft_comm_leave(weft_comm_state_t *state)
{
    const weft_progress_need_t need = weft_progress_need(state);
    weft_comm_disown(state);
    if (need != WEFT_PROGRESS_NOTHING) {
        weft_progress_kick(need);
    }
}

weft_status_t weft_handle_visit(weft_comm_t *handle, const char *call,
                                void (*visit)(weft_comm_state_t *state, void *arg), void *arg)
{
    weft_status_t status = WEFT_OK;
    weft_os_process_lock(&entries_lock);
    handle_entry_t *entry = handle_find(handle);
    if (handle == NULL || entry == NULL) {
        status = handle_refuse(handle, call);
    } else if (entry->state->fork_generation != weft_os_fork_generation()) {
        status = handle_refuse_fork(call);
    } else {
        visit(entry->state, arg);
    }
    weft_os_process_unlock(&entries_lock);
    return status;
}

void weft_handle_remove(weft_comm_t *handle)
{
    weft_os_process_lock(&entries_lock);
    handle_entry_t *entry = handle_find(handle);
    if (entry != NULL) {
        uint32_t turns = 0;
        atomic_store_explicit(&entry->handle, 0, memory_order_seq_cst);
        while (atomic_load_explicit(&entry->pins, memory_order_seq_cst) != 0) {
            weft_os_give_way(&turns);
        }
    }
    weft_os_process_unlock(&entries_lock);
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

weft_status_t weft_comm_holdings(weft_comm_t *comm, weft_holdings_t *holdings)
{
    weft_comm_state_t *state;
    weft_status_t status = weft_comm_enter(comm, "weft_comm_holdings", &state);
    if (status != WEFT_OK) {
        return status;
    }
    weft_holdings_take(state, holdings);
    weft_comm_leave(state);
    return WEFT_OK;
}
