/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See ncclnet_props.h. */
#include "ncclnet_props.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ncclnet_call.h"

#define MOST_BYTES                                                                                 \
    (UINT64_C(1) << 30) /* of a message: before v9 sizes are int, and test() tells int */
#define LEAST_BYTES (UINT64_C(1) << 20) /* that weft asks of a transport */
#define USUAL_LATENCY_NS 5000
#define USUAL_SPEED 10000 /* Mbit/s */

static weft_status_t ncclnet_device_refuse(const weft_net_t *net, int dev, const char *found,
                                           const char *expected)
{
    const weft_host_t *host = net->host;
    return host->set_error(host, WEFT_ERR_PLUGIN, 0,
                           "%s: getProperties of device %d: found %s, expected %s",
                           net->library->file, dev, found, expected);
}

static weft_status_t ncclnet_device_check(const weft_net_t *net, int dev,
                                          const ncclnet_foreign_t *foreign)
{
    char found[64];
    if (foreign->name == NULL) {
        return ncclnet_device_refuse(net, dev, "no name", "a text");
    }
    if ((foreign->memory & WEFT_NCCL_PTR_HOST) == 0) {
        snprintf(found, sizeof found, "ptrSupport %d", foreign->memory);
        return ncclnet_device_refuse(net, dev, found, "memory of the host in it (1)");
    }
    if (foreign->recvs < 1) {
        snprintf(found, sizeof found, "maxRecvs %d", foreign->recvs);
        return ncclnet_device_refuse(net, dev, found, "1 or more");
    }
    if (foreign->speed < 0 || !(foreign->latency >= 0 && foreign->latency < 1e6f)) {
        snprintf(found, sizeof found, "speed %d, latency %g", foreign->speed,
                 (double)foreign->latency);
        return ncclnet_device_refuse(net, dev, found, "Mbit/s and microseconds");
    }
    if (foreign->most > 0 && foreign->most < LEAST_BYTES) {
        snprintf(found, sizeof found, "maxP2pBytes %zu", foreign->most);
        return ncclnet_device_refuse(net, dev, found, "1048576 or more");
    }
    return WEFT_OK;
}

weft_status_t ncclnet_device_ask(weft_net_t *net, int dev, ncclnet_foreign_t *foreign)
{
    const ncclnet_library_t *library = net->library;
    ncclnet_call_t call = ncclnet_call_begin(net, NCCLNET_PROPERTIES, dev);
    weft_status_t status =
        ncclnet_call_end(&call, library->shim->properties(library->table, dev, foreign));
    return status == WEFT_OK ? ncclnet_device_check(net, dev, foreign) : status;
}

static weft_status_t ncclnet_devices_count(weft_net_t *net, int *count_p)
{
    const weft_host_t *host = net->host;
    int count = -1;
    ncclnet_call_t call = ncclnet_call_begin(net, NCCLNET_DEVICES, -1);
    weft_status_t status =
        ncclnet_call_end(&call, net->library->shim->devices(net->library->table, &count));
    if (status == WEFT_OK && (count < 0 || count > 1024)) {
        status =
            host->set_error(host, WEFT_ERR_PLUGIN, 0, "%s: devices: found %d, expected 0 to 1024",
                            net->library->file, count);
    }
    if (status == WEFT_OK && count == 0) {
        host->log(host, WEFT_LOG_WARN, "%s (%s) has no devices here", net->library->file,
                  net->library->shim->name(net->library->table));
    }
    *count_p = count < (int)NCCLNET_DEVICES_MAX ? count : (int)NCCLNET_DEVICES_MAX;
    return status;
}

