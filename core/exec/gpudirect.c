/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Slots on the device: the decision for a transport, and memory for one port. */
#include "core/exec/gpudirect.h"

#include <stdio.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/exec/transports.h"
#include "core/os/os_path.h"

/* Deciding ------------------------------------------------------------------------------------- */

/* A path is "/sys/devices/pci0000:3a/0000:3a:01.0/0000:3b:00.0": folders are the bridges on the
 * way, the first with a domain and a bus alone is the root complex. */
bool weft_gpudirect_is_near(const char *one, const char *other)
{
    uint32_t shared =
        0; /* folders below the root complex that have begun, and were the same so far */
    unsigned domain, bus;
    bool below = false;
    size_t at = 0;
    for (; one[at] != '\0' && one[at] == other[at]; at++) {
        if (one[at] == '/') {
            shared += below;
            below = below || sscanf(one + at, "/pci%x:%x", &domain, &bus) == 2;
        }
    }
    return shared >= 2;
}

static bool gpudirect_folder(const char *bus, char path[WEFT_OS_PATH_MAX])
{
    char link[WEFT_OS_PATH_MAX];
    snprintf(link, sizeof link, "/sys/bus/pci/devices/%s", bus);
    return bus[0] != '\0' && weft_os_resolve(link, path);
}

/* Returns NULL if they are near, else why it is not known, or that they are not. */
static const char *gpudirect_refuse_distance(const char *device, const char *adapter)
{
    char one[WEFT_OS_PATH_MAX], other[WEFT_OS_PATH_MAX];
    if (!gpudirect_folder(device, one) || !gpudirect_folder(adapter, other)) {
        return "where the adapter and the device are on the PCI bus is not known "
               "(exec.gpudirect = yes takes them in any case)";
    }
    return weft_gpudirect_is_near(one, other)
               ? NULL
               : "no bridge of the PCI bus is above both the adapter and the device "
                 "(exec.gpudirect = yes takes them in any case)";
}

/* Returns NULL if the slots shall lie on the device, else why not. */
static const char *gpudirect_refuse(const weft_gpudirect_t *gpudirect,
                                    const weft_transport_t *transport, char *bus)
{
    if (gpudirect->mode == WEFT_GPUDIRECT_NO) {
        return "exec.gpudirect = no";
    }
    if ((transport->props.memory_kinds & WEFT_MEMORY_CUDA) == 0) {
        return "the transport reaches memory of the host only";
    }
    if (gpudirect->ops->bus_id(gpudirect->kernel, bus) != WEFT_OK) {
        return weft_error_record()->text;
    }
    return gpudirect->mode == WEFT_GPUDIRECT_AUTO
               ? gpudirect_refuse_distance(bus, transport->props.pci)
               : NULL;
}

bool weft_gpudirect_suits(const weft_gpudirect_t *gpudirect, const weft_transport_t *transport)
{
    char bus[WEFT_GPUDIRECT_BUS_BYTES] = "";
    if (gpudirect->ops == NULL) {
        return false;
    }
    const char *why = gpudirect_refuse(gpudirect, transport, bus);
    const char *name = transport->loaded->plugin->name;
    if (why != NULL) {
        weft_log(WEFT_LOG_INFO, "gpudirect", "the slots of %s on %s stay on the host: %s", name,
                 transport->props.name, why);
        return false;
    }
    weft_log(WEFT_LOG_INFO, "gpudirect", "the slots of %s on %s lie on the device at %s: %s", name,
             transport->props.name, bus,
             gpudirect->mode == WEFT_GPUDIRECT_YES ? "exec.gpudirect = yes" : "they are near");
    return true;
}

/* Memory --------------------------------------------------------------------------------------- */

static weft_status_t gpudirect_register_dmabuf(const weft_gpudirect_t *gpudirect,
                                               const weft_transport_t *transport,
                                               weft_net_device_t *adapter, void *memory,
                                               uint64_t bytes, weft_net_region_t **region_p)
{
    weft_net_dmabuf_range_t range = {.size = sizeof range,
                                     .memory_kind = WEFT_MEMORY_CUDA,
                                     .bytes = bytes,
                                     .address = (uintptr_t)memory};
    if (transport->dmabuf == NULL) {
        return weft_fail(WEFT_ERR_UNSUPPORTED, 0, "%s registers no dma-buf",
                         transport->loaded->plugin->name);
    }
    weft_status_t status =
        gpudirect->ops->dmabuf(gpudirect->kernel, memory, bytes, &range.fd, &range.offset);
    if (status == WEFT_OK) {
        status = transport->dmabuf->reg(adapter, &range, region_p);
        close(range.fd);
    }
    return status;
}

static bool gpudirect_dmabuf_only(const weft_gpudirect_t *gpudirect)
{
    return WEFT_HAS(gpudirect->ops, weft_kernel_gpudirect_t, dmabuf_only) &&
           gpudirect->ops->dmabuf_only(gpudirect->kernel);
}

/* A module of the system may know the device's addresses where driver or adapter know no
 * dma-buf. */
weft_status_t weft_gpudirect_register(const weft_gpudirect_t *gpudirect,
                                      const weft_transport_t *transport, weft_net_device_t *adapter,
                                      void *memory, uint64_t bytes, weft_net_region_t **region_p)
{
    weft_status_t status =
        gpudirect_register_dmabuf(gpudirect, transport, adapter, memory, bytes, region_p);
    if (status != WEFT_ERR_UNSUPPORTED || !WEFT_HAS(transport->ops, weft_net_ops_t, reg) ||
        gpudirect_dmabuf_only(gpudirect)) {
        return status;
    }
    weft_error_t first = *weft_error_record();
    status = transport->ops->reg(adapter, memory, bytes, WEFT_MEMORY_CUDA, region_p);
    if (status == WEFT_ERR_UNSUPPORTED) {
        *weft_error_record() = first;
    }
    return status;
}
