/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Meetings on a device: greetings, and what the leader of a block makes of those of its peers
 * (weft/plugin/draft/lanes.h). One line is stored to each peer, all of them behind one fence, and one
 * word is read of each that comes. All of them are words which messages have anyway. */
#ifndef KERNEL_CUDA_DEVICE_DEVICE_MEETING_H
#define KERNEL_CUDA_DEVICE_DEVICE_MEETING_H

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
    const lanes_port_t *ports = lanes_ports(run, b->at.channel);
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
    lanes_port_t *ports = lanes_ports(run, b->at.channel);
    for (uint32_t p = 0; p < run->program.nports; p++) {
        lanes_port_t *port = &ports[p];
        if (port->count != 0 && port->sends == sends &&
            !(sends != 0 ? lanes_port_can_send(b, port) : lanes_port_can_receive(b, port))) {
            return (int32_t)(port - run->ports);
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

/* Writes the greetings to the ports that the MOVE is the first to send to. */
static WEFT_DEVICE void lanes_greet_ports(const lanes_run_t *run, const lanes_member_t *m,
                                          uint32_t whole)
{
    for (uint32_t i = 0; i < m->move->ndst; i++) {
        lanes_port_t *port = m->port[i];
        if (port == NULL || port->greets != 0 || port->count == 0) {
            continue;
        }
        uint64_t *signature = lanes_port_signature(port);
        uint64_t *words = lanes_word(lanes_port_header(port), WEFT_FIFO_ZERO_COPY_WINDOW);
        for (uint32_t w = 0; w < WEFT_FIFO_SIGNATURE_WORDS; w++) {
            signature[w] = run->signature[w];
        }
        signature[0] |= WEFT_FIFO_GREETS | (whole != 0 ? WEFT_FIFO_WHOLE : 0);
        words[0] = whole != 0 ? port->in_at.window : 0;
        words[1] =
            whole != 0 ? port->in_at.offset + (uint64_t)(m->base[m->move->ndst] - run->in) : 0;
        port->greets = 1;
    }
}

/* Greets all peers that take part. In a program that meets, the first MOVE to send to a port has no
 * source but IN. */
static WEFT_DEVICE_CALL void lanes_greet(lanes_block_t *b, const lanes_run_t *run, uint32_t whole)
{
    lanes_port_t *ports = lanes_ports(run, b->at.channel);
    lanes_member_t *m = b->member;
    for (uint32_t pc = 0; b->code[pc].opcode != WEFT_LANES_STOP; pc++) {
        if (b->code[pc].opcode == WEFT_LANES_MOVE) {
            m->move = &run->program.moves[b->code[pc].n];
            m->operands = &run->program.operands[m->move->operand];
            m->done = 0;
            lanes_next(run, b, m);
            lanes_greet_ports(run, m, whole);
        }
    }
    device_publish_fence();
    for (uint32_t p = 0; p < run->program.nports; p++) {
        if (ports[p].greets != 0) {
            device_publish64(lanes_word(lanes_port_header(&ports[p]), WEFT_FIFO_HEADER_SEQUENCE),
                             ports[p].next + 1);
        }
    }
}

/* Reads the greetings, which are here. Returns whether all say that the run is whole. A peer that
 * runs on its host has sent its first message instead. */
static WEFT_DEVICE uint32_t lanes_meeting_agreed(lanes_block_t *b, const lanes_run_t *run,
                                                 uint32_t whole)
{
    lanes_port_t *ports = lanes_ports(run, b->at.channel);
    device_acquire_fence();
    b->found = 0;
    for (uint32_t p = 0; p < run->program.nports; p++) {
        lanes_port_t *port = &ports[p];
        if (port->sends != 0 || port->count == 0) {
            continue;
        }
        const uint64_t word = device_read64(lanes_port_signature(port));
        port->greets = (word & WEFT_FIFO_GREETS) != 0;
        whole &= port->greets & (uint32_t)((word & WEFT_FIFO_WHOLE) != 0);
    }
    return whole;
}

/* Releases the greetings: the run goes as if there had been none. */
static WEFT_DEVICE void lanes_meeting_part(const lanes_block_t *b, const lanes_run_t *run)
{
    lanes_port_t *ports = lanes_ports(run, b->at.channel);
    device_publish_fence();
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
    lanes_port_t *ports = lanes_ports(run, b->at.channel);
    device_publish_fence();
    for (uint32_t p = 0; p < run->program.nports; p++) {
        if (ports[p].sends == 0) {
            device_publish64(ports[p].released, ports[p].next);
        }
    }
}

#endif
