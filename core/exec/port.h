/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The hot path of ports: one interface over all kinds. Mapped ports are served inline. The other
 * kinds go through the table of port_base.h, except for the looks that every idle poll takes.
 * The thread that owns the communicator makes all calls; none blocks. */
#ifndef WEFT_EXEC_PORT_H
#define WEFT_EXEC_PORT_H

#include "core/exec/mapped_port.h"
#include "core/exec/message_port.h"

/* Returns whether there is room for the next message, of `bytes`. */
static inline bool weft_port_can_send(weft_port_t *port, uint64_t bytes)
{
    weft_assert(port->sends);
    return port->next < port->limit ||
           (port->kind == WEFT_PORT_MAPPED && weft_mapped_port_can_send(port, bytes));
}

/* Returns whether the next message is here. */
static inline bool weft_port_can_receive(weft_port_t *port)
{
    weft_assert(!port->sends);
    if (port->kind == WEFT_PORT_MAPPED) {
        return weft_mapped_port_can_receive(port);
    }
    return port->next < port->limit ||
           (port->kind == WEFT_PORT_GPUDIRECT && port->ops->can_receive(port));
}

/* Returns where the payload of the next message is, or goes. */
static inline void *weft_port_payload(const weft_port_t *port, uint64_t bytes)
{
    uint32_t at = weft_port_slot(port);
    if (port->kind == WEFT_PORT_MAPPED) {
        const weft_mapped_port_t *mapped = weft_mapped_port_const(port);
        if (bytes <= mapped->near_bytes) {
            return weft_mapped_port_near(port);
        }
        if (bytes <= mapped->small_bytes) {
            return mapped->small + weft_mapped_port_place(port) * mapped->small_bytes;
        }
        if (weft_device_words_hold(&mapped->words, port->next, bytes)) {
            return mapped->words.unpacked;
        }
    }
    if (port->kind == WEFT_PORT_MESSAGE && !port->sends) {
        void *apart = weft_message_port_const(port)->slot[at].apart;
        return apart != NULL ? apart : (void *)(port->payloads + at * port->stride);
    }
    return port->payloads + at * port->stride;
}

/* Returns whether a message of that length may say that its payload is not in the slot. */
static inline bool weft_port_may_be_apart(const weft_port_t *port, uint64_t bytes)
{
    return port->kind == WEFT_PORT_MAPPED && bytes > weft_mapped_port_const(port)->small_bytes;
}

/* Makes sure that the next slot has memory for a payload of `bytes`, before it is written.
 * ERR_RESOURCE, with the peer. */
static inline weft_status_t weft_port_commit(weft_port_t *port, uint64_t bytes)
{
    return port->kind == WEFT_PORT_MAPPED ? weft_mapped_port_commit(weft_mapped_port(port), bytes)
                                          : WEFT_OK;
}

/* Returns the signature of the next message. Shared memory: the peer can change it at any time. */
static inline const weft_signature_t *weft_port_signature(const weft_port_t *port)
{
    if (port->kind == WEFT_PORT_MAPPED) {
        return &weft_mapped_port_header(port)->signature;
    }
    return port->kind == WEFT_PORT_MESSAGE
               ? &weft_message_header(port->payloads + weft_port_slot(port) * port->stride)
                      ->signature
               : port->ops->signature(port);
}

/* Publishes the next message. Its payload is in the slot, or where `where` says: see
 * weft_zero_copy_describe(). Returns the failure of the connection. */
static inline weft_status_t weft_port_send(weft_port_t *port, const weft_signature_t *signature,
                                           uint64_t bytes, const weft_zero_copy_t *where)
{
    weft_assert(port->sends);
    if (port->kind == WEFT_PORT_MAPPED) {
        weft_mapped_port_send(port, signature, bytes, where);
        return WEFT_OK;
    }
    if (where != NULL && where->window != 0) {
        return weft_message_port_send_apart(port, signature, bytes,
                                            (const void *)(uintptr_t)where->offset);
    }
    return port->ops->send(port, signature, bytes);
}

/* Gives the slot of the consumed message back. Returns the failure of the connection. */
static inline weft_status_t weft_port_release(weft_port_t *port)
{
    weft_assert(!port->sends);
    if (port->kind == WEFT_PORT_MAPPED) {
        weft_mapped_port_release(port);
        return WEFT_OK;
    }
    return port->ops->release(port);
}

/* Returns whether every zero-copy message has been released by the peer. */
static inline bool weft_port_is_returned(weft_port_t *port)
{
    return port->kind != WEFT_PORT_MAPPED || weft_mapped_port_is_returned(port);
}

/* Returns whether messages to send are still in our slots. What is in shared memory counts as
 * sent. */
static inline bool weft_port_holds(const weft_port_t *port)
{
    return port->kind != WEFT_PORT_MAPPED && port->sends && port->limit != port->next + port->slots;
}

/* Returns whether a device waits for this port in vain. */
static inline bool weft_port_is_dry(const weft_port_t *port)
{
    return port->ops->is_dry(port);
}

#endif
