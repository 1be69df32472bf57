/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How long the chunk is that a MOVE has reached. Where only two ranks know a count, and this rank
 * passes the block on, the first message of the block tells it. */
#ifndef WEFT_EXEC_MEASURE_H
#define WEFT_EXEC_MEASURE_H

#include "core/exec/interpreter_state.h"

static inline uint32_t weft_measure_chunks(const weft_program_t *program, uint32_t kind)
{
    return kind == WEFT_OPERAND_IN    ? program->in_chunks
           : kind == WEFT_OPERAND_OUT ? program->out_chunks
                                      : program->tmp_chunks;
}

/* Returns the block that a chunk belongs to, and which of its k chunks it is. Most plans have
 * k = 1, and a division takes as long as ten other instructions. */
static inline uint32_t weft_measure_block(const weft_interpreter_t *run, uint32_t chunk,
                                          uint32_t *part_p)
{
    uint32_t k = run->segmentation.k;
    uint32_t block = k == 1 ? chunk : chunk / k;
    *part_p = chunk - block * k;
    return block;
}

/* Returns the elements of block `block` of IN or OUT. */
static inline uint64_t weft_measure_count(const weft_interpreter_t *run, uint32_t kind,
                                          uint32_t block)
{
    const weft_vectors_t *v = run->vectors;
    return v == NULL                 ? run->segmentation.count
           : kind == WEFT_OPERAND_IN ? v->in_counts[block]
                                     : v->out_counts[block];
}

/* Returns the element at which it starts. */
static inline uint64_t weft_measure_start(const weft_interpreter_t *run, uint32_t kind,
                                          uint32_t block)
{
    const weft_vectors_t *v = run->vectors;
    return v == NULL                 ? block * run->segmentation.count
           : kind == WEFT_OPERAND_IN ? v->in_displs[block]
                                     : v->out_displs[block];
}

/* Returns where a chunk of IN, OUT or TMP begins. */
static inline uintptr_t weft_measure_address(const weft_interpreter_t *run,
                                             const weft_plan_operand_t *o, uint32_t chunk,
                                             const weft_lane_run_t *lane)
{
    const weft_program_t *program = run->program;
    const weft_segmentation_t *g = &run->segmentation;
    if (o->kind == WEFT_OPERAND_TMP) {
        uint64_t before = (uint64_t)lane->channel * program->tmp_chunks + chunk;
        return run->buffers[WEFT_OPERAND_TMP] + before * g->chunk * program->elem;
    }
    uint32_t part, block = weft_measure_block(run, chunk, &part);
    uint64_t element =
        weft_measure_start(run, o->kind, block) + lane->pass * g->pass + part * g->chunk;
    return run->buffers[o->kind] + element * program->elem;
}

/* Returns the operand whose chunk says how long the MOVE is. */
static inline const weft_plan_operand_t *weft_measure_operand(const weft_member_t *m)
{
    uint32_t all = (uint32_t)m->move->ndst + m->move->nsrc;
    if ((m->move->flags & WEFT_PLAN_LIKE) != 0) {
        return &m->operands[all];
    }
    for (uint32_t i = 0; i < all; i++) {
        const weft_plan_operand_t *o = &m->operands[i];
        if (o->kind == WEFT_OPERAND_IN || o->kind == WEFT_OPERAND_OUT) {
            return o;
        }
    }
    return NULL;
}

/* Returns whether the MOVE passes on a block whose count this rank does not know. */
static inline bool weft_measure_is_learned(const weft_interpreter_t *run, const weft_member_t *m)
{
    return run->learned != NULL && m->operands[0].kind == WEFT_OPERAND_PORT &&
           m->operands[m->move->ndst].kind == WEFT_OPERAND_PORT;
}

/* Sets the length of the chunk from the count that the block has, if both ends of a port know it.
 * Returns false if they know that nothing of the block is left in this pass, and leave it out. The
 * first pass always sends, so that they can compare. */
static inline bool weft_measure_pair(const weft_interpreter_t *run, const weft_lane_run_t *lane,
                                     weft_member_t *m, uint64_t count)
{
    m->signature = run->signature;
    m->signature.count = count;
    return lane->pass == 0 || m->shape.chunk > 0;
}

/* Takes the count of a block from its first message, which has come, and makes the run long enough
 * for it. The plan has one chunk per block, and such a MOVE once in a pass
 * (core/plan/run_vector.c). */
static inline void weft_measure_learn(weft_interpreter_t *run, const weft_lane_run_t *lane,
                                      weft_member_t *m)
{
    const weft_segmentation_t *g = &run->segmentation;
    if (!weft_measure_is_learned(run, m) || m->slice > 0 || lane->pass > 0) {
        return;
    }
    uint64_t count = weft_port_signature(m->at[m->move->ndst].port)->count;
    uint64_t passes = count / g->pass + (count % g->pass != 0);
    run->learned[m->move - run->program->plan->moves] = count;
    run->segmentation.passes = passes > g->passes ? passes : g->passes;
    m->signature.count = count;
    m->shape.chunk = weft_segmentation_chunk(g, count, 0, 0);
}

/* Sets the length of the chunk that the MOVE has reached. Returns false if there is nothing to do
 * for it. */
static inline bool weft_measure(const weft_interpreter_t *run, const weft_lane_run_t *lane,
                                weft_member_t *m)
{
    const weft_program_t *program = run->program;
    uint32_t part = 0, chunk = 0, kind = WEFT_OPERAND_IN;
    uint64_t count;
    if (weft_measure_is_learned(run, m)) {
        /* In the first pass the length is not known before the message is there. */
        count = lane->pass == 0 ? 0 : run->learned[m->move - program->plan->moves];
    } else {
        const weft_plan_operand_t *o = weft_measure_operand(m);
        if (o != NULL) {
            kind = o->kind;
            chunk =
                weft_plan_chunk_at(o, weft_measure_chunks(program, kind), lane->iteration, m->done);
        }
        count = weft_measure_count(run, kind, weft_measure_block(run, chunk, &part));
    }
    m->shape.chunk = weft_segmentation_chunk(&run->segmentation, count, lane->pass, part);
    return program->pairs == WEFT_PAIRS_NONE || weft_measure_pair(run, lane, m, count);
}

#endif
