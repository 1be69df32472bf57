/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Extension "weft.kernel.direct/1" of kernel plugins whose devices have memory that a network adapter can
 * read and write: the slots of a port that carries messages then lie there, and no payload goes through the
 * host. get_extension() of the kernel answers with a weft_kernel_direct_t. Such a kernel has
 * weft.kernel.memory/1 too: this memory is as that is for its copy(). */
#ifndef WEFT_PLUGIN_DIRECT_H
#define WEFT_PLUGIN_DIRECT_H

#include <weft/plugin/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_KERNEL_DIRECT "weft.kernel.direct/1"
#define WEFT_DIRECT_BUS 32 /* bytes for an address on the PCI bus, with the zero byte */

typedef struct weft_kernel_direct {
    size_t size;

    /* What: says whether adapters may use memory of this device at all, and where it is on the bus: "0000:3b:00.0",
     * lower case, empty if unknown. Failure: ERR_UNSUPPORTED, and the text says why. Blocks: briefly.
     * Thread: [any]. */
    weft_status_t (*place)(weft_kernel_t *kernel, char bus[WEFT_DIRECT_BUS]);

    /* What: allocates whole pages of the device's memory, zeroed. Failure: ERR_RESOURCE, ERR_SYSTEM.
     * Ownership: the core's, until free(). Blocks: briefly. Thread: [any]. */
    weft_status_t (*alloc)(weft_kernel_t *kernel, uint64_t bytes, void **memory_p);
    /* What: frees it. No adapter has it registered any more, and no run uses it. Thread: [any]. */
    void (*free)(weft_kernel_t *kernel, void *memory);

    /* What: gives out a dma-buf of memory from alloc(); the memory begins at byte *offset_p of it.
     * Failure: ERR_UNSUPPORTED (the driver has none; the text says why), ERR_RESOURCE, ERR_SYSTEM.
     * Ownership: the descriptor is the caller's to close; the memory outlives it. Blocks: briefly.
     * Thread: [any]. */
    weft_status_t (*dmabuf)(weft_kernel_t *kernel, void *memory, uint64_t bytes, int *fd_p,
                            uint64_t *offset_p);

    /* What: makes what adapters had written before the call visible to this device, to runs under way as
     * well. Failure: ERR_SYSTEM. Blocks: for as long as a read of the device takes. Thread: [progress]. */
    weft_status_t (*flush)(weft_kernel_t *kernel);
} weft_kernel_direct_t;

#ifdef __cplusplus
}
#endif
#endif
