/* SPDX-License-Identifier: BSD-3-Clause
 *
 * DRAFT, version 0: this extension changes without notice, and no compatibility is promised. It
 * becomes stable when a second plugin implements it and both have run on devices.
 *
 * Extension "draft.weft.kernel.gpudirect/0" of kernel plugins whose devices have memory that a
 * network adapter reads and writes (GPUDirect RDMA). The core then puts the slots of a port that
 * carries messages into the device, and no payload goes through the host. The kernel's
 * get_extension() returns a weft_kernel_gpudirect_t. Such a kernel has "weft.kernel.memory/1" as
 * well, and its copy() accepts memory from alloc() below. */
#ifndef WEFT_PLUGIN_DRAFT_GPUDIRECT_H
#define WEFT_PLUGIN_DRAFT_GPUDIRECT_H

#include <stdbool.h>

#include <weft/plugin/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_KERNEL_GPUDIRECT "draft.weft.kernel.gpudirect/0"
#define WEFT_GPUDIRECT_BUS_BYTES 32 /* PCI address with the terminating zero byte */

typedef struct weft_kernel_gpudirect {
    size_t size;

    /* Tells whether adapters may use memory of this device, and writes the device's PCI address,
     * "0000:3b:00.0" in lower case, or an empty string if it is unknown.
     * Errors: ERR_UNSUPPORTED with the reason recorded.
     * Blocking: briefly. Thread: [any]. */
    weft_status_t (*bus_id)(weft_kernel_t *kernel, char bus[WEFT_GPUDIRECT_BUS_BYTES]);

    /* Allocates whole pages of the device's memory, zeroed. The core owns them until free().
     * Errors: ERR_RESOURCE, ERR_SYSTEM.
     * Blocking: briefly. Thread: [any]. */
    weft_status_t (*alloc)(weft_kernel_t *kernel, uint64_t bytes, void **memory_p);

    /* Frees memory from alloc(). No adapter has it registered and no run uses it any more.
     * Blocking: briefly. Thread: [any]. */
    void (*free)(weft_kernel_t *kernel, void *memory);

    /* Opens a dma-buf of memory from alloc(). The memory begins at byte *offset_p of the dma-buf.
     * The caller closes the descriptor; the memory outlives it.
     * Errors: ERR_UNSUPPORTED with the reason recorded (the driver offers none), ERR_RESOURCE,
     * ERR_SYSTEM.
     * Blocking: briefly. Thread: [any]. */
    weft_status_t (*dmabuf)(weft_kernel_t *kernel, void *memory, uint64_t bytes, int *fd_p,
                            uint64_t *offset_p);

    /* Makes data that adapters wrote before the call visible to this device, also to runs that
     * execute now.
     * Errors: ERR_SYSTEM.
     * Blocking: for the time of one read from the device. Thread: [progress]. */
    weft_status_t (*flush)(weft_kernel_t *kernel);

    /* Optional. Tells whether adapters may use memory from alloc() by its dma-buf only: another way
     * to it would be ordered with nothing that the host writes, and no flush would change that.
     * Blocking: no. Thread: [any]. */
    bool (*dmabuf_only)(weft_kernel_t *kernel);
} weft_kernel_gpudirect_t;

#ifdef __cplusplus
}
#endif
#endif
