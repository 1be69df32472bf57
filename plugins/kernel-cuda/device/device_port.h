/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ports on a device: where the words of a slice are, and looks at them.
 *
 * Between two devices each end polls words in memory of its own device, into which the other end's
 * device stores: flagged headers (device_flagged.h), and what is released. A peer that runs on its
 * host stores into the host's memory instead. So each slice is told by one of two headers, and as
 * many slices are released as the greater of two words says. */
#ifndef KERNEL_CUDA_DEVICE_DEVICE_PORT_H
#define KERNEL_CUDA_DEVICE_DEVICE_PORT_H

#include "device_flagged.h"

#define LANES_WAITS 15u /* look at what is rarely of use in one of 16 fruitless looks */

static WEFT_DEVICE uint64_t *lanes_word(uint8_t *line, uint64_t offset)
{
    return (uint64_t *)(void *)(line + offset);
}

/* The header of a slice in `fifo`. */
static WEFT_DEVICE uint8_t *lanes_port_header_of(const lanes_port_t *port, uint64_t slice)
{
    return port->fifo + WEFT_FIFO_HEADERS + (slice & port->mask) * WEFT_FIFO_HEADER_BYTES;
}

/* The flagged one. */
static WEFT_DEVICE uint64_t *lanes_port_flagged_of(const lanes_port_t *port, uint64_t slice)
{
    return lanes_word(port->headers, (slice & port->mask) * WEFT_FIFO_FLAGGED_HEADER_BYTES);
}

/* Those of the next slice. */
static WEFT_DEVICE uint8_t *lanes_port_header(const lanes_port_t *port)
{
    return lanes_port_header_of(port, port->next);
}

static WEFT_DEVICE uint64_t *lanes_port_flagged(const lanes_port_t *port)
{
    return lanes_port_flagged_of(port, port->next);
}

/* Returns whether a look in vain at the words of devices is followed by one at those of hosts.
 * Rarely: they are in the host's memory. Each time while the peer's host runs its end. */
static WEFT_DEVICE int lanes_port_asks_host(lanes_port_t *port)
{
    return port->apart != 0 && ((++port->looks & LANES_WAITS) == 0 || port->by_host != 0);
}

/* Form and length of the payload of a flagged header. */
static WEFT_DEVICE uint32_t lanes_head_form(const uint64_t *head)
{
    return (uint32_t)head[WEFT_FIFO_FLAGGED_HEADER_FORM] & ((1u << WEFT_FIFO_FORM_BITS) - 1);
}

static WEFT_DEVICE uint64_t lanes_head_bytes(const uint64_t *head)
{
    return head[WEFT_FIFO_FLAGGED_HEADER_FORM] >> WEFT_FIFO_FORM_BITS;
}

/* Whether a payload is where a fence is needed to see it: neither in a header nor flagged. */
static WEFT_DEVICE int lanes_is_plain(const lanes_block_t *b, uint32_t form, uint64_t bytes)
{
    return form == WEFT_FIFO_FORM_SLOT && bytes > b->inlined;
}

/* Looks for the header that a device stores, which is read whole. */
static WEFT_DEVICE int lanes_port_looks(lanes_block_t *b, lanes_port_t *port, uint64_t *head)
{
    const uint64_t wanted = port->next + 1;
    if (!lanes_header_load(lanes_port_flagged(port), wanted, head)) {
        return 0;
    }
    if (port->found != wanted) {
        port->found = wanted;
        port->in_fifo = port->by_host = 0;
        b->found |=
            lanes_is_plain(b, lanes_head_form(head), lanes_head_bytes(head)) ? LANES_FOUND_DATA : 0;
    }
    return 1;
}

/* Returns whether the next slice is here. *head is its header, if a device sent it. */
static WEFT_DEVICE int lanes_port_can_receive(lanes_block_t *b, lanes_port_t *port, uint64_t *head)
{
    const uint64_t wanted = port->next + 1;
    const uint64_t *sequence = lanes_word(lanes_port_header(port), WEFT_FIFO_HEADER_SEQUENCE);
    if (port->found == wanted && (port->apart == 0 || port->in_fifo != 0)) {
        return 1;
    }
    if (port->apart != 0) {
        if (lanes_port_looks(b, port, head)) {
            return 1;
        }
        if (!lanes_port_asks_host(port) || device_glance64(sequence) != wanted) {
            return 0;
        }
        port->in_fifo = port->by_host = 1;
    } else if (device_poll64(sequence) != wanted) {
        return 0;
    }
    port->found = wanted;
    b->found |= LANES_FOUND_DATA;
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
        b->found |= LANES_FOUND_ROOM;
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

/* How a payload of that length is sent, unless a descriptor is, as always in a whole run. */
static WEFT_DEVICE uint32_t lanes_port_form(const lanes_block_t *b, const lanes_port_t *port,
                                            uint64_t bytes)
{
    return bytes <= b->inlined || b->whole != 0 ? WEFT_FIFO_FORM_SLOT
           : bytes <= port->flagged.words_most  ? WEFT_FIFO_FORM_WORDS
           : bytes <= port->flagged.lines_most  ? WEFT_FIFO_FORM_LINES
                                                : WEFT_FIFO_FORM_SLOT;
}

/* The memory of the next slice's payload in that form, which is flagged. */
static WEFT_DEVICE uint64_t *lanes_port_units(const lanes_port_t *port, uint32_t form)
{
    const weft_lanes_flagged_t *of =
        form == WEFT_FIFO_FORM_WORDS ? &port->flagged.words : &port->flagged.lines;
    return lanes_word(of->memory, (port->next & port->mask) * of->stride);
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

/* The ports of a channel where they are between runs. */
static WEFT_DEVICE lanes_port_t *lanes_ports_far(const lanes_run_t *run, uint32_t channel)
{
    return run->ports + (uint64_t)channel * run->program.nports;
}

/* The number by which the host knows a port of the lane. */
static WEFT_DEVICE int32_t lanes_port_number(const lanes_block_t *b, const lanes_run_t *run,
                                             const lanes_port_t *port)
{
    return (int32_t)(b->at.channel * run->program.nports + (uint32_t)(port - b->tables.ports));
}

/* Returns the first port of the lane with descriptors that the peer has not released, or -1. */
static WEFT_DEVICE int32_t lanes_unreleased_port(lanes_block_t *b, const lanes_run_t *run)
{
    lanes_port_t *ports = b->tables.ports;
    for (uint32_t p = 0; b->zero_copied > 0 && p < run->program.nports; p++) {
        if (run->owner[p] == b->at.lane && !lanes_port_all_released(b, &ports[p])) {
            return lanes_port_number(b, run, &ports[p]);
        }
    }
    return -1;
}

/* The number of a port's next slice is where the run before left it, or, if the host has set the
 * number of any end since, in the host's memory. */
static WEFT_DEVICE void lanes_port_seek(lanes_port_t *port, uint64_t seeks)
{
    DEVICE_COUNT(SEEK, port->at);
    port->next = port->end->next = *port->at;
    port->end->seeks = seeks;
}

#endif
