/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MOVEs on a device: the addresses of their operands, chunk by chunk. */
#ifndef KERNEL_CUDA_DEVICE_MOVES_H
#define KERNEL_CUDA_DEVICE_MOVES_H

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
            m->port[i] = &b->tables.ports[o->index];
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
static WEFT_DEVICE lanes_port_t *lanes_message_port(const lanes_block_t *b,
                                                    const weft_lanes_operand_t *o, uint64_t chunk)
{
    return &b->tables.ports[o->index + ((uint32_t)chunk & ((uint32_t)o->stride - 1))];
}

/* Reads what a bundle says of the message of a MOVE, which is in the host's memory: once. Aims at
 * the first chunk of the MOVE. */
static WEFT_DEVICE void lanes_message_begin(const lanes_run_t *run, const lanes_block_t *b,
                                            lanes_member_t *m)
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
            m->port[i] = lanes_message_port(b, o, m->move->after);
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
static WEFT_DEVICE void lanes_message_next(const lanes_run_t *run, const lanes_block_t *b,
                                           lanes_member_t *m)
{
    const uint32_t all = (uint32_t)m->move->ndst + m->move->nsrc;
    const uint64_t chunk = (uint64_t)m->done * m->move->cnt + m->move->after;
    if (m->done == 0) {
        lanes_message_begin(run, b, m);
    }
    m->slice = 0;
    m->chunk = lanes_clip(chunk * m->step, m->step, m->count);
    m->finished = chunk > 0 && m->chunk == 0;
    for (uint32_t i = 0; m->done > 0 && !m->finished && i < all; i++) {
        if (m->port[i] == NULL) {
            m->base[i] += m->move->cnt * m->step * run->program.elem;
        } else {
            m->port[i] = lanes_message_port(b, &m->operands[i], chunk);
        }
    }
}

/* Advances to the next chunk that is not left out. */
static WEFT_DEVICE_CALL void lanes_next(const lanes_run_t *run, const lanes_block_t *b,
                                        lanes_member_t *m)
{
    if (run->program.messages != 0) {
        lanes_message_next(run, b, m);
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

#endif
