/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of a communicator: allocation and registration with its transports. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "core/base/error.h"
#include "core/comm/call.h"

/* One registration: a region per transport that registers memory. */
struct weft_mem_region {
    weft_mem_region_t *next;
    weft_net_region_t *region[WEFT_NETS_MAX];
};

weft_status_t weft_comm_copy(const weft_comm_state_t *state, void *dst, const void *src,
                             uint64_t bytes)
{
    if (bytes == 0) {
        return WEFT_OK;
    }
    if (state->family->kernel.memory != NULL) {
        return state->family->kernel.memory->copy(state->family->kernel.instance, dst, src, bytes);
    }
    memmove(dst, src, bytes);
    return WEFT_OK;
}

/* Allocations -------------------------------------------------------------------------------------- */

void weft_comm_release(const weft_comm_state_t *state, const weft_allocation_t *a)
{
    if (a->device && a->memory != NULL) {
        state->family->kernel.memory->free(state->family->kernel.instance, a->memory);
    } else {
        weft_os_pages_free(a->memory, a->bytes);
    }
}

weft_status_t weft_comm_obtain(const weft_comm_state_t *state, const char *what, uint64_t bytes,
                               bool device, weft_allocation_t *a)
{
    *a = (weft_allocation_t){.bytes = bytes > 0 ? (size_t)bytes : 1, .device = device};
    if (device) {
        return state->family->kernel.memory->alloc(state->family->kernel.instance, a->bytes,
                                                   &a->memory);
    }
    a->memory = weft_os_pages(a->bytes);
    return a->memory != NULL
               ? WEFT_OK
               : weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "%s: no %" PRIu64 " bytes", what, bytes);
}

weft_status_t weft_comm_stage(weft_comm_state_t *state, const void *in, uint64_t bytes)
{
    weft_allocation_t *staging = &state->staging;
    weft_status_t status = WEFT_OK;
    if (staging->bytes < bytes) {
        weft_comm_release(state, staging);
        status = weft_comm_obtain(state, "copy of an in-place input", bytes,
                                  state->family->kernel.memory != NULL, staging);
        staging->bytes = status == WEFT_OK ? staging->bytes : 0;
    }
    return status == WEFT_OK ? weft_comm_copy(state, staging->memory, in, bytes) : status;
}

static weft_status_t allocate(weft_comm_state_t *state, const char *call, uint64_t bytes,
                              bool device, void **memory_p)
{
    weft_allocation_t *a = weft_os_alloc(sizeof *a, 0);
    if (a == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "%s: no memory for its record", call);
    }
    weft_status_t status = weft_comm_obtain(state, call, bytes, device, a);
    if (status != WEFT_OK) {
        weft_os_free(a);
        return status;
    }
    a->next = state->allocations;
    state->allocations = a;
    *memory_p = a->memory;
    return WEFT_OK;
}

static weft_status_t allocate_for(weft_comm_t *comm, const char *call, uint64_t bytes, bool device,
                                  void **memory_p)
{
    weft_comm_state_t *state;
    weft_status_t status = weft_comm_enter(comm, call, &state);
    if (status != WEFT_OK) {
        return weft_api_error("memory", status);
    }
    if (memory_p == NULL) {
        status = weft_fail(WEFT_ERR_ARG, 0, "%s: memory_p is NULL", call);
    } else if (device && state->family->kernel.memory == NULL) {
        status = weft_fail(WEFT_ERR_UNSUPPORTED, 0,
                           "%s: kernel %s computes on host memory; load a kernel for a device, or "
                           "use weft_mem_alloc",
                           call, state->family->kernel.loaded->plugin->name);
    } else {
        status = allocate(state, call, bytes, device, memory_p);
    }
    weft_comm_leave(state);
    return status == WEFT_OK ? status : weft_api_error("memory", status);
}

weft_status_t weft_mem_alloc(weft_comm_t *comm, uint64_t bytes, void **memory_p)
{
    return allocate_for(comm, "weft_mem_alloc", bytes, false, memory_p);
}

weft_status_t weft_mem_alloc_device(weft_comm_t *comm, uint64_t bytes, void **memory_p)
{
    return allocate_for(comm, "weft_mem_alloc_device", bytes, true, memory_p);
}

