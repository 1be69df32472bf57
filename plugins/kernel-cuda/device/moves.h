/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MOVEs on a device: the addresses of their operands, and one slice of a MOVE from the check of its
 * ports to the release of its slots.
 *
 * A slice of at most 32 bytes is in one cache line with its sequence and signature, or at the begin
 * of a slot that an adapter reads or writes. The leader handles it alone: it reads it after one
 * acquire, combines in the block's memory and writes the line of the next slice, without waking
 * another thread. Larger slices are in the slots' payloads or in windows, and all threads move
 * them. */
#ifndef KERNEL_CUDA_DEVICE_MOVES_H
#define KERNEL_CUDA_DEVICE_MOVES_H

#include "device_combine.h"
#include "device_port.h"
#include "device_zero_copy.h"
#include "platform.h"

/* Operands
 * ----------------------------------------------------------------------------------------- */

static WEFT_DEVICE uint32_t lanes_operand_chunk(const weft_lanes_operand_t *o, uint32_t iteration,
                                                uint32_t j)
{
    if (o->stride == 0 && j == 0) {
        return o->index;
    }
    /* All below 2^16 (LANES_CHUNKS_MAX): no division of 64 bits, which is a call on a device. */
    const uint32_t chunks = o->chunks;
    const int32_t rest = o->stride % (int32_t)chunks;
    const uint32_t step = (uint32_t)(rest < 0 ? rest + (int32_t)chunks : rest);
    return (o->index % chunks + step * (iteration % chunks) % chunks + j % chunks) % chunks;
}

static WEFT_DEVICE uint64_t lanes_block_count(const lanes_run_t *run, uint32_t kind, uint32_t block)
{
    const uint64_t *counts =
        kind == WEFT_OPERAND_IN ? run->vectors.of.in_counts : run->vectors.of.out_counts;
    return counts == NULL ? run->segmentation.count : counts[block];
}

static WEFT_DEVICE uint64_t lanes_block_start(const lanes_run_t *run, uint32_t kind, uint32_t block)
{
    const uint64_t *displs =
        kind == WEFT_OPERAND_IN ? run->vectors.of.in_displs : run->vectors.of.out_displs;
    return displs == NULL ? block * run->segmentation.count : displs[block];
}

static WEFT_DEVICE uint8_t *lanes_operand_address(const lanes_run_t *run, const lanes_block_t *b,
                                                  uint32_t kind, uint32_t chunk)
{
    const weft_lanes_segmentation_t *seg = &run->segmentation;
    uint32_t elem = run->program.elem;
    if (kind == WEFT_OPERAND_TMP) {
        uint64_t before = (uint64_t)b->at.channel * run->program.tmp_chunks + chunk;
        return run->tmp + before * seg->chunk * elem;
    }
    uint64_t element = lanes_block_start(run, kind, chunk / seg->k) + b->at.pass * seg->pass +
                       chunk % seg->k * seg->chunk;
    /* Reading IN never writes it; and a chunk beyond the end of a buffer has an address and no
     * elements. */
    uintptr_t base = kind == WEFT_OPERAND_IN ? (uintptr_t)run->in : (uintptr_t)run->out;
    return (uint8_t *)(base + element * elem);
}

/* Elements of `whole` that lie in the part of `part` elements from `start` on. */
static WEFT_DEVICE uint64_t lanes_clip(uint64_t start, uint64_t part, uint64_t whole)
{
    if (start >= whole) {
        return 0;
    }
    return whole - start < part ? whole - start : part;
}

/* Members
 * ------------------------------------------------------------------------------------------ */

static WEFT_DEVICE const weft_lanes_operand_t *lanes_measure_of(const lanes_member_t *m)
{
    uint32_t all = (uint32_t)m->move->ndst + m->move->nsrc;
    if ((m->move->flags & WEFT_LANES_LIKE) != 0) {
        return &m->operands[all];
    }
    for (uint32_t i = 0; i < all; i++) {
        uint32_t kind = m->operands[i].kind;
        if (kind == WEFT_OPERAND_IN || kind == WEFT_OPERAND_OUT) {
            return &m->operands[i];
        }
    }
    return NULL;
}

