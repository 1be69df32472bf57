/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Extension of kernel plugins: the devices that a plugin sees, for people and tools that show a machine.
 * The core does not need it, and no communicator has to be there. */
#ifndef WEFT_PLUGIN_DESCRIBE_H
#define WEFT_PLUGIN_DESCRIBE_H

#include <weft/plugin/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_KERNEL_DESCRIBE "weft.kernel.describe/1"
#define WEFT_BYTES_UNKNOWN UINT64_MAX

/* One device. Texts are empty where nothing is known. */
typedef struct weft_kernel_device {
    size_t size;
    uint32_t ordinal; /* as the plugin's options count devices */
    uint32_t chosen;  /* 1: the device that this instance computes on */
    int32_t numa; /* NUMA node of the host that is nearest, as the system counts; −1: unknown */
    uint32_t reserved;     /* 0 */
    char name[128];        /* e.g. "NVIDIA H200" */
    char pci[32];          /* "0000:3b:00.0", lower case */
    char uuid[48];         /* as the device's own tools print it */
    char capability[16];   /* generation, e.g. "9.0" */
    uint64_t memory_bytes; /* of the device */
    uint64_t
        memory_free; /* of them not in use at this moment, or WEFT_BYTES_UNKNOWN: told only where
                              asking costs no state on the device */
} weft_kernel_device_t;

/* How one device reaches the memory of another. */
typedef struct weft_kernel_peer_access {
    size_t size;
    uint32_t access;   /* 1: it loads and stores there directly */
    uint32_t atomics;  /* 1: all its atomic operations work there too, which no PCIe path offers */
    int32_t rank;      /* order of the paths of this machine, lower is faster; −1: unknown */
    uint32_t reserved; /* 0 */
} weft_kernel_peer_access_t;

typedef struct weft_kernel_describe {
    size_t size;

    /* What: number of devices that this process may use. Failure: ERR_SYSTEM. Blocks: no.
     * Thread: [control]. */
    weft_status_t (*count)(weft_kernel_t *kernel, uint32_t *count_p);

    /* What: fills device->size bytes about device `index`, from 0. Makes no state on devices that are not
     * in use already. Failure: ERR_ARG (no such device), ERR_SYSTEM. Blocks: briefly. Thread: [control]. */
    weft_status_t (*device)(weft_kernel_t *kernel, uint32_t index, weft_kernel_device_t *device);

    /* What: fills peer_access->size bytes about the way from device `index` to the memory of device `peer`,
     * another one. Failure, blocking, thread: as device(). */
    weft_status_t (*peer_access)(weft_kernel_t *kernel, uint32_t index, uint32_t peer,
                                 weft_kernel_peer_access_t *peer_access);
} weft_kernel_describe_t;

#ifdef __cplusplus
}
#endif
#endif
