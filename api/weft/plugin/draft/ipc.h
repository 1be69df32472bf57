/* SPDX-License-Identifier: BSD-3-Clause
 *
 * DRAFT, version 0: this extension changes without notice, and no compatibility is promised. It
 * becomes stable when a second plugin implements it and both have run on devices.
 *
 * Extension "draft.weft.kernel.ipc/0" of kernel plugins whose devices access the memory of each
 * other, within a process or between processes of one host. A kernel exports memory of its device
 * as a handle; another kernel imports it. The core puts the slots between two such ranks into the
 * receiver's device, with their headers, and what the receiver releases into the sender's. The
 * kernel's get_extension() returns a weft_kernel_ipc_t. */
#ifndef WEFT_PLUGIN_DRAFT_IPC_H
#define WEFT_PLUGIN_DRAFT_IPC_H

#include <weft/plugin/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_KERNEL_IPC "draft.weft.kernel.ipc/0"
#define WEFT_IPC_LOCATION_BYTES 64 /* location of a device: host, process, device */
#define WEFT_IPC_HANDLE_BYTES 120  /* handle of exported memory */
#define WEFT_IPC_TRIED_BYTES 128   /* at the begin of exported memory: see export_alloc() */

typedef struct weft_kernel_ipc {
    size_t size;

    /* Writes the location of this kernel's device.
     * Blocking: no. Thread: [any]. */
    void (*location)(weft_kernel_t *kernel, uint8_t location[WEFT_IPC_LOCATION_BYTES]);

    /* Tells whether this device can write memory that the kernel at `location` exports. The bytes
     * come from another process: any value is legal.
     * Errors: ERR_UNSUPPORTED with the reason recorded (another host, no peer access, a device that
     * this process does not see).
     * Blocking: no. Thread: [progress]. */
    weft_status_t (*can_access)(weft_kernel_t *kernel,
                                const uint8_t location[WEFT_IPC_LOCATION_BYTES]);

    /* Allocates memory of this device, whose last `zeros` bytes are zero, and writes the handle by
     * which other kernels import it. The core owns the memory until export_free(), but for the
     * first WEFT_IPC_TRIED_BYTES, in which import() may try the path between the devices.
     * Errors: ERR_RESOURCE, ERR_UNSUPPORTED.
     * Blocking: briefly. Thread: [progress]. */
    weft_status_t (*export_alloc)(weft_kernel_t *kernel, uint64_t bytes, uint64_t zeros,
                                  void **memory_p, uint8_t handle[WEFT_IPC_HANDLE_BYTES]);

    /* Frees memory from export_alloc(). No peer writes to it or has it imported any more, with two
     * exceptions: the connection to the peer was lost, or all ranks end at once. The plugin must
     * stay correct while such a peer still has the memory imported.
     * Blocking: no. Thread: [progress]. */
    void (*export_free)(weft_kernel_t *kernel, void *memory);

    /* Imports memory that another kernel, or this one, exported. The handle comes from another
     * process: any value is legal. The core owns the mapping until unimport().
     * Errors: ERR_UNSUPPORTED, ERR_RESOURCE, ERR_SYSTEM.
     * Blocking: briefly. Thread: [progress]. */
    weft_status_t (*import)(weft_kernel_t *kernel, const uint8_t handle[WEFT_IPC_HANDLE_BYTES],
                            uint64_t bytes, void **memory_p);

    /* Ends an import.
     * Blocking: briefly. Thread: [progress]. */
    void (*unimport)(weft_kernel_t *kernel, void *memory);

    /* Optional, together with unexport_range(). Exports memory of this device that the application
     * allocated; `memory` may lie anywhere in an allocation. The application keeps the memory
     * allocated until unexport_range().
     * Errors: ERR_UNSUPPORTED (part of the range is not memory of this device), ERR_RESOURCE.
     * Blocking: briefly. Thread: [progress]. */
    weft_status_t (*export_range)(weft_kernel_t *kernel, void *memory, uint64_t bytes,
                                  uint8_t handle[WEFT_IPC_HANDLE_BYTES]);

    /* Ends the export: the handle imports nothing any more. Imports made before stay valid.
     * Blocking: no. Thread: [progress]. */
    void (*unexport_range)(weft_kernel_t *kernel, void *memory);

    /* Copies bytes of memory from export_alloc() to the host, also while kernels of this device and
     * of others write there and wait for this rank. What they stored before something that an
     * earlier call has read is seen.
     * Errors: ERR_SYSTEM.
     * Blocking: for the time of one read from the device. Thread: [progress]. */
    weft_status_t (*read)(weft_kernel_t *kernel, void *to, const void *memory, uint64_t bytes);
} weft_kernel_ipc_t;

#ifdef __cplusplus
}
#endif
#endif
