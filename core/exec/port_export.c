/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Exporting ports to devices. */
#include "core/exec/port_export.h"

#include "core/exec/mapped_port.h"
#include "core/exec/proxy.h"

static weft_status_t export_describe(weft_port_t *port, weft_lanes_port_t *described)
{
    *described =
        (weft_lanes_port_t){.size = sizeof *described, .slots = port->slots, .sends = port->sends};
    if (weft_port_is_mapped(port)) {
        weft_mapped_port_describe(weft_mapped_port(port), described);
        return WEFT_OK;
    }
    weft_message_port_t *message = weft_message_port(port);
    weft_status_t status = weft_proxy_ensure(message);
    if (status == WEFT_OK) {
        weft_proxy_describe(message->proxy, described);
    }
    return status;
}

weft_status_t weft_port_export(weft_port_t *port, const weft_kernel_lanes_t *device,
                               weft_kernel_t *kernel)
{
    if (port->export.end != NULL) {
        return WEFT_OK;
    }
    weft_lanes_port_t described;
    weft_status_t status = export_describe(port, &described);
    if (status == WEFT_OK) {
        status = device->endpoint_open(kernel, &described, &port->export.end);
    }
    if (status == WEFT_OK) {
        port->export.ops = device;
        weft_port_store(port);
        status = weft_port_announce_windows(port);
    }
    return status;
}

void weft_port_unexport(weft_port_t *port)
{
    if (port->export.end != NULL) {
        port->export.ops->endpoint_close(port->export.end);
        port->export.end = NULL;
    }
}

weft_status_t weft_port_announce_windows(weft_port_t *port)
{
    if (port->export.end == NULL || !weft_port_is_mapped(port)) {
        return WEFT_OK;
    }
    const weft_windows_t *windows = weft_mapped_port(port)->windows;
    if (windows == NULL || windows->reach == NULL ||
        !WEFT_HAS(port->export.ops, weft_kernel_lanes_t, endpoint_windows)) {
        return WEFT_OK;
    }
    const weft_peer_windows_t *peer = &windows->reach[port->peer];
    return port->export.ops->endpoint_windows(port->export.end,
                                              port->sends ? peer->mine : peer->theirs);
}
