/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See lanes_stepped.h. */
#include "lanes_stepped.h"

#include <stdbool.h>
#include <string.h>

/* Programs ------------------------------------------------------------------------------------- */

static bool stepped_has_port(const weft_lanes_program_t *p, uint32_t from, uint32_t n)
{
    bool has = false;
    for (uint32_t i = 0; i < n && !has; i++) {
        has = p->operands[from + i].kind == WEFT_OPERAND_PORT;
    }
    return has;
}

static bool stepped_sends(const weft_lanes_program_t *p, const weft_lanes_move_t *move)
{
    return stepped_has_port(p, move->operand, move->ndst);
}

static bool stepped_receives(const weft_lanes_program_t *p, const weft_lanes_move_t *move)
{
    return stepped_has_port(p, move->operand + move->ndst, move->nsrc);
}

/* The chunk that gives a MOVE its length: see lanes_measure_of(). */
static uint32_t stepped_measure(const weft_lanes_program_t *p, const weft_lanes_move_t *move)
{
    const weft_lanes_operand_t *o = &p->operands[move->operand];
    const uint32_t all = (uint32_t)move->ndst + move->nsrc;
    if ((move->flags & WEFT_LANES_LIKE) != 0) {
        return o[all].index;
    }
    for (uint32_t i = 0; i < all; i++) {
        if (o[i].kind == WEFT_OPERAND_IN || o[i].kind == WEFT_OPERAND_OUT) {
            return o[i].index;
        }
    }
    return 0;
}

static uint32_t stepped_operands(const lanes_stepped_t *stepped)
{
    if (stepped->nsteps == 0) {
        return 0;
    }
    const lanes_stepped_step_t *last = &stepped->step[stepped->nsteps - 1];
    return last->first + last->ndst + last->nsrc;
}

static bool stepped_only_sends(const lanes_stepped_step_t *step)
{
    return step->receives == 0 && step->sends == (1u << step->ndst) - 1;
}

/* Appends a step. Returns false if it cannot be one, or there is no room for it. */
static bool stepped_add(lanes_stepped_t *stepped, const weft_lanes_program_t *p,
                        const weft_lanes_move_t *move, uint32_t pc, uint32_t member)
{
    const uint32_t first = stepped_operands(stepped), all = (uint32_t)move->ndst + move->nsrc;
    const bool final = p->final != 0 && (move->flags & WEFT_MOVE_FINAL) != 0;
    lanes_stepped_step_t step = {.first = first,
                                 .measure = stepped_measure(p, move),
                                 .pc = pc,
                                 .member = member,
                                 .ndst = move->ndst,
                                 .nsrc = move->nsrc,
                                 .flags = final ? WEFT_COMBINE_FINAL : 0};
    bool good = stepped->nsteps + 1 < LANES_STEPS_MOST && first + all <= LANES_OPERANDS_MOST &&
                move->cnt == 1 && move->nafter == 0;
    for (uint32_t i = 0; i < all && good; i++) {
        const weft_lanes_operand_t *o = &p->operands[move->operand + i];
        good = o->stride == 0;
        stepped->operand[first + i] = (lanes_stepped_operand_t){.kind = o->kind, .index = o->index};
        if (i >= move->ndst && o->kind == WEFT_OPERAND_IN && p->pre != 0) {
            step.pre_mask = (uint8_t)(step.pre_mask | 1u << (i - move->ndst));
        }
        if (o->kind == WEFT_OPERAND_PORT && i < move->ndst) {
            step.sends = (uint8_t)(step.sends | 1u << i);
        } else if (o->kind == WEFT_OPERAND_PORT) {
            step.receives = (uint8_t)(step.receives | 1u << (i - move->ndst));
        }
    }
    step.copies = move->nsrc == 1 && step.pre_mask == 0 && !final;
    step.early = stepped->nsteps > 0 && stepped_only_sends(&stepped->step[stepped->nsteps - 1]) &&
                 !step.copies;
    if (good) {
        stepped->step[stepped->nsteps++] = step;
    }
    return good;
}

/* Appends the members of a PAR, those that send first. */
static bool stepped_add_par(lanes_stepped_t *stepped, const weft_lanes_program_t *p, uint32_t pc)
{
    const weft_lanes_code_t *par = &p->code[pc];
    bool good = true;
    for (int sends = 1; sends >= 0; sends--) {
        for (uint32_t i = 0; i < par->n && good; i++) {
            const weft_lanes_move_t *move = &p->moves[par[1 + i].n];
            good = !(stepped_sends(p, move) && stepped_receives(p, move));
            if (good && stepped_sends(p, move) == (sends != 0)) {
                good = stepped_add(stepped, p, move, pc, i);
            }
        }
    }
    return good;
}

void lanes_stepped_plan(lanes_stepped_t *stepped, const weft_lanes_program_t *program)
{
    bool good = program->messages == 0 && program->pairs == 0 && program->nlanes == 1;
    uint32_t pc = 0;
    memset(stepped, 0, sizeof *stepped);
    for (; good && program->code[pc].opcode != WEFT_LANES_STOP; pc++) {
        const weft_lanes_code_t *c = &program->code[pc];
        if (c->opcode == WEFT_LANES_PAR) {
            good = stepped_add_par(stepped, program, pc);
            pc += c->n;
        } else {
            good = c->opcode == WEFT_LANES_MOVE &&
                   stepped_add(stepped, program, &program->moves[c->n], pc, 0);
        }
    }
    if (good) {
        stepped->step[stepped->nsteps].pc = pc;
    } else {
        stepped->nsteps = 0;
    }
}

/* Runs ----------------------------------------------------------------------------------------- */

static uint64_t stepped_offset(const weft_lanes_segmentation_t *seg,
                               const lanes_stepped_operand_t *o)
{
    return o->kind == WEFT_OPERAND_TMP
               ? o->index * seg->chunk
               : o->index / seg->k * seg->count + o->index % seg->k * seg->chunk;
}

void lanes_stepped_aim(lanes_run_t *run)
{
    const weft_lanes_segmentation_t *seg = &run->segmentation;
    lanes_stepped_t *stepped = &run->stepped;
    if (stepped->nsteps == 0 || seg->slices != 1 || seg->passes > run->program.channels) {
        stepped->nsteps = 0;
        return;
    }
    for (uint32_t s = 0; s < stepped->nsteps; s++) {
        stepped->step[s].at = stepped->step[s].measure % seg->k * seg->chunk;
    }
    for (uint32_t i = 0; i < stepped_operands(stepped); i++) {
        stepped->operand[i].offset = stepped_offset(seg, &stepped->operand[i]);
    }
}
