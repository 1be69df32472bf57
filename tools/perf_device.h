/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The device that a rank's kernel computes on: which one it is, and what `weft perf` asks of it. */
#ifndef WEFT_TOOLS_PERF_DEVICE_H
#define WEFT_TOOLS_PERF_DEVICE_H

#include <weft/plugin/describe.h>
#include <weft/plugin/memory.h>
#include <weft/plugin/draft/stream.h>

#include "tools/tool.h"

/* Tables are NULL where the kernel has no such extension; without `memory` it computes on host memory. */
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

#endif
