/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Entry points for memory: allocation, copies, registration. */
#include "core/base/error.h"
#include "core/comm/args_check.h"
#include "core/comm/call.h"
#include "core/comm/group.h"
#include "core/comm/handle.h"
#include "core/comm/registration.h"
#include "core/os/os_fork.h"

/* Allocation ----------------------------------------------------------------------------------- */

static weft_status_t memory_allocate(weft_comm_t *comm, const char *call, uint64_t bytes,
                                     bool device, void **memory_p)
{
    weft_comm_state_t *state;
    weft_status_t status = weft_comm_enter(comm, call, &state);
    if (status != WEFT_OK) {
        return weft_api_error("memory", status);
    }
    if (memory_p == NULL) {
        status = weft_fail(WEFT_ERR_ARG, 0, "%s: memory_p is NULL", call);
    } else if (device && state->self.family->kernel.memory == NULL) {
        status = weft_fail(WEFT_ERR_UNSUPPORTED, 0,
                           "%s: kernel %s computes on host memory; load a kernel for a device, or "
                           "use weft_mem_alloc",
                           call, state->self.family->kernel.loaded->plugin->name);
    } else {
        status = weft_allocations_add(&state->allocations, state->self.family, call, bytes, device,
                                      memory_p);
    }
    weft_comm_leave(state);
    return status == WEFT_OK ? status : weft_api_error("memory", status);
}

/* Memory without a communicator. Static, since it belongs to the process: weft.h promises it. */
static weft_allocations_t process_memory;
static void memory_forked(bool held);
static weft_os_process_mutex_t process_lock = {.forked = memory_forked}; /* guards it */

/* A child may free what it has of its parent's memory, unless a thread was changing the list. */
static void memory_forked(bool held)
{
    if (held) {
        process_memory = (weft_allocations_t){.list = NULL};
    }
}

static weft_status_t memory_allocate_process(uint64_t bytes, void **memory_p)
{
    weft_os_process_lock(&process_lock);
    weft_status_t status =
        memory_p == NULL
            ? weft_fail(WEFT_ERR_ARG, 0, "weft_mem_alloc: memory_p is NULL")
            : weft_allocations_add(&process_memory, NULL, "weft_mem_alloc", bytes, false, memory_p);
    weft_os_process_unlock(&process_lock);
    return status == WEFT_OK ? status : weft_api_error("memory", status);
}

weft_status_t weft_mem_alloc(weft_comm_t *comm, uint64_t bytes, void **memory_p)
{
    return comm == NULL ? memory_allocate_process(bytes, memory_p)
                        : memory_allocate(comm, "weft_mem_alloc", bytes, false, memory_p);
}

weft_status_t weft_mem_alloc_device(weft_comm_t *comm, uint64_t bytes, void **memory_p)
{
    return memory_allocate(comm, "weft_mem_alloc_device", bytes, true, memory_p);
}

static weft_status_t memory_check_copy(const void *dst, const void *src, uint64_t bytes)
{
    uintptr_t to = (uintptr_t)dst, from = (uintptr_t)src;
    if (bytes == 0) {
        return WEFT_OK;
    }
    if (dst == NULL || src == NULL) {
        return weft_fail(WEFT_ERR_ARG, 0, "weft_mem_copy: %s is NULL", dst == NULL ? "dst" : "src");
    }
    if (weft_memory_wraps(dst, bytes) || weft_memory_wraps(src, bytes)) {
        return weft_fail(WEFT_ERR_ARG, 0, "weft_mem_copy: %s wraps around the address space",
                         weft_memory_wraps(dst, bytes) ? "dst" : "src");
    }
    if (to < from + bytes && from < to + bytes) {
        return weft_fail(WEFT_ERR_ARG, 0, "weft_mem_copy: the two areas overlap");
    }
    return WEFT_OK;
}

weft_status_t weft_mem_copy(weft_comm_t *comm, void *dst, const void *src, uint64_t bytes)
{
    weft_comm_state_t *state;
    weft_status_t status = weft_comm_enter(comm, "weft_mem_copy", &state);
    if (status != WEFT_OK) {
        return weft_api_error("memory", status);
    }
    status = memory_check_copy(dst, src, bytes);
    if (status == WEFT_OK) {
        status = weft_memory_copy(state->self.family, dst, src, bytes);
    }
    weft_comm_leave(state);
    return status == WEFT_OK ? status : weft_api_error("memory", status);
}

static weft_status_t memory_refuse_unknown(const void *memory, const char *whose)
{
    return weft_fail(WEFT_ERR_ARG, 0,
                     "weft_mem_free: %p was not allocated by weft_mem_alloc or "
                     "weft_mem_alloc_device %s, or was freed before",
                     memory, whose);
}

static void memory_free_found(const weft_family_t *family, weft_allocation_t *found)
{
    if (found != NULL) {
        weft_allocation_fini(family, found);
        weft_os_free(found);
    }
}

static weft_status_t memory_free_process(void *memory)
{
    weft_os_process_lock(&process_lock);
    weft_allocation_t *found = weft_allocations_remove(&process_memory, memory);
    weft_os_process_unlock(&process_lock);
    weft_status_t status = found == NULL && memory != NULL
                               ? memory_refuse_unknown(memory, "without a communicator")
                               : WEFT_OK;
    memory_free_found(NULL, found);
    return status == WEFT_OK ? status : weft_api_error("memory", status);
}

