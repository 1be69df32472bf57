/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Proxies: they let a device use a port that carries messages. A device knows FIFOs only
 * (api/weft/plugin/draft/lanes.h), so the proxy keeps one in host memory whose payloads are the
 * slots of the port. The host passes headers between FIFO and port. It copies no payload that does
 * not fit into a header. With slots on the device it passes on only that a message is there, and
 * its length.
 *
 * A port gets its proxy when a device first needs it. From then on each poll of the transport steps
 * it, whoever runs plans. A run of the host moves the port past sequence numbers that the FIFO
 * never had, so the proxy never takes the port's number for the device's. */
#ifndef WEFT_EXEC_PROXY_H
#define WEFT_EXEC_PROXY_H

#include "core/exec/message_port.h"

typedef struct weft_proxy {
    weft_message_port_t *message;
    uint8_t *memory; /* control block, headers, lengths: what the device registers */
    size_t bytes;
    weft_fifo_control_t *control;
    weft_slot_header_t *headers;
    uint32_t *lengths; /* of messages to send */
    /* Send: messages whose slots the transport has released. Receive: messages that the FIFO shows;
     * the device has released those below the port's `next`. */
    uint64_t passed;
} weft_proxy_t;

/* Gives a port its proxy, if it has none. The port owns it and gets a table that steps it.
 * ERR_RESOURCE. */
weft_status_t weft_proxy_ensure(weft_message_port_t *message);

/* Describes the FIFO to a device. */
void weft_proxy_describe(const weft_proxy_t *proxy, weft_lanes_port_t *port);

/* Passes on what can be passed on, and sets *moved_p if that was anything. Afterwards the port's
 * number is beyond every message that the device has published or released. A device that names
 * a length which no slot holds breaks the port. */
void weft_proxy_step(weft_proxy_t *proxy, bool *moved_p);

/* Returns whether the device waits for this port in vain: it is broken, and the device has taken
 * what came before. */
bool weft_proxy_is_dry(const weft_proxy_t *proxy);

/* Returns whether messages of a device wait in the slots of a port that works. */
bool weft_proxy_has_unsent(const weft_message_port_t *message);

#endif