/* Length of the chunk that the MOVE has reached. 0: both ends leave it out. */
static WEFT_DEVICE int lanes_measure(const lanes_run_t *run, const lanes_block_t *b,
                                     lanes_member_t *m)
{
    const weft_lanes_operand_t *o = lanes_measure_of(m);
    const weft_lanes_segmentation_t *seg = &run->segmentation;
    uint32_t chunk = 0, kind = WEFT_OPERAND_IN;
    if (o != NULL) {
        kind = o->kind;
        chunk = lanes_operand_chunk(o, b->at.iteration, m->done);
    }
    m->count = lanes_block_count(run, kind, chunk / seg->k);
    m->chunk =
        lanes_clip(b->at.pass * seg->pass + chunk % seg->k * seg->chunk, seg->chunk, m->count);
    return !run->program.pairs || b->at.pass == 0 || m->chunk > 0;
}

static WEFT_DEVICE int lanes_is_final(const lanes_run_t *run, const lanes_member_t *m)
{
    return run->program.final != 0 && (m->move->flags & WEFT_MOVE_FINAL) != 0;
}

/* Returns the operand that holds the sent data unchanged until the run ends, or LANES_NOT_STABLE:
 * the first destination in OUT, or the only source. */
static WEFT_DEVICE uint32_t lanes_stable_operand(const lanes_run_t *run, const lanes_member_t *m)
{
    uint32_t ndst = m->move->ndst, i = 0;
    if ((m->move->flags & run->stable) == 0) {
        return LANES_NOT_STABLE;
    }
    while (i < ndst && m->operands[i].kind != WEFT_OPERAND_OUT) {
        i++;
    }
    return i;
}

static WEFT_DEVICE void lanes_aim(const lanes_run_t *run, const lanes_block_t *b, lanes_member_t *m)
{
    uint32_t ndst = m->move->ndst, all = ndst + m->move->nsrc;
    m->pre_mask = 0;
    for (uint32_t i = 0; i < all; i++) {
        const weft_lanes_operand_t *o = &m->operands[i];
        if (o->kind == WEFT_OPERAND_PORT) {
            m->port[i] = &lanes_ports(run, b->at.channel)[o->index];
            m->base[i] = NULL;
            continue;
        }
        uint32_t chunk = lanes_operand_chunk(o, b->at.iteration, m->done);
        m->port[i] = NULL;
        m->base[i] = lanes_operand_address(run, b, o->kind, chunk);
        if (i >= ndst && o->kind == WEFT_OPERAND_IN && run->program.pre) {
            m->pre_mask |= 1u << (i - ndst);
        }
    }
    m->slice = 0;
    m->copies = m->move->nsrc == 1 && m->pre_mask == 0 && !lanes_is_final(run, m);
    m->stable_operand = lanes_stable_operand(run, m);
}

/* The port of chunk `chunk` of a message: they are taken in turn. */
static WEFT_DEVICE lanes_port_t *lanes_message_port(const lanes_run_t *run,
                                                    const weft_lanes_operand_t *o, uint64_t chunk)
{
    return &run->ports[o->index + ((uint32_t)chunk & ((uint32_t)o->stride - 1))];
}

/* Reads what a bundle says of the message of a MOVE, which is in the host's memory: once. Aims at the
 * first chunk of the MOVE. */
static WEFT_DEVICE void lanes_message_begin(const lanes_run_t *run, lanes_member_t *m)
{
    const uint32_t all = (uint32_t)m->move->ndst + m->move->nsrc;
    m->pre_mask = 0;
    m->copies = 1;
    m->stable_operand = LANES_NOT_STABLE;
    for (uint32_t i = 0; i < all; i++) {
        const weft_lanes_operand_t *o = &m->operands[i];
        m->port[i] = NULL;
        m->base[i] = NULL;
        if (o->kind == WEFT_OPERAND_PORT) {
            m->port[i] = lanes_message_port(run, o, m->move->after);
            continue;
        }
        const weft_lanes_message_t *message = &run->messages[o->index];
        m->count = message->count;
        m->step = message->slice;
        m->base[i] = (uint8_t *)message->memory + m->move->after * m->step * run->program.elem;
        for (uint32_t w = 0; w < WEFT_FIFO_SIGNATURE_WORDS; w++) {
            m->signature[w] = message->signature[w];
        }
    }
}

