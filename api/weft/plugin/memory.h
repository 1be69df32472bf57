/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Extension "weft.kernel.memory/1" of kernel plugins whose combinations work on memory that the host
 * cannot load and store, such as a GPU's. get_extension() of the kernel answers with a
 * weft_kernel_memory_t. The combine functions of such a kernel take host memory as well, in any mixture
 * with its own. */
#ifndef WEFT_PLUGIN_MEMORY_H
#define WEFT_PLUGIN_MEMORY_H

#include <weft/plugin/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_KERNEL_MEMORY "weft.kernel.memory/1"

typedef struct weft_kernel_memory {
    size_t size;

    /* What: allocates zeroed memory of the device, aligned to 256 bytes at least. Failure:
     * ERR_RESOURCE (bytes asked for and free, in the text). Ownership: the core's, until free().
     * Blocks: briefly. Thread: [any]. */
    weft_status_t (*alloc)(weft_kernel_t *kernel, uint64_t bytes, void **memory_p);

    /* What: frees memory from alloc(). Thread: [any]. */
    void (*free)(weft_kernel_t *kernel, void *memory);

    /* What: copies; each side is host memory or the device's. The sides do not overlap, or are the same.
     * What was launched before on either side by this plugin is done first. Failure: ERR_ARG (memory
     * that neither is), ERR_SYSTEM. Blocks: until the bytes are there. Thread: [any]. */
    weft_status_t (*copy)(weft_kernel_t *kernel, void *dst, const void *src, uint64_t bytes);
} weft_kernel_memory_t;

#ifdef __cplusplus
}
#endif
#endif
