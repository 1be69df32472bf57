/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes one gpu of a program as a plan, and numbers the instructions for that. A tb is a lane with
 * at most one port out and one in. A step is one MOVE, or several where its chunks do not lie
 * alike: IN and OUT, FINAL or not. A queue cannot tell one MOVE of n chunks from n MOVEs. */
#include "msccl_emit.h"

#include "msccl.h"
#include "msccl_place.h"
#include "msccl_waits.h"

#define WALK_MAX (UINT64_C(1) << 28) /* steps looked at for the waits of one file */

/* What one chunk of a step is, as operands. */
typedef struct pattern {
    weft_operand_t src, acc, dst; /* kind NONE: not used */
    weft_operand_t like;
    bool final;
} pattern_t;

static weft_operand_t msccl_emit_operand(const msccl_program_t *program, uint32_t gpu,
                                         uint32_t place, bool written)
{
    uint32_t in = msccl_in_chunk(program, gpu, place), out = msccl_out_chunk(program, gpu, place);
    uint32_t tmp = msccl_tmp_chunk(program, place);
    if (tmp != MSCCL_NONE) {
        return weft_tmp(tmp, 0);
    }
    if (!written) {
        return weft_in(in, 0);
    }
    if (out != MSCCL_NONE) {
        return weft_out(out, 0);
    }
    uint32_t shadow = program->cells[program->gpus[gpu].cells + place].shadow;
    return weft_tmp(program->gpus[gpu].chunks[MSCCL_TMP] + shadow - 1, 0);
}

static bool msccl_emit_has_length(weft_operand_t at)
{
    return at.kind == WEFT_OPERAND_IN || at.kind == WEFT_OPERAND_OUT;
}

static pattern_t msccl_emit_pattern_of(const msccl_program_t *program, uint32_t gpu,
                                       const msccl_step_t *step, uint32_t chunk)
{
    const msccl_act_t *act = &msccl_acts[step->type];
    const msccl_mark_t *mark = &program->marks[step->mark + chunk];
    pattern_t pattern = {.final = mark->final};
    if (act->reads) {
        uint32_t place = msccl_place(program, gpu, step->src_buf, (uint32_t)step->src + chunk);
        pattern.src = msccl_emit_operand(program, gpu, place, mark->src_written);
    }
    if (act->writes) {
        uint32_t place = msccl_place(program, gpu, step->dst_buf, (uint32_t)step->dst + chunk);
        pattern.dst = msccl_emit_operand(program, gpu, place, true);
        if (act->accumulates) {
            pattern.acc = msccl_emit_operand(program, gpu, place, mark->dst_written);
        }
    }
    if (!msccl_emit_has_length(pattern.src) && !msccl_emit_has_length(pattern.acc) &&
        !msccl_emit_has_length(pattern.dst)) {
        pattern.like =
            program->coll == WEFT_ALL_GATHER ? weft_out(mark->name, 0) : weft_in(mark->name, 0);
    }
    return pattern;
}

void msccl_scratch_of(const msccl_program_t *program, uint32_t tb, const msccl_step_t *step,
                      uint32_t chunk, uint32_t use[2])
{
    pattern_t pattern = msccl_emit_pattern_of(program, program->tbs[tb].gpu, step, chunk);
    use[0] = pattern.src.kind == WEFT_OPERAND_TMP ? pattern.src.index : MSCCL_NONE;
    use[1] = pattern.dst.kind == WEFT_OPERAND_TMP ? pattern.dst.index : MSCCL_NONE;
}

static bool msccl_emit_follows(weft_operand_t next, weft_operand_t first, uint32_t by)
{
    return next.kind == first.kind &&
           (first.kind == WEFT_OPERAND_NONE || next.index == first.index + by);
}

/* True if `next` is `by` chunks after `first` in everything. */
static bool msccl_emit_continues(const pattern_t *next, const pattern_t *first, uint32_t by)
{
    return msccl_emit_follows(next->src, first->src, by) &&
           msccl_emit_follows(next->acc, first->acc, by) &&
           msccl_emit_follows(next->dst, first->dst, by) &&
           msccl_emit_follows(next->like, first->like, by) && next->final == first->final;
}