/* Advances to the next chunk of a message that is the MOVE's. */
static WEFT_DEVICE void lanes_message_next(const lanes_run_t *run, lanes_member_t *m)
{
    const uint32_t all = (uint32_t)m->move->ndst + m->move->nsrc;
    const uint64_t chunk = (uint64_t)m->done * m->move->cnt + m->move->after;
    if (m->done == 0) {
        lanes_message_begin(run, m);
    }
    m->slice = 0;
    m->chunk = lanes_clip(chunk * m->step, m->step, m->count);
    m->finished = chunk > 0 && m->chunk == 0;
    for (uint32_t i = 0; m->done > 0 && !m->finished && i < all; i++) {
        if (m->port[i] == NULL) {
            m->base[i] += m->move->cnt * m->step * run->program.elem;
        } else {
            m->port[i] = lanes_message_port(run, &m->operands[i], chunk);
        }
    }
}

/* Advances to the next chunk that is not left out. */
static WEFT_DEVICE_CALL void lanes_next(const lanes_run_t *run, const lanes_block_t *b,
                                        lanes_member_t *m)
{
    if (run->program.messages != 0) {
        lanes_message_next(run, m);
        return;
    }
    while (m->done < m->move->cnt && !lanes_measure(run, b, m)) {
        m->done++;
    }
    m->finished = m->done == m->move->cnt;
    if (!m->finished) {
        lanes_aim(run, b, m);
    }
}

/* One slice
 * ---------------------------------------------------------------------------------------- */

/* The first port that is not ready, or −1: then everything that the ports' words speak of is here. */
static WEFT_DEVICE int32_t lanes_blocker(lanes_block_t *b, const lanes_run_t *run,
                                         const lanes_member_t *m)
{
    uint32_t ndst = m->move->ndst, all = ndst + m->move->nsrc;
    for (uint32_t i = ndst; i < all; i++) {
        if (m->port[i] != NULL && !lanes_port_can_receive(b, m->port[i])) {
            return (int32_t)(m->port[i] - run->ports);
        }
    }
    for (uint32_t i = 0; i < ndst; i++) {
        if (m->port[i] != NULL && !lanes_port_can_send(b, m->port[i])) {
            return (int32_t)(m->port[i] - run->ports);
        }
    }
    if (b->found) {
        b->found = 0;
        device_acquire_fence();
    }
    return -1;
}

static WEFT_DEVICE uint64_t lanes_signature(const lanes_run_t *run, const lanes_member_t *m,
                                            uint32_t word)
{
    if (run->program.messages != 0) {
        return m->signature[word];
    }
    return word == 1 && run->program.pairs ? m->count : run->signature[word];
}

/* Copies first: the peer can write shared memory at any time. */
static WEFT_DEVICE int lanes_signatures_match(lanes_block_t *b, const lanes_run_t *run,
                                              const lanes_member_t *m)
{
    uint32_t ndst = m->move->ndst, all = ndst + m->move->nsrc;
    for (uint32_t i = ndst; i < all; i++) {
        uint64_t theirs[WEFT_FIFO_SIGNATURE_WORDS], differ = 0;
        if (m->port[i] == NULL) {
            continue;
        }
        const uint64_t *signature = lanes_port_signature(m->port[i]);
        for (uint32_t w = 0; w < WEFT_FIFO_SIGNATURE_WORDS; w++) {
            theirs[w] = device_read64(&signature[w]);
            if (w == 0 && b->whole != 0) {
                theirs[w] &= ~(WEFT_FIFO_GREETS | WEFT_FIFO_WHOLE);
            }
            differ |= theirs[w] ^ lanes_signature(run, m, w);
        }
        if (differ == 0) {
            continue;
        }
        b->record->mismatch = (int32_t)(m->port[i] - run->ports);
        b->record->mismatch_run = run->number;
        for (uint32_t w = 0; w < WEFT_FIFO_SIGNATURE_WORDS; w++) {
            b->record->mine[w] = lanes_signature(run, m, w);
            b->record->theirs[w] = theirs[w];
        }
        return 0;
    }
    return 1;
}

/* Finds the payloads of the sources, some of which may be in windows of the peers. Returns 0 if a
 * descriptor is invalid. */
