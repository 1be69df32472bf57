/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that a run needs until it has ended. The handle of the program owns it. */
#ifndef KERNEL_CUDA_LANES_RETAINED_H
#define KERNEL_CUDA_LANES_RETAINED_H

#include "lanes_types.h"

struct lanes_retained {
    lanes_retained_t *next;
    void *device, *visible; /* one of them */
    uint64_t run;           /* 0: until the handle is released */
};

/* Creates an entry for memory that a run retains. lanes_retained_add() gives it to the handle.
 * Returns NULL, error recorded, on failure. */
lanes_retained_t *lanes_retained_create(const weft_lanes_handle_t *handle);
void lanes_retained_add(weft_lanes_handle_t *handle, lanes_retained_t *entry, uint64_t run);

/* Frees the memory that no run needs any more; frees all of it. */
void lanes_retained_reclaim(weft_lanes_handle_t *handle);
void lanes_retained_release_all(weft_lanes_handle_t *handle);

#endif