static void msccl_emit_write_move(const msccl_act_t *act, const pattern_t *pattern, uint32_t cnt,
                                  const msccl_writer_t *writer, weft_move_t *move)
{
    move->ndst = move->nsrc = 0;
    move->cnt = cnt;
    move->flags = pattern->final ? WEFT_MOVE_FINAL : 0;
    move->like = pattern->like;
    if (act->receives) {
        move->src[move->nsrc++] = weft_port(writer->receive_port);
    }
    if (act->accumulates) {
        move->src[move->nsrc++] = pattern->acc;
    }
    if (act->reads) {
        move->src[move->nsrc++] = pattern->src;
    }
    if (act->writes) {
        move->dst[move->ndst++] = pattern->dst;
    }
    if (act->sends) {
        move->dst[move->ndst++] = weft_port(writer->send_port);
    }
    writer->builder->move(writer->builder, writer->lane, move);
    move->nafter = 0; /* the first MOVE has waited for the others */
}

static uint32_t msccl_write_step(const msccl_program_t *program, uint32_t tb,
                                 const msccl_step_t *step, const msccl_writer_t *writer,
                                 weft_move_t *move)
{
    uint32_t gpu = program->tbs[tb].gpu, moves = 0, first = 0, cnt = (uint32_t)step->cnt;
    while (first < cnt) {
        pattern_t pattern = msccl_emit_pattern_of(program, gpu, step, first);
        uint32_t by = 1;
        for (; first + by < cnt; by++) {
            pattern_t next = msccl_emit_pattern_of(program, gpu, step, first + by);
            if (!msccl_emit_continues(&next, &pattern, by)) {
                break;
            }
        }
        if (writer->builder != NULL) {
            msccl_emit_write_move(&msccl_acts[step->type], &pattern, by, writer, move);
        }
        moves++;
        first += by;
    }
    return moves;
}

/* More waits than a MOVE has are spread over copies that nobody reads. */
static void msccl_emit_write_waits(const msccl_program_t *program, const msccl_tb_t *tb,
                                   uint32_t waits, const uint32_t steps[MSCCL_LANES_MAX],
                                   const msccl_writer_t *writer, weft_move_t *move)
{
    const msccl_gpu_t *gpu = &program->gpus[tb->gpu];
    for (uint32_t t = 0, left = waits; t < gpu->ntbs; t++) {
        if (steps[t] == 0) {
            continue;
        }
        if (move->nafter == WEFT_AFTER_MAX) {
            move->dst[0] = weft_tmp(tb->dummy, 0);
            move->src[0] = weft_in(0, 0);
            move->ndst = move->nsrc = move->cnt = 1;
            writer->builder->move(writer->builder, writer->lane, move);
            *move = (weft_move_t){0};
        }
        const msccl_tb_t *other = &program->tbs[gpu->first + t];
        move->after[move->nafter++] =
            (weft_after_t){.lane = t, .pc = program->steps[other->first + steps[t] - 1].pc};
        left--;
        if (left == 0) {
            break;
        }
    }
}

static void msccl_emit_write_tb(const msccl_program_t *program, uint32_t gpu, uint32_t t,
                                const msccl_writer_t *writer)
{
    uint32_t at = program->gpus[gpu].first + t, steps[MSCCL_LANES_MAX];
    const msccl_tb_t *tb = &program->tbs[at];
    for (uint32_t s = 0; s < tb->nsteps; s++) {
        const msccl_step_t *step = &program->steps[tb->first + s];
        if (step->type == MSCCL_NOP) {
            continue;
        }
        weft_move_t move = {0};
        uint64_t walked = 0;
        uint32_t waits = msccl_waits(program, gpu, t, s, steps, &walked);
        msccl_emit_write_waits(program, tb, waits, steps, writer, &move);
        msccl_write_step(program, at, step, writer, &move);
    }
}

/* In place a gpu's own part of the result is where it belongs; out of place it has to be copied.
 * Nobody writes these chunks, so nothing has to be waited for. */
static void msccl_emit_write_copies(const msccl_program_t *program, uint32_t gpu,
                                    weft_plan_builder_t *builder)
{
    const msccl_cell_t *cells = &program->cells[program->gpus[gpu].cells];
    weft_move_t move = {.ndst = 1, .nsrc = 1};
    for (uint32_t chunk = 0; chunk < program->out_size; chunk++) {
        uint32_t place = msccl_out_place(program, gpu, chunk);
        if (cells[place].written) {
            continue;
        }
        uint32_t in = msccl_in_chunk(program, gpu, place);
        if (move.cnt != 0 && move.dst[0].index + move.cnt == chunk &&
            move.src[0].index + move.cnt == in) {
            move.cnt++;
            continue;
        }
        if (move.cnt != 0) {
            builder->move(builder, 0, &move);
        }
        move.dst[0] = weft_out(chunk, 0);
        move.src[0] = weft_in(in, 0);
        move.cnt = 1;
    }
    builder->move(builder, 0, &move);
}

