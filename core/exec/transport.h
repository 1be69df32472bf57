/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A transport of one rank: a device of a plugin, and what was asked of it when it was opened. */
#ifndef WEFT_EXEC_TRANSPORT_H
#define WEFT_EXEC_TRANSPORT_H

#include <weft/plugin/net.h>

#include "core/plugin/registry.h"

/* Device D of the plugin that the INI lists at place P has index P + D * WEFT_TRANSPORT_PLUGINS
 * on all ranks; DEVICES of a plugin are used. */
#define WEFT_TRANSPORT_PLUGINS 8u
#define WEFT_TRANSPORT_DEVICES 4u
#define WEFT_TRANSPORTS_MAX (WEFT_TRANSPORT_PLUGINS * WEFT_TRANSPORT_DEVICES)

/* A transport in use, which is one device of a plugin. Constant once it is open. All zero: there is
 * no such device. */
typedef struct weft_transport {
    const weft_loaded_t *loaded;
    const weft_net_ops_t *ops;
    const weft_net_map_t *map;         /* NULL: it carries messages */
    const weft_net_attach_t *attach;   /* NULL: messages of the first communicator only */
    const weft_net_payload_t *payload; /* NULL: messages are one piece of memory */
    const weft_net_dmabuf_t *dmabuf;   /* NULL: it registers no dma-buf */
    weft_net_t *net;                   /* of the plugin */
    uint32_t device;                   /* its number in the plugin */
    /* The family's adapter: it listens, and mapped connections live on it. NULL: none is usable. */
    weft_net_device_t *adapter;
    weft_net_listener_t *listener;
    weft_net_props_t props;
    weft_net_address_t address;
} weft_transport_t;

/* Returns the bytes of an address; one that is longer than the ABI allows counts as none. */
static inline uint8_t weft_transport_address_bytes(const weft_net_address_t *address)
{
    return address->bytes <= WEFT_NET_ADDRESS_MAX ? (uint8_t)address->bytes : 0;
}

/* Returns whether a communicator may make calls on the family's adapter; `first`: it is the
 * family's first. Others must keep off one that the first communicator drives itself. */
static inline bool weft_transport_serves(const weft_transport_t *transport, bool first)
{
    return transport->map != NULL || transport->attach != NULL || first;
}

/* Returns whether a message leaves its sender only once the receiver has posted a slot for it, as
 * adapters write to registered memory. Others have buffers in the system. */
static inline bool weft_transport_needs_slots(const weft_transport_t *transport)
{
    return transport->map == NULL && WEFT_HAS(transport->ops, weft_net_ops_t, reg);
}

#endif
