/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Extension "weft.kernel.share/1" of kernel plugins whose devices can reach memory of each other, in one
 * process or in several of one host: the slots between two such ranks lie in the receiver's device.
 * get_extension() of the kernel answers with a weft_kernel_share_t. */
#ifndef WEFT_PLUGIN_SHARE_H
#define WEFT_PLUGIN_SHARE_H

#include <weft/plugin/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_KERNEL_SHARE "weft.kernel.share/1"
#define WEFT_SHARE_PLACE 64  /* bytes that say where a device is: host, process, device */
#define WEFT_SHARE_TOKEN 120 /* bytes by which another kernel opens exported memory */

typedef struct weft_kernel_share {
    size_t size;

    /* What: writes where this kernel's memory lies. Blocks: no. Thread: [any]. */
    void (*place)(weft_kernel_t *kernel, uint8_t place[WEFT_SHARE_PLACE]);

    /* What: answers whether this device can write memory that the kernel at `place` exports. The bytes
     * come from another process: any value is legal. Failure: ERR_UNSUPPORTED, and the text says why
     * (another host, no peer access, a device that this process does not see).
     * Blocks: no. Thread: [progress]. */
    weft_status_t (*reaches)(weft_kernel_t *kernel, const uint8_t place[WEFT_SHARE_PLACE]);

    /* What: allocates memory of this device that others can open with the token. Failure: ERR_RESOURCE,
     * ERR_UNSUPPORTED. Ownership: the core's, until unexport(). Blocks: briefly. Thread: [progress]. */
    weft_status_t (*export_memory)(weft_kernel_t *kernel, uint64_t bytes, void **memory_p,
                                   uint8_t token[WEFT_SHARE_TOKEN]);
    /* What: takes it back. Nobody writes to it any more, and nobody has it open, but where the peer's end
     * was lost and when everything ends at once: what others still have open then stays harmless to the
     * plugin. Thread: [progress]. */
    void (*unexport)(weft_kernel_t *kernel, void *memory);

    /* What: opens memory that another kernel, or this one, exported. The token comes from another
     * process: any value is legal. Failure: ERR_UNSUPPORTED, ERR_RESOURCE, ERR_SYSTEM. Ownership: the
     * core's, until unimport(). Blocks: briefly. Thread: [progress]. */
    weft_status_t (*import)(weft_kernel_t *kernel, const uint8_t token[WEFT_SHARE_TOKEN],
                            uint64_t bytes, void **memory_p);
    void (*unimport)(weft_kernel_t *kernel, void *memory);

    /* What: makes a token for memory of this device that somebody else allocated, from any address on, for
     * import() by other kernels. Failure: ERR_UNSUPPORTED (not all of it is memory of this device),
     * ERR_RESOURCE. Ownership: the memory stays the caller's, who keeps it until unlend(). Optional, with
     * unlend(). Blocks: briefly. Thread: [progress]. */
    weft_status_t (*lend)(weft_kernel_t *kernel, void *memory, uint64_t bytes,
                          uint8_t token[WEFT_SHARE_TOKEN]);
    /* What: the token opens nothing any more; what is open stays so. Thread: [progress]. */
    void (*unlend)(weft_kernel_t *kernel, void *memory);
} weft_kernel_share_t;

#ifdef __cplusplus
}
#endif
#endif
