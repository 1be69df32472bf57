/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Meetings on a device: greetings, and what the leader of a block makes of those of its peers
 * (weft/plugin/draft/lanes.h). One header is stored to each peer, and one read of each. Only
 * headers that name memory, or are not flagged, are behind a fence, all behind one. */
#ifndef KERNEL_CUDA_DEVICE_DEVICE_MEETING_H
#define KERNEL_CUDA_DEVICE_DEVICE_MEETING_H

#include "device_flagged.h"
#include "device_port.h"
#include "moves.h"

/* Finds the memory of the run in the windows of a port that sends. `port->count` is known. */
static WEFT_DEVICE void lanes_meeting_aim(const lanes_run_t *run, lanes_port_t *port)
{
    port->greets = 0;
    port->in_at.window = port->in_at.offset = 0;
    if (run->meeting.meets == 0 || run->meeting.may == 0 || port->sends == 0 || port->count == 0 ||
        (run->meeting.out_bytes > 0 &&
         lanes_zero_copy_make(port, run->out, run->meeting.out_bytes).window == 0)) {
        return;
    }
    port->in_at = lanes_zero_copy_make(port, run->in, run->meeting.in_bytes);
}

/* Stores in *whole_p whether this rank can be whole: the peers read all that it sends, and it reads
 * all that they send. Returns whether any peer takes part in the meeting. */
static WEFT_DEVICE uint32_t lanes_meeting_begin(const lanes_block_t *b, const lanes_run_t *run,
                                                uint32_t *whole_p)
{
    const lanes_port_t *ports = b->tables.ports;
    uint32_t some = 0, whole = run->meeting.may;
    for (uint32_t p = 0; p < run->program.nports; p++) {
        some |= ports[p].count != 0;
        whole &= ports[p].sends != 0 ? ports[p].in_at.window != 0 : ports[p].count != 0;
    }
    *whole_p = whole;
    return some;
}

/* Returns the first port that has no room for a greeting (`sends`), or none to be read, or -1. */
static WEFT_DEVICE int32_t lanes_meeting_blocker(lanes_block_t *b, const lanes_run_t *run,
                                                 uint32_t sends)
{
    lanes_port_t *ports = b->tables.ports;
    for (uint32_t p = 0; p < run->program.nports; p++) {
        lanes_port_t *port = &ports[p];
        if (port->count != 0 && port->sends == sends &&
            !(sends != 0 ? lanes_port_can_send(b, port)
                         : lanes_port_can_receive(b, port, b->head[0]))) {
            return lanes_port_number(b, run, port);
        }
    }
    return -1;
}

/* Exchanges the two segmentations of the run, of which its lane uses the first. */
static WEFT_DEVICE void lanes_meeting_turn(lanes_run_t *run)
{
    uint64_t *a = (uint64_t *)(void *)&run->segmentation,
             *b = (uint64_t *)(void *)&run->meeting.whole;
    for (uint32_t w = 0; w < sizeof run->meeting.whole / sizeof(uint64_t); w++) {
        const uint64_t word = a[w];
        a[w] = b[w];
        b[w] = word;
    }
}

/* Writes a greeting to where hosts read headers, too. */
static WEFT_DEVICE void lanes_greet_plain(const lanes_run_t *run, const lanes_port_t *port,
                                          uint64_t mark)
{
    uint64_t *signature = lanes_port_signature(port);
    uint64_t *words = lanes_word(lanes_port_header(port), WEFT_FIFO_ZERO_COPY_WINDOW);
    for (uint32_t w = 0; w < WEFT_FIFO_SIGNATURE_WORDS; w++) {
        signature[w] = run->signature[w] | (w == 0 ? mark : 0);
    }
    words[0] = port->in_at.window;
    words[1] = port->in_at.offset;
}

/* Stores one for a device. */
static WEFT_DEVICE void lanes_greet_flagged(const lanes_run_t *run, const lanes_port_t *port,
                                            uint64_t mark)
{
    uint64_t head[WEFT_FIFO_FLAGGED_HEADER_WORDS] = {port->in_at.window, port->in_at.offset, 0, 0};
    for (uint32_t w = 0; w < WEFT_FIFO_SIGNATURE_WORDS; w++) {
        head[WEFT_FIFO_FLAGGED_HEADER_SIGNATURE + w] = run->signature[w] | (w == 0 ? mark : 0);
    }
    head[WEFT_FIFO_FLAGGED_HEADER_FORM] =
        (uint64_t)port->greeting << WEFT_FIFO_FORM_BITS | WEFT_FIFO_FORM_SLOT;
    lanes_header_store(lanes_port_flagged(port), port->next + 1, head);
}

/* Makes the greetings to the ports that the MOVE is the first to send to. Returns whether they have
 * to be told behind a fence: they name memory, or are not flagged. */
