/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ports as a device knows them: a device that runs plans (api/weft/plugin/draft/lanes.h) moves the
 * same FIFOs as the host does. A mapped port is exported as it is, any other port by its proxy.
 * The thread that owns the communicator makes all calls. */
#ifndef WEFT_EXEC_PORT_EXPORT_H
#define WEFT_EXEC_PORT_EXPORT_H

#include "core/exec/port_base.h"

/* Exports the port to a device, unless that is done. ERR_RESOURCE, or the device's failure. */
weft_status_t weft_port_export(weft_port_t *port, const weft_kernel_lanes_t *device,
                               weft_kernel_t *kernel);
/* Ends the export, before the port's memory goes. Does nothing if the port is not exported. */
void weft_port_unexport(weft_port_t *port);
/* Tells the device of an exported port which windows its messages may refer to. Returns the
 * device's failure. */
weft_status_t weft_port_announce_windows(weft_port_t *port);

/* Takes the number of the next message from the device before a run of the host. */
static inline void weft_port_fetch(weft_port_t *port)
{
    if (port->export.end != NULL) {
        port->ops->fetch(port);
    }
}

/* Gives the number of the next message to the device after a run of the host. */
static inline void weft_port_store(const weft_port_t *port)
{
    if (port->export.end != NULL) {
        port->export.ops->endpoint_seek(port->export.end, port->next);
    }
}

#endif
