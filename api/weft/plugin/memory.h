/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Extension "weft.kernel.memory/1" of kernel plugins that compute on memory that the host cannot
 * load and store, such as a GPU's. The kernel's get_extension() returns a weft_kernel_memory_t. The
 * combine functions of such a kernel accept host memory too, in any mixture with its own. */
#ifndef WEFT_PLUGIN_MEMORY_H
#define WEFT_PLUGIN_MEMORY_H

#include <weft/plugin/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_KERNEL_MEMORY "weft.kernel.memory/1"

typedef struct weft_kernel_memory {
    size_t size;

    /* Allocates zeroed memory of the device, aligned to at least 256 bytes. The core owns it until
     * free().
     * Errors: ERR_RESOURCE (the text says how many bytes were asked for and how many are free).
     * Blocking: briefly. Thread: [any]. */
    weft_status_t (*alloc)(weft_kernel_t *kernel, uint64_t bytes, void **memory_p);

    /* Frees memory from alloc().
     * Blocking: briefly. Thread: [any]. */
    void (*free)(weft_kernel_t *kernel, void *memory);

    /* Copies `bytes` bytes. Each side is host memory or memory of the device. The two sides do not
     * overlap, or are equal. Work that this plugin launched before on either side completes first.
     * Errors: ERR_ARG (memory of neither kind), ERR_SYSTEM.
     * Blocking: until the copy has completed. Thread: [any]. */
    weft_status_t (*copy)(weft_kernel_t *kernel, void *dst, const void *src, uint64_t bytes);
} weft_kernel_memory_t;

#ifdef __cplusplus
}
#endif
#endif