static WEFT_DEVICE int lanes_zero_copy_sources(lanes_block_t *b, const lanes_run_t *run,
                                               const lanes_member_t *m, uint64_t bytes)
{
    uint32_t ndst = m->move->ndst;
    for (uint32_t i = 0; i < m->move->nsrc; i++) {
        lanes_port_t *port = m->port[ndst + i];
        b->source_at[i] = NULL;
        if (port == NULL || port->lengths != NULL || bytes <= b->inlined) {
            continue;
        }
        /* Copies: the peer can write shared memory at any time. */
        const uint64_t *words = lanes_word(lanes_port_header(port), WEFT_FIFO_ZERO_COPY_WINDOW);
        const lanes_zero_copy_t at = {device_read64(&words[0]), device_read64(&words[1])};
        if (at.window == 0 && b->whole == 0) {
            continue;
        }
        b->source_at[i] = lanes_zero_copy_target(port, &at, bytes, run->program.elem);
        if (b->source_at[i] == NULL) {
            b->record->mismatch = (int32_t)(port - run->ports);
            b->record->mismatch_run = run->number;
            b->record->bad_zero_copy = 1;
            return 0;
        }
    }
    return 1;
}

/* Decides which destinations get a descriptor instead of a copy. The receiver also sees data that
 * another lane of this device wrote there: this lane has acquired it, and publishes its slice with
 * a fence of the whole system, which is cumulative. */
static WEFT_DEVICE void lanes_zero_copy_slice(lanes_block_t *b, const lanes_run_t *run,
                                              const lanes_member_t *m, uint64_t bytes)
{
    uint64_t offset = m->slice * run->segmentation.slice * run->program.elem;
    for (uint32_t i = 0; i < m->move->ndst; i++) {
        lanes_port_t *port = m->port[i];
        b->zero_copy[i].window = b->zero_copy[i].offset = 0;
        if (port == NULL || port->lengths != NULL || m->stable_operand == LANES_NOT_STABLE ||
            bytes <= b->inlined) {
            continue;
        }
        b->zero_copy[i] = lanes_zero_copy_make(port, m->base[m->stable_operand] + offset, bytes);
        if (b->zero_copy[i].window != 0) {
            port->zero_copied = port->next + 1;
            b->zero_copied++;
        }
    }
}

/* Fills the part of a combination that does not depend on the operands' locations. */
static WEFT_DEVICE weft_combine_t *lanes_combination(lanes_block_t *b, const lanes_run_t *run,
                                                     const lanes_member_t *m, uint64_t count)
{
    weft_combine_t *c = &b->combine;
    c->count = count;
    c->nsrc = m->move->nsrc;
    c->ndst = 0;
    c->pre_mask = m->pre_mask;
    c->nt_mask = 0;
    c->flags = lanes_is_final(run, m) ? WEFT_COMBINE_FINAL : 0;
    c->nranks = run->program.nranks;
    c->scalar = m->pre_mask != 0 ? &b->scalar : NULL;
    return c;
}

/* A function of its own: the arithmetic is large. */
static WEFT_DEVICE_CALL void lanes_combine(const lanes_block_t *b, const lanes_run_t *run,
                                           uint32_t thread, uint32_t threads)
{
    cuda_combine(run->program.dtype, run->program.op, &b->combine, thread, threads);
}

/* One more destination, unless that would copy memory onto itself. */
static WEFT_DEVICE void lanes_add_destination(weft_combine_t *c, const lanes_member_t *m,
                                              uint8_t *to)
{
    if (!(m->copies && to == c->src[0])) {
        c->dst[c->ndst++] = to;
    }
}

/* Sets up a combination of payloads in slots or windows, for all threads. */
static WEFT_DEVICE void lanes_combine_slots(lanes_block_t *b, const lanes_run_t *run,
                                            const lanes_member_t *m, uint64_t count)
{
    weft_combine_t *c = lanes_combination(b, run, m, count);
    uint64_t offset = m->slice * run->segmentation.slice * run->program.elem;
    for (uint32_t i = 0; i < c->nsrc; i++) {
        uint32_t at = m->move->ndst + i;
        c->src[i] = m->port[at] == NULL       ? m->base[at] + offset
                    : b->source_at[i] != NULL ? b->source_at[i]
                                              : lanes_port_payload(m->port[at]);
    }
    for (uint32_t i = 0; i < m->move->ndst; i++) {
        if (b->zero_copy[i].window == 0) {
            lanes_add_destination(
                c, m, m->port[i] == NULL ? m->base[i] + offset : lanes_port_payload(m->port[i]));
        }
    }
    if (c->ndst == 0) {
        return;
    }
    device_barrier();
    if (device_leader_copies()) { /* on a device see lanes_follow() */
        lanes_combine(b, run, 0, 1);
    }
    device_barrier();
}

