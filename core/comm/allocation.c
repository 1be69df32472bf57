/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of the host or of the kernel's device. */
#include "core/comm/allocation.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <weft/sdk/memory_available.h>

#include "core/base/error.h"
#include "core/exec/arena.h"

weft_status_t weft_memory_copy(const weft_family_t *family, void *dst, const void *src,
                               uint64_t bytes)
{
    if (bytes == 0) {
        return WEFT_OK;
    }
    if (family->kernel.memory != NULL) {
        return family->kernel.memory->copy(family->kernel.instance, dst, src, bytes);
    }
    memmove(dst, src, bytes);
    return WEFT_OK;
}

void weft_allocation_fini(const weft_family_t *family, const weft_allocation_t *a)
{
    if (a->device && a->memory != NULL) {
        family->kernel.memory->free(family->kernel.instance, a->memory);
    } else if (a->memory != NULL && !weft_arena_free(a->memory)) {
        weft_os_pages_free(a->memory, a->bytes);
    }
}

/* From this size on the arena takes pages at once, and the system ends a process for which it has
 * none. Ranks that allocate one after the other see what the others took. */
#define ALLOCATION_LARGE WEFT_OS_HUGE_PAGE

static weft_status_t allocation_check_room(const char *purpose, uint64_t bytes)
{
    uint64_t available = bytes >= ALLOCATION_LARGE ? weft_memory_available() : UINT64_MAX;
    if (bytes <= available) {
        return WEFT_OK;
    }
    return weft_fail(WEFT_ERR_RESOURCE, ENOMEM,
                     "%s: %" PRIu64 " bytes wanted, and %" PRIu64
                     " are available to this process (MemAvailable of /proc/meminfo, and the "
                     "limits of its control groups)",
                     purpose, bytes, available);
}

weft_status_t weft_allocation_init(const weft_family_t *family, const char *purpose, uint64_t bytes,
                                   bool device, weft_allocation_t *a)
{
    *a = (weft_allocation_t){.bytes = bytes > 0 ? (size_t)bytes : 1, .device = device};
    if (device) {
        return family->kernel.memory->alloc(family->kernel.instance, a->bytes, &a->memory);
    }
    weft_status_t status = allocation_check_room(purpose, a->bytes);
    if (status != WEFT_OK) {
        return status;
    }
    /* Kernels of devices register host memory as they like, and read no other process's. */
    if ((family == NULL || family->kernel.memory == NULL) &&
        weft_arena_alloc(a->bytes, &a->memory)) {
        return WEFT_OK;
    }
    a->memory = weft_os_pages(a->bytes);
    return a->memory != NULL
               ? WEFT_OK
               : weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "%s: no %" PRIu64 " bytes", purpose, bytes);
}

weft_status_t weft_allocations_reserve(weft_allocations_t *allocations, const weft_family_t *family,
                                       uint64_t bytes)
{
    weft_allocation_t *staging = &allocations->staging;
    weft_status_t status = WEFT_OK;
    if (staging->bytes < bytes) {
        weft_allocation_fini(family, staging);
        status = weft_allocation_init(family, "copy of an input", bytes,
                                      family->kernel.memory != NULL, staging);
        staging->bytes = status == WEFT_OK ? staging->bytes : 0;
    }
    return status;
}

weft_status_t weft_allocations_stage(weft_allocations_t *allocations, const weft_family_t *family,
                                     const void *in, uint64_t bytes)
{
    weft_status_t status = weft_allocations_reserve(allocations, family, bytes);
    return status == WEFT_OK ? weft_memory_copy(family, allocations->staging.memory, in, bytes)
                             : status;
}

weft_status_t weft_allocations_add(weft_allocations_t *allocations, const weft_family_t *family,
                                   const char *call, uint64_t bytes, bool device, void **memory_p)
{
    weft_allocation_t *a = weft_os_alloc(sizeof *a, 0);
    if (a == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "%s: no memory for its record", call);
    }
    weft_status_t status = weft_allocation_init(family, call, bytes, device, a);
    if (status != WEFT_OK) {
        weft_os_free(a);
        return status;
    }
    a->next = allocations->list;
    allocations->list = a;
    *memory_p = a->memory;
    return WEFT_OK;
}

weft_allocation_t *weft_allocations_find(const weft_allocations_t *allocations, const void *memory)
{
    weft_allocation_t *a = allocations->list;
    while (a != NULL && a->memory != memory) {
        a = a->next;
    }
    return a;
}

weft_allocation_t *weft_allocations_remove(weft_allocations_t *allocations, const void *memory)
{
    weft_allocation_t **position = &allocations->list;
    while (*position != NULL && (*position)->memory != memory) {
        position = &(*position)->next;
    }
    weft_allocation_t *found = *position;
    if (found != NULL) {
        *position = found->next;
    }
    return found;
}

void weft_allocations_fini(weft_allocations_t *allocations, const weft_family_t *family)
{
    while (allocations->list != NULL) {
        weft_allocation_t *a = allocations->list;
        allocations->list = a->next;
        weft_allocation_fini(family, a);
        weft_os_free(a);
    }
    weft_allocation_fini(family, &allocations->staging);
}
