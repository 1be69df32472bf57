/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that a run needs until it has ended. */
#include "lanes_retained.h"

#include "cuda_memory.h"
#include "cuda_pool.h"

lanes_retained_t *lanes_retained_create(const weft_lanes_handle_t *handle)
{
    return handle->kernel->host->alloc(handle->kernel->host, sizeof(lanes_retained_t), 0);
}

void lanes_retained_add(weft_lanes_handle_t *handle, lanes_retained_t *entry, uint64_t run)
{
    entry->run = run;
    entry->next = handle->retained;
    handle->retained = entry;
}

static void retained_free(weft_lanes_handle_t *handle, bool all, uint64_t ended)
{
    weft_kernel_t *kernel = handle->kernel;
    lanes_retained_t **at = &handle->retained;
    while (*at != NULL) {
        lanes_retained_t *entry = *at;
        if (!all && (entry->run == 0 || entry->run > ended)) {
            at = &entry->next;
            continue;
        }
        *at = entry->next;
        cuda_device_free(kernel, entry->device);
        if (entry->visible != NULL) {
            cuda_mapped_free(kernel, entry->visible);
        }
        kernel->host->free(kernel->host, entry);
    }
}

void lanes_retained_reclaim(weft_lanes_handle_t *handle)
{
    if (handle->retained != NULL) {
        retained_free(handle, false, lanes_image_ended(&handle->image, handle->visible));
    }
}

void lanes_retained_release_all(weft_lanes_handle_t *handle)
{
    retained_free(handle, true, 0);
}
