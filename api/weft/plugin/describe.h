/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Extension "weft.kernel.describe/1" of kernel plugins: the devices that a plugin can see. Tools
 * use it to show a machine. The core does not need it, and it works without a communicator. */
#ifndef WEFT_PLUGIN_DESCRIBE_H
#define WEFT_PLUGIN_DESCRIBE_H

#include <weft/plugin/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_KERNEL_DESCRIBE "weft.kernel.describe/1"
#define WEFT_BYTES_UNKNOWN UINT64_MAX /* value of memory_free */

/* One device. A text is empty if nothing is known. memory_free is WEFT_BYTES_UNKNOWN if asking
 * would create state on the device. */
typedef struct weft_kernel_device {
    size_t size;
    uint32_t ordinal;      /* number of the device, as the plugin's options count devices */
    uint32_t chosen;       /* 1: this instance computes on the device */
    int32_t numa;          /* nearest NUMA node of the host, as the system counts; -1 = unknown */
    uint32_t reserved;     /* 0 */
    char name[128];        /* e.g. "NVIDIA H200" */
    char pci[32];          /* PCI address "0000:3b:00.0", lower case */
    char uuid[48];         /* as the tools of the device print it */
    char capability[16];   /* generation, e.g. "9.0" */
    uint64_t memory_bytes; /* memory of the device */
    uint64_t memory_free;  /* free part of it now, or WEFT_BYTES_UNKNOWN */
} weft_kernel_device_t;

/* How one device accesses the memory of another (peer access). */
typedef struct weft_kernel_peer_access {
    size_t size;
    uint32_t access;   /* 1: loads and stores work directly */
    uint32_t atomics;  /* 1: all atomic operations work too; no PCIe path offers that */
    int32_t rank;      /* performance rank of the path, lower is faster; -1 = unknown */
    uint32_t reserved; /* 0 */
} weft_kernel_peer_access_t;

typedef struct weft_kernel_describe {
    size_t size;

    /* Stores the number of devices that this process may use.
     * Errors: ERR_SYSTEM.
     * Blocking: no. Thread: [control]. */
    weft_status_t (*count)(weft_kernel_t *kernel, uint32_t *count_p);

    /* Fills device->size bytes about device `index`, counted from 0. Creates no state on a device
     * that is not in use already.
     * Errors: ERR_ARG (no such device), ERR_SYSTEM.
     * Blocking: briefly. Thread: [control]. */
    weft_status_t (*device)(weft_kernel_t *kernel, uint32_t index, weft_kernel_device_t *device);

    /* Fills peer_access->size bytes about the access of device `index` to the memory of another
     * device, `peer`.
     * Errors: ERR_ARG (no such device, or index equals peer), ERR_SYSTEM.
     * Blocking: briefly. Thread: [control]. */
    weft_status_t (*peer_access)(weft_kernel_t *kernel, uint32_t index, uint32_t peer,
                                 weft_kernel_peer_access_t *peer_access);
} weft_kernel_describe_t;

#ifdef __cplusplus
}
#endif
#endif