weft_status_t weft_mem_copy(weft_comm_t *comm, void *dst, const void *src, uint64_t bytes)
{
    weft_comm_state_t *state;
    uintptr_t to = (uintptr_t)dst, from = (uintptr_t)src;
    weft_status_t status = weft_comm_enter(comm, "weft_mem_copy", &state);
    if (status != WEFT_OK) {
        return weft_api_error("memory", status);
    }
    if (bytes > 0 && (dst == NULL || src == NULL)) {
        status =
            weft_fail(WEFT_ERR_ARG, 0, "weft_mem_copy: %s is NULL", dst == NULL ? "dst" : "src");
    } else if (bytes > 0 && to < from + bytes && from < to + bytes) {
        status = weft_fail(WEFT_ERR_ARG, 0, "weft_mem_copy: the two areas overlap");
    } else {
        status = weft_comm_copy(state, dst, src, bytes);
    }
    weft_comm_leave(state);
    return status == WEFT_OK ? status : weft_api_error("memory", status);
}

weft_status_t weft_mem_free(weft_comm_t *comm, void *memory)
{
    weft_comm_state_t *state;
    weft_status_t status = weft_comm_enter(comm, "weft_mem_free", &state);
    if (status != WEFT_OK) {
        return weft_api_error("memory", status);
    }
    weft_allocation_t **place = &state->allocations;
    while (*place != NULL && (*place)->memory != memory) {
        place = &(*place)->next;
    }
    weft_allocation_t *found = *place;
    if (found != NULL) {
        *place = found->next;
    } else if (memory != NULL) {
        status = weft_fail(WEFT_ERR_ARG, 0,
                           "weft_mem_free: %p was not allocated by weft_mem_alloc or "
                           "weft_mem_alloc_device of this communicator, or was freed before",
                           memory);
    }
    weft_comm_leave(state);
    /* A device may wait for its streams here, and those for what the engine has to do. */
    if (found != NULL) {
        weft_comm_release(state, found);
        weft_os_free(found);
    }
    return status == WEFT_OK ? status : weft_api_error("memory", status);
}

static void region_free(weft_comm_state_t *state, weft_mem_region_t *region)
{
    for (uint32_t i = 0; i < WEFT_NETS_MAX; i++) {
        if (region->region[i] != NULL) {
            weft_links_dereg(state->links, i, region->region[i]);
        }
    }
    weft_os_free(region);
}

static weft_status_t region_fill(weft_comm_state_t *state, weft_mem_region_t *region, void *memory,
                                 uint64_t bytes)
{
    weft_status_t status = WEFT_OK;
    uint32_t nets = state->links != NULL ? weft_nets_count(state->family->nets) : 0;
    for (uint32_t i = 0; i < nets && status == WEFT_OK; i++) {
        status = weft_links_reg(state->links, i, memory, bytes, &region->region[i]);
    }
    return status;
}

weft_status_t weft_mem_register(weft_comm_t *comm, void *memory, uint64_t bytes,
                                weft_mem_region_t **region_p)
{
    weft_comm_state_t *state;
    weft_status_t status = weft_comm_enter(comm, "weft_mem_register", &state);
    if (status != WEFT_OK) {
        return weft_api_error("memory", status);
    }
    weft_mem_region_t *region = NULL;
    if (memory == NULL || region_p == NULL || bytes == 0) {
        status = weft_fail(WEFT_ERR_ARG, 0, "weft_mem_register: memory, region_p or the size is 0");
    } else {
        region = weft_os_alloc(sizeof *region, 0);
        status = region == NULL ? weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "weft_mem_register")
                                : region_fill(state, region, memory, bytes);
    }
    if (status == WEFT_OK) {
        region->next = state->regions;
        state->regions = region;
        *region_p = region;
    } else if (region != NULL) {
        region_free(state, region);
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
    weft_mem_region_t **place = &state->regions;
    while (*place != NULL && *place != region) {
        place = &(*place)->next;
    }
    if (*place != NULL) {
        *place = region->next;
        region_free(state, region);
    } else if (region != NULL) {
        status = weft_fail(WEFT_ERR_ARG, 0,
                           "weft_mem_deregister: no region of this communicator, or ended before");
    }
    weft_comm_leave(state);
    return status == WEFT_OK ? status : weft_api_error("memory", status);
}

void weft_comm_free_memory(weft_comm_state_t *state)
{
    while (state->regions != NULL) {
        weft_mem_region_t *region = state->regions;
        state->regions = region->next;
        region_free(state, region);
    }
    while (state->allocations != NULL) {
        weft_allocation_t *a = state->allocations;
        state->allocations = a->next;
        weft_comm_release(state, a);
        weft_os_free(a);
    }
    weft_comm_release(state, &state->staging);
}