static weft_status_t msccl_emit_layout_tb(msccl_program_t *program, uint32_t gpu, uint32_t t,
                                          uint64_t *walked_p)
{
    msccl_tb_t *tb = &program->tbs[program->gpus[gpu].first + t];
    uint32_t pc = 0, steps[MSCCL_LANES_MAX];
    for (uint32_t s = 0; s < tb->nsteps; s++) {
        msccl_step_t *step = &program->steps[tb->first + s];
        if (step->type == MSCCL_NOP) {
            continue;
        }
        uint32_t waits = msccl_waits(program, gpu, t, s, steps, walked_p);
        if (*walked_p > WALK_MAX) {
            return msccl_fail_step(program, program->gpus[gpu].first + t, s,
                                   "the waits of all nops are too many to follow");
        }
        if (waits > WEFT_AFTER_MAX) {
            if (msccl_in_chunk(program, gpu, 0) == MSCCL_NONE && program->coll == WEFT_BROADCAST) {
                return msccl_fail_step(program, program->gpus[gpu].first + t, s,
                                       "waits for %u tbs; a gpu without input can wait for %d",
                                       waits, WEFT_AFTER_MAX);
            }
            if (tb->dummy == MSCCL_NONE) {
                tb->dummy = msccl_tmp_chunks(program, gpu) + program->gpus[gpu].ndummies++;
            }
            pc += (waits - 1) / WEFT_AFTER_MAX;
        }
        weft_move_t move = {0};
        msccl_writer_t count = {.builder = NULL};
        pc += msccl_write_step(program, program->gpus[gpu].first + t, step, &count, &move);
        step->pc = pc - 1;
    }
    return WEFT_OK;
}

weft_status_t msccl_layout(msccl_program_t *program)
{
    uint64_t walked = 0;
    weft_status_t status = WEFT_OK;
    for (uint32_t g = 0; g < program->n; g++) {
        for (uint32_t t = 0; t < program->gpus[g].ntbs && status == WEFT_OK; t++) {
            status = msccl_emit_layout_tb(program, g, t, &walked);
        }
    }
    return status;
}

uint32_t msccl_longest_send(const msccl_program_t *program)
{
    uint32_t longest = 1;
    for (uint32_t s = 0; s < program->nsteps; s++) {
        const msccl_step_t *step = &program->steps[s];
        if (msccl_acts[step->type].sends && (uint32_t)step->cnt > longest) {
            longest = (uint32_t)step->cnt;
        }
    }
    return longest;
}

void msccl_emit(const msccl_program_t *program, uint32_t rank, weft_plan_builder_t *builder)
{
    const msccl_gpu_t *gpu = &program->gpus[rank];
    msccl_writer_t writers[MSCCL_LANES_MAX];
    builder->grid(builder, program->k, msccl_tmp_chunks(program, rank) + gpu->ndummies);
    for (uint32_t t = 0; t < gpu->ntbs; t++) {
        const msccl_tb_t *tb = &program->tbs[gpu->first + t];
        msccl_writer_t *writer = &writers[t];
        *writer = (msccl_writer_t){.builder = builder, .lane = builder->lane(builder)};
        if (tb->nsends != 0) {
            writer->send_port =
                builder->port(builder, writer->lane, (uint32_t)tb->send, tb->channel, 1);
        }
        if (tb->nreceives != 0) {
            writer->receive_port =
                builder->port(builder, writer->lane, (uint32_t)tb->recv, tb->channel, 0);
        }
    }
    for (uint32_t t = 0; t < gpu->ntbs; t++) {
        msccl_emit_write_tb(program, rank, t, &writers[t]);
    }
    if (gpu->copies) {
        if (gpu->ntbs == 0) {
            builder->lane(builder);
        }
        msccl_emit_write_copies(program, rank, builder);
    }
    for (uint32_t t = 0; t < gpu->ntbs; t++) {
        if ((gpu->meet >> t & 1) != 0) {
            builder->bar(builder, writers[t].lane, gpu->meet);
        }
    }
}
