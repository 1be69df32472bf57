/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A relay: what lets a device use a port that carries messages. A device knows FIFOs only
 * (api/weft/plugin/lanes.h), so it gets one here, in memory of the host, whose payloads are the slots
 * of the port itself; the host passes on the heads, and copies no payload that does not fit into one. Where
 * the slots lie on the device it passes on only that a message is there, and its length.
 *
 * Made when a device first needs the port. From then on it is stepped wherever the transport is polled,
 * whoever runs plans: a run of the host moves port->next past numbers that the FIFO's words never had, so
 * a relay takes nothing of it for the device's. */
#ifndef WEFT_EXEC_RELAY_H
#define WEFT_EXEC_RELAY_H

#include "core/exec/port.h"

struct weft_relay {
    weft_port_t *port;
    uint8_t *memory; /* control block, heads, lengths: what the device registers */
    size_t bytes;
    weft_fifo_control_t *control;
    weft_slot_head_t *heads;
    uint32_t *lengths; /* of messages to send */
    uint64_t passed;   /* send: messages whose slots the transport has given back; receive: messages
                          that the FIFO shows; the device has taken port->next of them */
};

/* Gives a message port its relay (port->relay), if it has none; it goes with the port. ERR_RESOURCE. */
weft_status_t weft_relay_need(weft_port_t *port);
void weft_relay_destroy(weft_relay_t *relay);

/* Passes on what can be; *moved_p: something was. Afterwards port->next is beyond every message that the
 * device had published, or given back. A device that names a length which no slot holds breaks the port. */
void weft_relay_step(weft_relay_t *relay, bool *moved_p);

/* Whether a device that waits for this port does so in vain: it is broken, and what came before that
 * has been taken. */
bool weft_relay_is_dry(const weft_relay_t *relay);

/* The same for a port, which may have no relay. */
static inline bool weft_relay_port_is_dry(const weft_port_t *port)
{
    return port->relay != NULL && weft_relay_is_dry(port->relay);
}

#endif
