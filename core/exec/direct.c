/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Slots on the device: the decision for a transport, and memory for one port. */
#include "core/exec/direct.h"

#include <stdio.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/exec/nets.h"
#include "core/os/path.h"

/* Deciding ------------------------------------------------------------------------------------------- */

/* A path is "/sys/devices/pci0000:3a/0000:3a:01.0/0000:3b:00.0": folders are the bridges on the way, the
 * first with a domain and a bus alone is the root complex. */
bool weft_direct_is_near(const char *one, const char *other)
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

static bool find(const char *bus, char path[WEFT_OS_PATH_MAX])
{
    char link[WEFT_OS_PATH_MAX];
    snprintf(link, sizeof link, "/sys/bus/pci/devices/%s", bus);
    return bus[0] != '\0' && weft_os_resolve(link, path);
}

/* NULL: they are near; else why it is not known, or that they are not. */
static const char *refuse_distance(const char *device, const char *adapter)
{
    char one[WEFT_OS_PATH_MAX], other[WEFT_OS_PATH_MAX];
    if (!find(device, one) || !find(adapter, other)) {
        return "where the adapter and the device are on the PCI bus is not known "
               "(exec.direct = yes takes them in any case)";
    }
    return weft_direct_is_near(one, other)
               ? NULL
               : "no bridge of the PCI bus is above both the adapter and the device "
                 "(exec.direct = yes takes them in any case)";
}

/* NULL: the slots shall lie on the device. */
static const char *refuse(const weft_direct_t *direct, const weft_links_net_t *net, char *bus)
{
    if (direct->mode == WEFT_DIRECT_NO) {
        return "exec.direct = no";
    }
    if ((net->props.memory_kinds & WEFT_MEMORY_CUDA) == 0) {
        return "the transport reaches memory of the host only";
    }
    if (direct->ops->place(direct->kernel, bus) != WEFT_OK) {
        return weft_error_record()->text;
    }
    return direct->mode == WEFT_DIRECT_AUTO ? refuse_distance(bus, net->props.pci) : NULL;
}

bool weft_direct_suits(const weft_direct_t *direct, const weft_links_net_t *net)
{
    char bus[WEFT_DIRECT_BUS] = "";
    if (direct->ops == NULL) {
        return false;
    }
    const char *why = refuse(direct, net, bus);
    const char *name = net->loaded->plugin->name;
    if (why != NULL) {
        weft_log(WEFT_LOG_INFO, "direct", "the slots of %s on %s stay on the host: %s", name,
                 net->props.name, why);
        return false;
    }
    weft_log(WEFT_LOG_INFO, "direct", "the slots of %s on %s lie on the device at %s: %s", name,
             net->props.name, bus,
             direct->mode == WEFT_DIRECT_YES ? "exec.direct = yes" : "they are near");
    return true;
}

/* Memory --------------------------------------------------------------------------------------------- */

static weft_status_t register_dmabuf(const weft_direct_t *direct, const weft_links_net_t *net,
                                     weft_net_device_t *device, void *memory, uint64_t bytes,
                                     weft_net_region_t **region_p)
{
    weft_net_dmabuf_range_t range = {.size = sizeof range,
                                     .memory_kind = WEFT_MEMORY_CUDA,
                                     .bytes = bytes,
                                     .address = (uintptr_t)memory};
    if (net->dmabuf == NULL) {
        return weft_fail(WEFT_ERR_UNSUPPORTED, 0, "%s registers no dma-buf",
                         net->loaded->plugin->name);
    }
    weft_status_t status =
        direct->ops->dmabuf(direct->kernel, memory, bytes, &range.fd, &range.offset);
    if (status == WEFT_OK) {
        status = net->dmabuf->reg(device, &range, region_p);
        close(range.fd);
    }
    return status;
}

/* Where driver or adapter know no dma-buf, a module of the system may know the device's addresses. */
weft_status_t weft_direct_register(const weft_direct_t *direct, const weft_links_net_t *net,
                                   weft_net_device_t *device, void *memory, uint64_t bytes,
                                   weft_net_region_t **region_p)
{
    weft_status_t status = register_dmabuf(direct, net, device, memory, bytes, region_p);
    if (status != WEFT_ERR_UNSUPPORTED || !WEFT_HAS(net->ops, weft_net_ops_t, reg)) {
        return status;
    }
    weft_error_t first = *weft_error_record();
    status = net->ops->reg(device, memory, bytes, WEFT_MEMORY_CUDA, region_p);
    if (status == WEFT_ERR_UNSUPPORTED) {
        *weft_error_record() = first;
    }
    return status;
}
