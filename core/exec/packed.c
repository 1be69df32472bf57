/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packed MOVEs. All chunks of one have the same length (core/plan/well_formed.c), so piece j of a
 * message begins j slices behind its start. */
#include "core/exec/packed.h"

#include "core/exec/combination.h"
#include "core/exec/measure.h"

/* Where the operands are: of ports the message, of memory the number of the chunk. */
typedef struct packed {
    uint8_t *message[2 * WEFT_MOVE_MAX]; /* by operand; NULL: memory */
    size_t offset;                       /* of the slice in its chunk */
    size_t bytes;                        /* of a piece */
} packed_t;

/* Makes sure that the slots of all messages to send have memory. */
static weft_status_t packed_commit(weft_interpreter_t *run, const weft_member_t *m, uint64_t bytes)
{
    for (uint32_t i = 0; i < m->move->ndst; i++) {
        weft_port_t *port = (m->shape.sends >> i & 1) != 0 ? m->at[i].port : NULL;
        weft_status_t status = port != NULL ? weft_port_commit(port, bytes) : WEFT_OK;
        if (status != WEFT_OK) {
            run->blocked = port;
            return status;
        }
    }
    return WEFT_OK;
}

static void packed_find_messages(const weft_member_t *m, packed_t *p)
{
    uint32_t ports = m->shape.sends | m->shape.receives;
    for (uint32_t i = 0; i < (uint32_t)m->move->ndst + m->move->nsrc; i++) {
        p->message[i] = (ports >> i & 1) != 0
                            ? weft_port_payload(m->at[i].port, m->move->cnt * p->bytes)
                            : NULL;
    }
}

/* Returns where piece `j` of an operand is. */
static void *packed_at(const weft_interpreter_t *run, const weft_lane_run_t *lane,
                       const weft_member_t *m, const packed_t *p, uint32_t i, uint32_t j)
{
    const weft_plan_operand_t *o = &m->operands[i];
    if (p->message[i] != NULL) {
        return p->message[i] + j * p->bytes;
    }
    uint32_t chunk = weft_plan_chunk_at(o, weft_measure_chunks(run->program, o->kind),
                                        lane->iteration * m->move->cnt + j, 0);
    return (void *)(weft_measure_address(run, o, chunk, lane) + p->offset);
}

static weft_status_t packed_combine_piece(const weft_interpreter_t *run,
                                          const weft_lane_run_t *lane, const weft_member_t *m,
                                          const packed_t *p, uint32_t j, uint64_t count)
{
    bool copies = m->shape.packs == WEFT_PACKS_COPIES;
    weft_combine_t c = {
        .count = count, .nsrc = m->move->nsrc, .pre_mask = m->shape.pre_mask, .nt_mask = 0};
    for (uint32_t i = 0; i < c.nsrc; i++) {
        c.src[i] = packed_at(run, lane, m, p, m->move->ndst + i, j);
    }
    for (uint32_t i = 0; i < m->move->ndst; i++) {
        void *to = packed_at(run, lane, m, p, i, j);
        if (!copies || to != c.src[0]) { /* no copy goes onto itself */
            c.dst[c.ndst++] = to;
        }
    }
    return c.ndst > 0 ? weft_combination_run(run, m->move, &c, copies) : WEFT_OK;
}

weft_status_t weft_packed_combine(weft_interpreter_t *run, const weft_lane_run_t *lane,
                                  weft_member_t *m, uint64_t count)
{
    size_t elem = run->program->elem;
    uint32_t pieces = m->move->cnt;
    packed_t p = {.offset = m->slice * run->segmentation.slice * elem, .bytes = count * elem};
    bool near = pieces * p.bytes <= run->program->memory.near_bytes; /* in headers of slots */
    weft_status_t status = near ? WEFT_OK : packed_commit(run, m, pieces * p.bytes);
    if (status != WEFT_OK) {
        return status;
    }
    m->sends_there = false; /* the messages are in several places here, so they go through slots */
    packed_find_messages(m, &p);
    for (uint32_t j = 0; status == WEFT_OK && count > 0 && j < pieces; j++) {
        status = packed_combine_piece(run, lane, m, &p, j, count);
    }
    return status;
}
