/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The part that all kinds of ports share. A port is one end of one FIFO of slots to a peer, in
 * one direction. Each kind has a struct of its own that begins with this head:
 *
 *   mapped_port.h     slots in shared memory, which the executor reads and writes in place
 *   message_port.h    slots in host memory, which a transport sends and receives
 *   gpudirect_port.h  the same with slots in memory of the device
 *
 * The hot path is inline in port.h and branches on `kind`. Everything else goes through the
 * table. */
#ifndef WEFT_EXEC_PORT_BASE_H
#define WEFT_EXEC_PORT_BASE_H

#include <stdbool.h>

#include <weft/plugin/draft/lanes.h>
#include <weft/status.h>

#include "core/base/signature.h"
#include "core/os/assert.h"

typedef struct weft_port weft_port_t;

typedef enum weft_port_kind {
    WEFT_PORT_MAPPED = 0,
    WEFT_PORT_MESSAGE,
    WEFT_PORT_GPUDIRECT,
} weft_port_kind_t;

/* Operations of a kind. The table is const and outlives its ports. All of them belong to the
 * thread that owns the communicator, and none blocks. */
typedef struct weft_port_ops {
    /* The next four serve ports that carry messages. Mapped ports leave them out: port.h does
     * their work inline, as it does the last two for messages in host memory. */

    /* Publishes the next message, whose payload is in its slot. Returns the failure of the
     * connection. */
    weft_status_t (*send)(weft_port_t *port, const weft_signature_t *signature, uint64_t bytes);
    /* Offers the slot of the consumed message to the transport again. */
    weft_status_t (*release)(weft_port_t *port);
    /* Returns whether the next message is here, with its header. Raises `limit`. */
    bool (*can_receive)(weft_port_t *port);
    /* Returns the signature of the next message, after can_receive(). */
    const weft_signature_t *(*signature)(const weft_port_t *port);

    /* Does what had to wait: posts slots, steps the proxy. Sets *moved_p if the proxy passed
     * something on. OK: nothing is left to do; IN_PROGRESS: call again; else the failure of the
     * connection. */
    weft_status_t (*flush)(weft_port_t *port, bool *moved_p);
    /* Takes `next` from the device that the port is exported to. */
    void (*fetch)(weft_port_t *port);
    /* Returns whether a device waits for this port in vain: it is broken, and the device has taken
     * everything that came before. */
    bool (*is_dry)(const weft_port_t *port);
    /* Frees what the port owns. */
    void (*fini)(weft_port_t *port);
} weft_port_ops_t;

/* The end as a device knows it (port_export.h). Between runs the device's end holds the number
 * of the next message, no matter whether the host or the device moved the last one. */
typedef struct weft_port_export {
    const weft_kernel_lanes_t *ops;
    weft_lanes_endpoint_t *end; /* NULL: not exported */
} weft_port_export_t;

struct weft_port {
    uint64_t next;     /* sequence number of the next message to send or receive */
    uint64_t limit;    /* messages below it may be sent, or received, without a further look */
    uint32_t mask;     /* slots − 1 */
    uint32_t kind;     /* weft_port_kind_t */
    uint8_t *payloads; /* of slot 0 */
    uint64_t stride;   /* from payload to payload */
    uint32_t slots;
    uint32_t sends;       /* 1: this end sends */
    uint32_t peer;        /* rank */
    weft_status_t broken; /* why the connection is unusable, or OK; mapped ports never break */
    const weft_port_ops_t *ops;
    weft_port_export_t export;
};

static inline bool weft_port_is_mapped(const weft_port_t *port)
{
    return port->kind == WEFT_PORT_MAPPED;
}

static inline uint32_t weft_port_slot(const weft_port_t *port)
{
    return (uint32_t)port->next & port->mask;
}

static inline void weft_port_fini(weft_port_t *port)
{
    port->ops->fini(port);
}

#endif
