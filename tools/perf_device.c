/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The device of a kernel, or host memory where there is none. */
#include "tools/perf_device.h"

#include <stdlib.h>
#include <string.h>

#include "core/comm/handle.h"

static weft_status_t perf_device_find_facts(perf_device_t *device)
{
    const weft_kernel_describe_t *describe = device->describe;
    weft_status_t status = describe->count(device->kernel, &device->count);
    for (uint32_t i = 0; i < device->count && status == WEFT_OK; i++) {
        weft_kernel_device_t facts = {.size = sizeof facts};
        status = describe->device(device->kernel, i, &facts);
        device->facts = status == WEFT_OK && facts.chosen != 0 ? facts : device->facts;
    }
    return status;
}

weft_status_t perf_device_open(perf_device_t *device, weft_comm_t *comm)
{
    *device = (perf_device_t){0};
    device->memory = weft_comm_kernel(comm, WEFT_KERNEL_MEMORY, &device->kernel);
    device->streams = weft_comm_kernel(comm, WEFT_KERNEL_STREAM, &device->kernel);
    device->describe = weft_comm_kernel(comm, WEFT_KERNEL_DESCRIBE, &device->kernel);
    return device->memory != NULL && device->describe != NULL ? perf_device_find_facts(device)
                                                              : WEFT_OK;
}

static void perf_device_copy_text(char *to, size_t bytes, const char *from)
{
    snprintf(to, bytes, "%.*s", (int)bytes - 1, from);
}

/* Files of /proc tell no size, hence stdio in place of weft_os_read_file. */
static uint64_t perf_device_host_memory(void)
{
    char line[128];
    unsigned long long kib = 0;
    FILE *file = fopen("/proc/meminfo", "re");
    while (file != NULL && kib == 0 && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "MemAvailable:", 13) == 0) {
            kib = strtoull(line + 13, NULL, 10);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return kib * 1024;
}

void perf_device_identify(const perf_device_t *device, perf_identity_t *identity)
{
    uint64_t available = perf_device_host_memory();
    identity->memory_free = available > 0 ? available : WEFT_BYTES_UNKNOWN;
    perf_device_copy_text(identity->pci, sizeof identity->pci, "0000:00:00");
    perf_device_copy_text(identity->name, sizeof identity->name, "host memory");
    if (device->memory == NULL) {
        return;
    }
    identity->on_device = 1;
    identity->device = device->facts.ordinal;
    identity->memory_free =
        device->describe != NULL ? device->facts.memory_free : WEFT_BYTES_UNKNOWN;
    perf_device_copy_text(identity->name, sizeof identity->name,
                          device->facts.name[0] != '\0' ? device->facts.name : "device memory");
    /* Without the function, as nccl-tests prints it. */
    const char *function = strrchr(device->facts.pci, '.');
    if (function != NULL) {
        snprintf(identity->pci, sizeof identity->pci, "%.*s", (int)(function - device->facts.pci),
                 device->facts.pci);
    }
}
