/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See flat.h. */
#include "tests/cuda/flat.h"

#include <stdlib.h>
#include <string.h>

static weft_lanes_code_t flat_word(const weft_code_t *c)
{
    weft_lanes_code_t word = {.opcode = c->opcode, .n = c->n};
    if (c->opcode == WEFT_CODE_BAR) {
        word.mate_or_mask = c->mask;
    } else if (c->opcode == WEFT_CODE_LOOP || c->opcode == WEFT_CODE_END) {
        word.mate_or_mask = c->mate;
    }
    return word;
}

static void flat_code(flat_t *flat, const weft_plan_t *plan)
{
    weft_lanes_program_t *to = &flat->program;
    for (uint32_t l = 0; l < plan->nlanes; l++) {
        to->ncode += plan->lanes[l].ncode;
    }
    uint32_t *lane = calloc(plan->nlanes + 1, sizeof *lane);
    weft_lanes_code_t *code = calloc(to->ncode + 1, sizeof *code);
    to->largest_par = 1;
    for (uint32_t l = 0; l < plan->nlanes; l++) {
        lane[l + 1] = lane[l] + plan->lanes[l].ncode;
        for (uint32_t pc = 0; pc < plan->lanes[l].ncode; pc++) {
            const weft_code_t *c = &plan->lanes[l].code[pc];
            code[lane[l] + pc] = flat_word(c);
            if (c->opcode == WEFT_CODE_PAR && c->n > to->largest_par) {
                to->largest_par = c->n;
            }
        }
    }
    to->lane = flat->memory[0] = lane;
    to->code = flat->memory[1] = code;
}

static void flat_moves(flat_t *flat, const weft_plan_t *plan)
{
    weft_lanes_program_t *to = &flat->program;
    weft_lanes_move_t *moves = calloc(plan->nmoves + 1, sizeof *moves);
    weft_lanes_operand_t *operands = calloc(plan->noperands + 1, sizeof *operands);
    weft_lanes_after_t *afters = calloc(plan->nafters + 1, sizeof *afters);
    for (uint32_t i = 0; i < plan->nmoves; i++) {
        const weft_plan_move_t *m = &plan->moves[i];
        moves[i] = (weft_lanes_move_t){m->operand, m->after,  m->cnt,  m->ndst,
                                       m->nsrc,    m->nafter, m->flags};
    }
    for (uint32_t i = 0; i < plan->noperands; i++) {
        const weft_plan_operand_t *o = &plan->operands[i];
        operands[i] =
            (weft_lanes_operand_t){.kind = o->kind, .index = o->index, .stride = o->stride};
        if (o->kind != WEFT_OPERAND_PORT && o->kind != WEFT_OPERAND_NONE) {
            operands[i].chunks = weft_plan_chunks(plan, o->kind);
        }
    }
    for (uint32_t i = 0; i < plan->nafters; i++) {
        afters[i] = (weft_lanes_after_t){plan->afters[i].lane, plan->afters[i].pc};
    }
    to->moves = flat->memory[2] = moves;
    to->operands = flat->memory[3] = operands;
    to->afters = flat->memory[4] = afters;
}

void flat_init(flat_t *flat, const weft_program_t *program, weft_op_t op)
{
    const weft_plan_t *plan = program->plan;
    *flat = (flat_t){.program = {.size = sizeof flat->program,
                                 .channels = 1,
                                 .nlanes = plan->nlanes,
                                 .nports = plan->nports,
                                 .nmoves = plan->nmoves,
                                 .noperands = plan->noperands,
                                 .nafters = plan->nafters,
                                 .tmp_chunks = plan->tmp_chunks,
                                 .nranks = plan->nranks,
                                 .dtype = program->dtype,
                                 .op = op,
                                 .elem = (uint32_t)program->elem,
                                 .pre = program->pre,
                                 .final = (program->flags & WEFT_COMBINE_FINAL) != 0,
                                 .pairs = program->pairs,
                                 .words_most = 4096,
                                 .lines_most = UINT32_MAX}};
    flat_code(flat, plan);
    flat_moves(flat, plan);
}

void flat_fini(flat_t *flat)
{
    for (uint32_t i = 0; i < 5; i++) {
        free(flat->memory[i]);
    }
}