/* Combines payloads in headers; the leader does it alone. */
static WEFT_DEVICE void lanes_combine_inline(lanes_block_t *b, const lanes_run_t *run,
                                             const lanes_member_t *m, uint64_t count)
{
    weft_combine_t *c = lanes_combination(b, run, m, count);
    uint64_t offset = m->slice * run->segmentation.slice * run->program.elem;
    uint32_t ndst = m->move->ndst, ports = 0;
    for (uint32_t i = 0; i < c->nsrc; i++) {
        lanes_port_t *port = m->port[ndst + i];
        if (port == NULL) {
            c->src[i] = m->base[ndst + i] + offset;
            continue;
        }
        device_copy32(b->inline_in[i], lanes_port_inline(port));
        c->src[i] = b->inline_in[i];
    }
    for (uint32_t i = 0; i < ndst; i++) {
        if (m->port[i] == NULL) {
            lanes_add_destination(c, m, m->base[i] + offset);
        } else if (ports++ == 0) {
            c->dst[c->ndst++] = b->inline_out;
        }
    }
    if (c->ndst > 0) {
        lanes_combine(b, run, 0, 1);
    }
    for (uint32_t i = 0; ports > 0 && i < ndst; i++) {
        if (m->port[i] != NULL) {
            device_copy32(lanes_port_inline(m->port[i]), b->inline_out);
        }
    }
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

/* Publishes and releases slots after the data is in place, behind one fence of the whole system. */
static WEFT_DEVICE void lanes_publish(const lanes_block_t *b, const lanes_run_t *run,
                                      const lanes_member_t *m, uint64_t bytes)
{
    uint32_t ndst = m->move->ndst, all = ndst + m->move->nsrc, told = 0;
    for (uint32_t i = 0; i < all; i++) {
        told |= lanes_tells(b, m, i) << i;
        if (i < ndst && (told >> i & 1) != 0) {
            lanes_sign(b, run, m, i, bytes);
        }
    }
    if (told != 0) {
        device_publish_fence();
    }
    for (uint32_t i = 0; i < all; i++) {
        lanes_port_t *port = m->port[i];
        if (port == NULL) {
            continue;
        }
        uint64_t *word = i < ndst ? lanes_word(lanes_port_header(port), WEFT_FIFO_HEADER_SEQUENCE)
                                  : port->released;
        port->next++;
        if (b->whole != 0) {
            port->greets = 0;
        }
        if ((told >> i & 1) != 0) {
            device_publish64(word, port->next);
        }
    }
}

static WEFT_DEVICE_CALL uint32_t lanes_slice(lanes_block_t *b, const lanes_run_t *run,
                                             lanes_member_t *m)
{
    int32_t blocker = lanes_blocker(b, run, m);
    if (blocker >= 0) {
        b->idle.blocked = blocker;
        return LANES_BLOCKED;
    }
    if (!lanes_signatures_match(b, run, m)) {
        return LANES_MISMATCH;
    }
    uint64_t count =
        lanes_clip(m->slice * run->segmentation.slice, run->segmentation.slice, m->chunk);
    uint64_t bytes = count * run->program.elem;
    if (!lanes_zero_copy_sources(b, run, m, bytes)) {
        return LANES_MISMATCH;
    }
    lanes_zero_copy_slice(b, run, m, bytes);
    if (count > 0) {
        if (bytes <= b->inlined) {
            lanes_combine_inline(b, run, m, count);
        } else {
            lanes_combine_slots(b, run, m, count);
        }
    }
    lanes_publish(b, run, m, bytes);
    b->moved++;
    if (++m->slice == run->segmentation.slices) {
        m->done++;
        lanes_next(run, b, m);
    }
    return LANES_COMPLETED;
}

#endif
