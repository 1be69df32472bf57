/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The device that a rank's kernel computes on: which one it is, and what `weft perf` asks of it. */
#ifndef WEFT_TOOLS_PERF_DEVICE_H
#define WEFT_TOOLS_PERF_DEVICE_H

#include <weft/plugin/describe.h>
#include <weft/plugin/memory.h>
#include <weft/plugin/draft/stream.h>

/* Tables are NULL where the kernel has no such extension; without `memory` it computes on host
 * memory. */
typedef struct perf_device {
    weft_kernel_t *kernel;
    const weft_kernel_memory_t *memory;
    const weft_kernel_stream_t *streams;
    const weft_kernel_describe_t *describe;
    void *stream;               /* NULL with -y: the device's null stream */
    weft_kernel_device_t facts; /* of the chosen device, where it is described */
    uint32_t count;             /* devices that this process sees; 0: not known */
} perf_device_t;

/* Asks the communicator's kernel. The kernel's failure. */
weft_status_t perf_device_open(perf_device_t *device, weft_comm_t *comm);

/* Who a rank is and what it computes on, for the list of devices. */
typedef struct perf_identity {
    int32_t pid;
    uint32_t on_device;   /* 0: on host memory */
    uint32_t device;      /* as its kernel counts; on host memory its number on the host */
    uint64_t memory_free; /* of the device or the host; or WEFT_BYTES_UNKNOWN */
    char host[56];
    char pci[16]; /* "0000:3b:00" */
    char name[40];
} perf_identity_t;

/* Fills in where the rank computes: a device, or host memory. */
void perf_device_identify(const perf_device_t *device, perf_identity_t *identity);

#endif