weft_status_t ncclnet_devices_find(weft_net_t *net)
{
    const weft_host_t *host = net->host;
    int count = 0;
    char offload[160] = "";
    weft_status_t status = ncclnet_devices_count(net, &count);
    for (int dev = 0; status == WEFT_OK && dev < count; dev++) {
        ncclnet_foreign_t foreign;
        status = ncclnet_device_ask(net, dev, &foreign);
        if (status == WEFT_OK && foreign.offload != WEFT_NCCL_DEVICE_HOST) {
            snprintf(offload, sizeof offload,
                     "device %d (%s) offloads to a GPU (netDeviceType %d, version %d), which weft "
                     "does not do",
                     dev, foreign.name, foreign.offload, foreign.offload_version);
            host->log(host, WEFT_LOG_INFO, "%s: %s; it is left out", net->library->file, offload);
        } else if (status == WEFT_OK) {
            net->devices[net->ndevices++] = (uint32_t)dev;
        }
    }
    if (status == WEFT_OK && net->ndevices == 0 && count > 0) {
        return host->set_error(host, WEFT_ERR_UNSUPPORTED, 0, "%s: %s, and there is no other",
                               net->library->file, offload);
    }
    return status;
}

/* The last part of a path in /sys that is a PCI address, or nothing. */
static void ncclnet_pci_of(const char *path, char *pci, size_t bytes)
{
    char real[PATH_MAX];
    unsigned domain, bus, device, function;
    if (path == NULL || realpath(path, real) == NULL) {
        return;
    }
    for (char *slash = strrchr(real, '/'); slash != NULL; slash = strrchr(real, '/')) {
        if (sscanf(slash + 1, "%x:%x:%x.%x", &domain, &bus, &device, &function) == 4 &&
            strlen(slash + 1) < bytes) {
            snprintf(pci, bytes, "%s", slash + 1);
            return;
        }
        *slash = '\0';
    }
}

uint64_t ncclnet_message_most(const ncclnet_foreign_t *foreign)
{
    return foreign->most > 0 && foreign->most < MOST_BYTES ? foreign->most : MOST_BYTES;
}

void ncclnet_device_convert(const weft_net_t *net, uint32_t index, const ncclnet_foreign_t *foreign,
                            weft_net_props_t *props)
{
    int speed = foreign->speed > 0 ? foreign->speed : USUAL_SPEED;
    bool cuda = (foreign->memory & WEFT_NCCL_PTR_CUDA) != 0;
    weft_net_props_t mine = {
        .size = props->size,
        .rail = foreign->rail >= 0  ? (uint32_t)foreign->rail
                : net->ndevices > 1 ? index
                                    : 0,
        .memory_kinds = WEFT_MEMORY_HOST | (cuda ? WEFT_MEMORY_CUDA : 0),
        .latency_ns =
            foreign->latency > 0 ? (uint64_t)(foreign->latency * 1000.0f) + 1 : USUAL_LATENCY_NS,
        .bandwidth = (uint64_t)speed * 125000u,
        .max_outstanding = WEFT_OP_SLOTS,
        .max_message = ncclnet_message_most(foreign),
        .slot_bytes = UINT64_C(512) << 10,
        .slots = 4,
    };
    snprintf(mine.name, sizeof mine.name, "%s", foreign->name);
    ncclnet_pci_of(foreign->pci_path, mine.pci, sizeof mine.pci);
    memcpy(props, &mine, props->size < sizeof mine ? props->size : sizeof mine);
}

void ncclnet_device_describe(const weft_net_t *net, int dev, const ncclnet_foreign_t *foreign,
                             char *text, size_t bytes)
{
    const ncclnet_library_t *library = net->library;
    snprintf(text, bytes,
             "library   %s (%s), %s\n"
             "device    %d of the library, %d Mbit/s, %d receives of one irecv\n"
             "memory    host%s%s\n",
             library->path, library->shim->name(library->table), library->shim->symbol, dev,
             foreign->speed, foreign->recvs,
             (foreign->memory & WEFT_NCCL_PTR_CUDA) != 0 ? ", CUDA" : "",
             (foreign->memory & WEFT_NCCL_PTR_DMABUF) != 0 ? ", dma-buf" : "");
}
