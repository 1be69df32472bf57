/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ports on a device: where the words of a slice are, and looks at them.
 *
 * Between two devices each end polls words in memory of its own device, into which the other end's device
 * stores. A peer that runs on its host stores into the host's memory instead. So each slice is told by
 * one of two headers, and as many slices are released as the greater of two words says. */
#ifndef KERNEL_CUDA_DEVICE_DEVICE_PORT_H
#define KERNEL_CUDA_DEVICE_DEVICE_PORT_H

#include "platform.h"
#include "run.h"

#define LANES_WAITS 15u /* look at what is rarely of use in one of 16 fruitless looks */

static WEFT_DEVICE uint64_t *lanes_word(uint8_t *line, uint64_t offset)
{
    return (uint64_t *)(void *)(line + offset);
}

/* The header of the next slice behind those of slot 0. */
static WEFT_DEVICE uint8_t *lanes_port_line(const lanes_port_t *port, uint8_t *headers)
{
    return headers + (port->next & port->mask) * WEFT_FIFO_HEADER_BYTES;
}

static WEFT_DEVICE uint8_t *lanes_port_header(const lanes_port_t *port)
{
    return lanes_port_line(port,
                           port->in_fifo != 0 ? port->fifo + WEFT_FIFO_HEADERS : port->headers);
}

/* Returns whether a look in vain at the words of devices is followed by one at those of hosts. Rarely:
 * they are in the host's memory. Each time while the peer's host runs its end. */
static WEFT_DEVICE int lanes_port_asks_host(lanes_port_t *port)
{
    return port->apart != 0 && ((++port->looks & LANES_WAITS) == 0 || port->by_host != 0);
}

static WEFT_DEVICE int lanes_port_can_receive(lanes_block_t *b, lanes_port_t *port)
{
    const uint64_t wanted = port->next + 1;
    uint8_t *near = lanes_port_line(port, port->headers);
    uint8_t *far = lanes_port_line(port, port->fifo + WEFT_FIFO_HEADERS);
    if (port->found == wanted) {
        return 1;
    }
    if (device_poll64(lanes_word(near, WEFT_FIFO_HEADER_SEQUENCE)) == wanted) {
        port->in_fifo = port->by_host = 0;
    } else if (lanes_port_asks_host(port) &&
               device_glance64(lanes_word(far, WEFT_FIFO_HEADER_SEQUENCE)) == wanted) {
        port->in_fifo = port->by_host = 1;
    } else {
        return 0;
    }
    port->found = wanted;
    b->found = 1;
    return 1;
}

/* Looks how many slices the peer has released. */
static WEFT_DEVICE void lanes_port_refresh(lanes_block_t *b, lanes_port_t *port)
{
    uint64_t limit = device_poll64(port->released) + port->slots;
    uint32_t by_host = 0;
    if (limit <= port->limit && lanes_port_asks_host(port)) {
        limit = device_glance64(lanes_word(port->fifo, WEFT_FIFO_RELEASED)) + port->slots;
        by_host = 1;
    }
    if (limit > port->limit) {
        port->limit = limit;
        port->by_host = by_host;
        b->found = 1;
    }
}

static WEFT_DEVICE int lanes_port_can_send(lanes_block_t *b, lanes_port_t *port)
{
    if (port->next >= port->limit) {
        lanes_port_refresh(b, port);
    }
    return port->next < port->limit;
}

/* Returns whether the peer has released every descriptor of this run. */
static WEFT_DEVICE int lanes_port_all_released(lanes_block_t *b, lanes_port_t *port)
{
    const uint64_t limit = port->zero_copied + port->slots;
    if (port->zero_copied != 0 && port->limit < limit) {
        lanes_port_refresh(b, port);
    }
    return port->zero_copied == 0 || port->limit >= limit;
}

static WEFT_DEVICE uint8_t *lanes_port_payload(const lanes_port_t *port)
{
    return port->payloads + (port->next & port->mask) * port->stride;
}

static WEFT_DEVICE uint8_t *lanes_port_inline(const lanes_port_t *port)
{
    return port->gpudirect ? lanes_port_payload(port)
                           : lanes_port_header(port) + WEFT_FIFO_HEADER_PAYLOAD;
}

static WEFT_DEVICE uint64_t *lanes_port_signature(const lanes_port_t *port)
{
    return lanes_word(port->gpudirect ? lanes_port_payload(port) - WEFT_MESSAGE_HEADER_BYTES
                                      : lanes_port_header(port) + WEFT_FIFO_HEADER_SIGNATURE,
                      0);
}

static WEFT_DEVICE lanes_port_t *lanes_ports(const lanes_run_t *run, uint32_t channel)
{
    return run->ports + (uint64_t)channel * run->program.nports;
}

#endif
