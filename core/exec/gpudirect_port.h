/* SPDX-License-Identifier: BSD-3-Clause
 *
 * GPUDirect ports: message ports whose slots, header and payload, lie in memory of the device
 * (gpudirect.h). The adapter reads and writes them there. Where the host runs a plan, it copies
 * headers to and from its own memory; the kernel's functions follow the payloads. */
#ifndef WEFT_EXEC_GPUDIRECT_PORT_H
#define WEFT_EXEC_GPUDIRECT_PORT_H

#include "core/exec/gpudirect.h"
#include "core/exec/message_port.h"

typedef struct weft_gpudirect_port {
    weft_message_port_t message;
    const weft_gpudirect_t *gpudirect;
    weft_message_header_t *headers; /* the host's copies, one per slot */
} weft_gpudirect_port_t;

static inline weft_gpudirect_port_t *weft_gpudirect_port(weft_port_t *port)
{
    weft_assert(port->kind == WEFT_PORT_GPUDIRECT);
    return (weft_gpudirect_port_t *)port;
}

static inline const weft_gpudirect_port_t *weft_gpudirect_port_const(const weft_port_t *port)
{
    weft_assert(port->kind == WEFT_PORT_GPUDIRECT);
    return (const weft_gpudirect_port_t *)port;
}

/* Makes a port with slots in `memory`, weft_message_port_bytes() of the kernel's alloc(), which
 * becomes the port's; weft_message_port_open() is next. ERR_RESOURCE: the memory stays the
 * caller's. */
weft_status_t weft_gpudirect_port_init(weft_gpudirect_port_t *direct,
                                       const weft_message_port_params_t *params,
                                       const weft_gpudirect_t *gpudirect, void *memory);

/* Operations that the table of proxies shares (port_base.h). */
weft_status_t weft_gpudirect_port_send(weft_port_t *port, const weft_signature_t *signature,
                                       uint64_t bytes);
bool weft_gpudirect_port_can_receive(weft_port_t *port);
const weft_signature_t *weft_gpudirect_port_signature(const weft_port_t *port);
void weft_gpudirect_port_fini(weft_port_t *port);

#endif