static WEFT_DEVICE uint32_t lanes_greet_ports(const lanes_run_t *run, const lanes_member_t *m,
                                              uint32_t whole, uint64_t mark)
{
    uint32_t behind = whole;
    for (uint32_t i = 0; i < m->move->ndst; i++) {
        lanes_port_t *port = m->port[i];
        if (port == NULL || port->greets != 0 || port->count == 0) {
            continue;
        }
        port->greets = 1;
        port->greeting = whole != 0 ? (uint32_t)(m->chunk * run->program.elem) : 0;
        port->in_at.window = whole != 0 ? port->in_at.window : 0;
        port->in_at.offset += (uint64_t)(m->base[m->move->ndst] - run->in);
        if (port->apart == 0) {
            lanes_greet_plain(run, port, mark);
            behind = 1;
        }
    }
    return behind;
}

/* Greets all peers that take part. In a program that meets, the first MOVE to send to a port has no
 * source but IN. */
static WEFT_DEVICE_CALL void lanes_greet(lanes_block_t *b, const lanes_run_t *run, uint32_t whole)
{
    const uint64_t mark = WEFT_FIFO_GREETS | (whole != 0 ? WEFT_FIFO_WHOLE : 0);
    lanes_port_t *ports = b->tables.ports;
    lanes_member_t *m = b->active.member;
    uint32_t behind = 0;
    for (uint32_t pc = 0; b->tables.code[pc].opcode != WEFT_LANES_STOP; pc++) {
        if (b->tables.code[pc].opcode == WEFT_LANES_MOVE) {
            m->move = &b->tables.moves[b->tables.code[pc].n];
            m->operands = &b->tables.operands[m->move->operand];
            m->done = 0;
            lanes_next(run, b, m);
            behind |= lanes_greet_ports(run, m, whole, mark);
        }
    }
    if (behind != 0) {
        device_publish_fence();
    }
    for (uint32_t p = 0; p < run->program.nports; p++) {
        lanes_port_t *port = &ports[p];
        if (port->greets != 0 && port->apart != 0) {
            lanes_greet_flagged(run, port, mark);
        } else if (port->greets != 0) {
            device_publish64(lanes_word(lanes_port_header(port), WEFT_FIFO_HEADER_SEQUENCE),
                             port->next + 1);
        }
    }
}

/* The first word of the signature of what came first; 0: a host sent that, which never greets. */
static WEFT_DEVICE uint64_t lanes_meeting_word(lanes_block_t *b, lanes_port_t *port)
{
    if (port->apart == 0) {
        return device_read64(lanes_port_signature(port));
    }
    return port->in_fifo == 0 && lanes_port_looks(b, port, b->head[0])
               ? b->head[0][WEFT_FIFO_FLAGGED_HEADER_SIGNATURE]
               : 0;
}

/* Reads the greetings, which are here. Returns whether all say that the run is whole. A peer that
 * runs on its host has sent its first message instead. */
static WEFT_DEVICE uint32_t lanes_meeting_agreed(lanes_block_t *b, const lanes_run_t *run,
                                                 uint32_t whole)
{
    lanes_port_t *ports = b->tables.ports;
    if (whole != 0 || (b->found & LANES_FOUND_DATA) != 0) {
        device_acquire_fence();
        b->found = 0;
    }
    for (uint32_t p = 0; p < run->program.nports; p++) {
        lanes_port_t *port = &ports[p];
        if (port->sends != 0 || port->count == 0) {
            continue;
        }
        const uint64_t word = lanes_meeting_word(b, port);
        port->greets = (word & WEFT_FIFO_GREETS) != 0;
        whole &= port->greets & (uint32_t)((word & WEFT_FIFO_WHOLE) != 0);
    }
    return whole;
}

/* Releases the greetings: the run goes as if there had been none. */
static WEFT_DEVICE void lanes_meeting_part(const lanes_block_t *b, const lanes_run_t *run)
{
    lanes_port_t *ports = b->tables.ports;
    uint32_t behind = 0;
    for (uint32_t p = 0; p < run->program.nports; p++) {
        behind |= ports[p].greets & (uint32_t)(ports[p].sends == 0 && ports[p].apart == 0);
    }
    if (behind != 0) {
        device_publish_fence();
    }
    for (uint32_t p = 0; p < run->program.nports; p++) {
        lanes_port_t *port = &ports[p];
        port->next += port->greets;
        if (port->greets != 0 && port->sends == 0) {
            device_publish64(port->released, port->next);
        }
        port->greets = 0;
    }
}

/* Releases all slices of a whole run, behind one fence: the peers may change what was read. */
static WEFT_DEVICE void lanes_meeting_release(const lanes_block_t *b, const lanes_run_t *run)
{
    lanes_port_t *ports = b->tables.ports;
    device_publish_fence();
    for (uint32_t p = 0; p < run->program.nports; p++) {
        if (ports[p].sends == 0) {
            device_publish64(ports[p].released, ports[p].next);
        }
    }
}

#endif
