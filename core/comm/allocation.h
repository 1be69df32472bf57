/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of the host or of the kernel's device: allocated, kept for the user, copied. */
#ifndef WEFT_COMM_ALLOCATION_H
#define WEFT_COMM_ALLOCATION_H

#include "core/comm/family.h"

typedef struct weft_allocation {
    struct weft_allocation *next;
    void *memory;
    size_t bytes;
    bool device; /* the kernel's memory */
} weft_allocation_t;

/* The allocations of one communicator. */
typedef struct weft_allocations {
    weft_allocation_t *list; /* the user's */
    /* Of the collective that runs: its input, if the plan cannot run in place, or both buffers of
     * fused calls. */
    weft_allocation_t staging;
} weft_allocations_t;

/* Allocates memory of the host or, with `device`, of the kernel. `purpose` begins the error text.
 * `family` may be NULL for memory of the host, here and below.
 * ERR_RESOURCE, or the kernel's failure. */
weft_status_t weft_allocation_init(const weft_family_t *family, const char *purpose, uint64_t bytes,
                                   bool device, weft_allocation_t *allocation);
/* Frees the memory. A device may wait for its streams here. */
void weft_allocation_fini(const weft_family_t *family, const weft_allocation_t *allocation);

/* As weft_allocation_init(), and keeps it for the user. */
weft_status_t weft_allocations_add(weft_allocations_t *allocations, const weft_family_t *family,
                                   const char *call, uint64_t bytes, bool device, void **memory_p);
/* Returns the allocation of that memory; NULL: there is none. */
weft_allocation_t *weft_allocations_find(const weft_allocations_t *allocations, const void *memory);
/* Takes the allocation of that memory out of the list, which the caller frees; NULL: there is
 * none. */
weft_allocation_t *weft_allocations_remove(weft_allocations_t *allocations, const void *memory);
/* Frees everything that the user did not free. */
void weft_allocations_fini(weft_allocations_t *allocations, const weft_family_t *family);

/* Makes allocations->staging that large at least; what is in it is lost. ERR_RESOURCE, or the
 * kernel's failure. */
weft_status_t weft_allocations_reserve(weft_allocations_t *allocations, const weft_family_t *family,
                                       uint64_t bytes);
/* Copies an input to allocations->staging. ERR_RESOURCE, or the kernel's failure. */
weft_status_t weft_allocations_stage(weft_allocations_t *allocations, const weft_family_t *family,
                                     const void *in, uint64_t bytes);

/* Copies between memory of any kind. The kernel's failure. */
weft_status_t weft_memory_copy(const weft_family_t *family, void *dst, const void *src,
                               uint64_t bytes);

#endif
