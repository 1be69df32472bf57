/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of a communicator: allocation and registration with its transports. */
#include <errno.h>
#include <inttypes.h>

#include "core/base/error.h"
#include "core/comm/call.h"

/* One registration: a region per transport that registers memory. */
struct weft_region {
    weft_region_t *next;
    weft_net_region_t *region[WEFT_NETS_MAX];
};

weft_status_t weft_mem_alloc(weft_comm_t *comm, uint64_t bytes, void **memory_p)
{
    weft_comm_state_t *state;
    weft_status_t status = weft_comm_enter(comm, "weft_mem_alloc", &state);
    if (status != WEFT_OK) {
        return weft_api_error("memory", status);
    }
    weft_allocation_t *a = NULL;
    if (memory_p == NULL) {
        status = weft_fail(WEFT_ERR_ARG, 0, "weft_mem_alloc: memory_p is NULL");
    } else {
        a = weft_os_alloc(sizeof *a, 0);
        size_t size = bytes > 0 ? (size_t)bytes : 1;
        void *memory = a != NULL ? weft_os_pages(size) : NULL;
        if (memory == NULL) {
            weft_os_free(a);
            status =
                weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "weft_mem_alloc: no %" PRIu64 " bytes", bytes);
        } else {
            *a = (weft_allocation_t){.next = state->allocations, .memory = memory, .bytes = size};
            state->allocations = a;
            *memory_p = memory;
        }
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
    if (*place != NULL) {
        weft_allocation_t *a = *place;
        *place = a->next;
        weft_os_pages_free(a->memory, a->bytes);
        weft_os_free(a);
    } else if (memory != NULL) {
        status = weft_fail(WEFT_ERR_ARG, 0,
                           "weft_mem_free: %p was not allocated by weft_mem_alloc of this "
                           "communicator, or was freed before",
                           memory);
    }
    weft_comm_leave(state);
    return status == WEFT_OK ? status : weft_api_error("memory", status);
}

static void region_free(weft_comm_state_t *state, weft_region_t *region)
{
    for (uint32_t i = 0; i < WEFT_NETS_MAX; i++) {
        if (region->region[i] != NULL) {
            weft_links_dereg(state->links, i, region->region[i]);
        }
    }
    weft_os_free(region);
}

static weft_status_t region_fill(weft_comm_state_t *state, weft_region_t *region, void *memory,
                                 uint64_t bytes)
{
    weft_status_t status = WEFT_OK;
    uint32_t nets = state->links != NULL ? weft_nets_count(state->family->nets) : 0;
    for (uint32_t i = 0; i < nets && status == WEFT_OK; i++) {
        status = weft_links_reg(state->links, i, memory, bytes, &region->region[i]);
    }
    return status;
}

weft_status_t weft_register(weft_comm_t *comm, void *memory, uint64_t bytes,
                            weft_region_t **region_p)
{
    weft_comm_state_t *state;
    weft_status_t status = weft_comm_enter(comm, "weft_register", &state);
    if (status != WEFT_OK) {
        return weft_api_error("memory", status);
    }
    weft_region_t *region = NULL;
    if (memory == NULL || region_p == NULL || bytes == 0) {
        status = weft_fail(WEFT_ERR_ARG, 0, "weft_register: memory, region_p or the size is 0");
    } else {
        region = weft_os_alloc(sizeof *region, 0);
        status = region == NULL ? weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "weft_register")
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

weft_status_t weft_deregister(weft_comm_t *comm, weft_region_t *region)
{
    weft_comm_state_t *state;
    weft_status_t status = weft_comm_enter(comm, "weft_deregister", &state);
    if (status != WEFT_OK) {
        return weft_api_error("memory", status);
    }
    weft_region_t **place = &state->regions;
    while (*place != NULL && *place != region) {
        place = &(*place)->next;
    }
    if (*place != NULL) {
        *place = region->next;
        region_free(state, region);
    } else if (region != NULL) {
        status = weft_fail(WEFT_ERR_ARG, 0,
                           "weft_deregister: no region of this communicator, or ended before");
    }
    weft_comm_leave(state);
    return status == WEFT_OK ? status : weft_api_error("memory", status);
}

void weft_comm_free_memory(weft_comm_state_t *state)
{
    while (state->regions != NULL) {
        weft_region_t *region = state->regions;
        state->regions = region->next;
        region_free(state, region);
    }
    while (state->allocations != NULL) {
        weft_allocation_t *a = state->allocations;
        state->allocations = a->next;
        weft_os_pages_free(a->memory, a->bytes);
        weft_os_free(a);
    }
}
