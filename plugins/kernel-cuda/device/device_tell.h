/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the peers of a MOVE are told of a slice: that it is there, or that its slot is free.
 *
 * A slice whose data is in place is held until the other threads copy the next one of its chunk, if
 * that is ready: so the leader's fence and stores take no time of theirs. It is told before the
 * leader waits for anything, so no peer waits for a slice that is held. */
#ifndef KERNEL_CUDA_DEVICE_DEVICE_TELL_H
#define KERNEL_CUDA_DEVICE_DEVICE_TELL_H

#include "device_flagged.h"
#include "device_port.h"
#include "platform.h"

static WEFT_DEVICE uint64_t lanes_signature(const lanes_run_t *run, const lanes_member_t *m,
                                            uint32_t word)
{
    if (run->program.messages != 0) {
        return m->signature[word];
    }
    return word == 1 && run->program.pairs ? m->count : run->signature[word];
}

/* Stores the flagged header of a slice of `bytes` bytes. `at` is its descriptor, or NULL. */
static WEFT_DEVICE void lanes_tell_flagged(const lanes_block_t *b, const lanes_port_t *port,
                                           uint64_t slice, const uint64_t *signature,
                                           uint64_t bytes, uint32_t form,
                                           const lanes_zero_copy_t *at)
{
    uint64_t head[WEFT_FIFO_FLAGGED_HEADER_WORDS];
    for (uint32_t w = 0; w < WEFT_FIFO_FLAGGED_HEADER_SIGNATURE; w++) {
        head[w] = b->inline_out[w];
    }
    if (bytes > b->inlined) {
        head[0] = at != NULL ? at->window : 0;
        head[1] = at != NULL ? at->offset : 0;
        head[2] = head[3] = 0; /* of hosts, which offer memory there */
    }
    for (uint32_t w = 0; w < WEFT_FIFO_SIGNATURE_WORDS; w++) {
        head[WEFT_FIFO_FLAGGED_HEADER_SIGNATURE + w] = signature[w];
    }
    head[WEFT_FIFO_FLAGGED_HEADER_FORM] = bytes << WEFT_FIFO_FORM_BITS | form;
    lanes_header_store(lanes_port_flagged_of(port, slice), slice + 1, head);
}

/* Writes the signature of a slice. */
static WEFT_DEVICE void lanes_sign(const lanes_block_t *b, const lanes_run_t *run,
                                   const lanes_member_t *m, uint32_t i, uint64_t bytes)
{
    const lanes_port_t *port = m->port[i];
    const lanes_zero_copy_t *at = &b->zero_copy[i];
    uint64_t *signature = lanes_port_signature(port);
    for (uint32_t w = 0; w < WEFT_FIFO_SIGNATURE_WORDS; w++) {
        signature[w] = lanes_signature(run, m, w);
    }
    if (port->gpudirect) {
        signature[WEFT_FIFO_SIGNATURE_WORDS] = bytes;
    }
    if (port->lengths != NULL) {
        port->lengths[port->next & port->mask] = (uint32_t)bytes;
    } else if (bytes > b->inlined) {
        uint64_t *words = lanes_word(lanes_port_header(port), WEFT_FIFO_ZERO_COPY_WINDOW);
        words[0] = at->window;
        words[1] = at->offset;
    }
}

/* Returns whether the peer of port i is told that a slice is there or released. In a whole run the
 * greeting has told the first slice, and all are released at the end. */
static WEFT_DEVICE uint32_t lanes_tells(const lanes_block_t *b, const lanes_member_t *m, uint32_t i)
{
    const lanes_port_t *port = m->port[i];
    return port != NULL && (b->whole == 0 || (port->sends != 0 && port->greets == 0));
}

/* Returns whether it is told behind a fence: the slice is neither in a flagged header nor in
 * flagged units. */
static WEFT_DEVICE uint32_t lanes_tells_behind(const lanes_block_t *b, const lanes_member_t *m,
                                               uint32_t i, uint64_t bytes)
{
    const lanes_port_t *port = m->port[i];
    const uint32_t ndst = m->move->ndst;
    return port->apart == 0 || port->in_fifo != 0 ||
           lanes_is_plain(b, i < ndst ? b->form[i] : lanes_head_form(b->head[i - ndst]), bytes);
}

/* Tells the peer of port i of the slice that is held. */
static WEFT_DEVICE void lanes_tell(const lanes_block_t *b, const lanes_run_t *run,
                                   const lanes_member_t *m, uint32_t i)
{
    const lanes_port_t *port = m->port[i];
    if (i >= m->move->ndst) {
        device_publish64(port->released, port->next);
    } else if (port->apart != 0) {
        uint64_t signature[WEFT_FIFO_SIGNATURE_WORDS];
        for (uint32_t w = 0; w < WEFT_FIFO_SIGNATURE_WORDS; w++) {
            signature[w] = lanes_signature(run, m, w);
        }
        lanes_tell_flagged(b, port, port->next - 1, signature, b->held.bytes, b->held.form[i],
                           &b->held.zero_copy[i]);
    } else {
        device_publish64(
            lanes_word(lanes_port_header_of(port, port->next - 1), WEFT_FIFO_HEADER_SEQUENCE),
            port->next);
    }
}

/* Publishes and releases the slots of the slice that is held, if one is. Where one of them needs
 * it, behind one fence of the whole system. */
static WEFT_DEVICE_CALL void lanes_publish(lanes_block_t *b, const lanes_run_t *run,
                                           const lanes_member_t *m)
{
    const uint32_t told = b->held.told;
    if (told == 0) {
        return;
    }
    b->held.told = 0;
    if (b->held.behind != 0) {
        device_publish_fence();
    }
    for (uint32_t i = 0; told >> i != 0; i++) {
        if ((told >> i & 1) != 0) {
            lanes_tell(b, run, m, i);
        }
    }
}

/* Holds a slice whose data is in place, and signs it. Ports go on to the next one. */
static WEFT_DEVICE void lanes_hold(lanes_block_t *b, const lanes_run_t *run,
                                   const lanes_member_t *m, uint64_t bytes)
{
    const uint32_t ndst = m->move->ndst, all = ndst + m->move->nsrc;
    lanes_held_t *held = &b->held;
    held->behind = 0;
    held->bytes = bytes;
    for (uint32_t i = 0; i < all; i++) {
        lanes_port_t *port = m->port[i];
        if (lanes_tells(b, m, i)) {
            held->told |= 1u << i;
            held->behind |= lanes_tells_behind(b, m, i, bytes);
            if (i < ndst && port->apart == 0) {
                lanes_sign(b, run, m, i, bytes);
            }
        }
        if (i < ndst) {
            held->zero_copy[i] = b->zero_copy[i];
            held->form[i] = b->form[i];
        }
        if (port != NULL) {
            port->next++;
            port->greets = 0;
        }
    }
}

#endif