static bool memory_is_touched(const weft_allocation_t *a, const void *buffer, uint64_t bytes)
{
    const uintptr_t start = (uintptr_t)a->memory, at = (uintptr_t)buffer;
    return bytes > 0 && at < start + a->bytes && start < at + bytes;
}

static bool memory_is_used(const weft_allocation_t *a, const weft_request_t *request)
{
    return memory_is_touched(a, request->args.send, request->args.send_bytes) ||
           memory_is_touched(a, request->args.recv, request->args.recv_bytes);
}

static const weft_request_t *memory_find_user(const weft_request_t *list,
                                              const weft_allocation_t *a)
{
    while (list != NULL && !memory_is_used(a, list)) {
        list = list->next;
    }
    return list;
}

static const weft_request_t *memory_find_message(const weft_p2p_t *p2p, const weft_allocation_t *a)
{
    const weft_request_t *user = memory_find_user(p2p->held_first, a);
    for (uint32_t i = 0; i < p2p->nactive && user == NULL; i++) {
        user = memory_find_user(p2p->queues[p2p->active[i]].first, a);
    }
    return user;
}

/* Of the group that this thread has open. */
static const weft_request_t *memory_find_noted(const weft_comm_t *comm, const weft_allocation_t *a)
{
    const weft_group_note_t *note = weft_group_notes();
    while (note != NULL && (note->comm != comm || !memory_is_used(a, note->request))) {
        note = note->next;
    }
    return note != NULL ? note->request : NULL;
}

/* The memory stays if an operation of the communicator has begun with it, waits for its turn, or is
 * recorded in a group. */
static weft_status_t memory_take_out(weft_comm_state_t *state, const void *memory,
                                     weft_allocation_t **found_p)
{
    const weft_allocation_t *a = weft_allocations_find(&state->allocations, memory);
    if (a == NULL) {
        return memory != NULL ? memory_refuse_unknown(memory, "of this communicator") : WEFT_OK;
    }
    const weft_request_t *user = memory_find_user(state->queue.first, a);
    user = user == NULL ? memory_find_message(&state->p2p, a) : user;
    if (user == NULL && state->windows.puts != NULL) {
        user = memory_find_message(&state->windows.puts->p2p, a);
    }
    const bool noted = user == NULL;
    user = noted ? memory_find_noted(state->self.handle, a) : user;
    if (user != NULL) {
        return weft_fail(
            WEFT_ERR_STATE, 0, "weft_mem_free: %p is in use by a %s that is not complete; %s first",
            memory, weft_args_call(&user->args), noted ? "end the group" : "wait for it");
    }
    *found_p = weft_allocations_remove(&state->allocations, memory);
    return WEFT_OK;
}

weft_status_t weft_mem_free(weft_comm_t *comm, void *memory)
{
    weft_comm_state_t *state;
    if (comm == NULL) {
        return memory_free_process(memory);
    }
    weft_status_t status = weft_comm_enter(comm, "weft_mem_free", &state);
    if (status != WEFT_OK) {
        return weft_api_error("memory", status);
    }
    const weft_family_t *family = state->self.family;
    weft_allocation_t *found = NULL;
    status = memory_take_out(state, memory, &found);
    weft_comm_leave(state);
    /* A device may wait for its streams here, and those for the engine. */
    memory_free_found(family, found);
    return status == WEFT_OK ? status : weft_api_error("memory", status);
}

/* Registration --------------------------------------------------------------------------------- */

static weft_status_t memory_check_region(const void *memory, uint64_t bytes,
                                         weft_mem_region_t **region_p)
{
    if (memory == NULL || region_p == NULL || bytes == 0) {
        return weft_fail(WEFT_ERR_ARG, 0, "weft_mem_register: %s",
                         memory == NULL     ? "memory is NULL"
                         : region_p == NULL ? "region_p is NULL"
                                            : "bytes is 0");
    }
    if (weft_memory_wraps(memory, bytes)) {
        return weft_fail(WEFT_ERR_ARG, 0,
                         "weft_mem_register: the memory wraps around the address space");
    }
    return WEFT_OK;
}

weft_status_t weft_mem_register(weft_comm_t *comm, void *memory, uint64_t bytes,
                                weft_mem_region_t **region_p)
{
    weft_comm_state_t *state;
    weft_status_t status = weft_comm_enter(comm, "weft_mem_register", &state);
    if (status != WEFT_OK) {
        return weft_api_error("memory", status);
    }
    status = memory_check_region(memory, bytes, region_p);
    if (status == WEFT_OK) {
        uint32_t transports =
            state->links != NULL ? weft_transports_count(state->self.family->transports) : 0;
        status = weft_registration_add(&state->regions, state->links, transports, memory, bytes,
                                       region_p);
    }
    weft_comm_leave(state);
    return status == WEFT_OK ? status : weft_api_error("memory", status);
}

weft_status_t weft_mem_deregister(weft_comm_t *comm, weft_mem_region_t *region)
{
    weft_comm_state_t *state;
    weft_status_t status = weft_comm_enter(comm, "weft_mem_deregister", &state);
    if (status != WEFT_OK) {
        return weft_api_error("memory", status);
    }
    if (region != NULL && !weft_registration_remove(&state->regions, state->links, region)) {
        status = weft_fail(WEFT_ERR_ARG, 0,
                           "weft_mem_deregister: no region of this communicator, or ended before");
    }
    weft_comm_leave(state);
    return status == WEFT_OK ? status : weft_api_error("memory", status);
}
