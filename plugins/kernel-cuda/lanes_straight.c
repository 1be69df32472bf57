/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See lanes_straight.h. */
#include "lanes_straight.h"

#include <stdbool.h>
#include <string.h>

/* Programs ----------------------------------------------------------------------------------------- */

static bool straight_has_port(const weft_lanes_program_t *p, uint32_t from, uint32_t n)
{
    bool has = false;
    for (uint32_t i = 0; i < n && !has; i++) {
        has = p->operands[from + i].kind == WEFT_OPERAND_PORT;
    }
    return has;
}

static bool straight_sends(const weft_lanes_program_t *p, const weft_lanes_move_t *move)
{
    return straight_has_port(p, move->operand, move->ndst);
}

static bool straight_receives(const weft_lanes_program_t *p, const weft_lanes_move_t *move)
{
    return straight_has_port(p, move->operand + move->ndst, move->nsrc);
}

/* The chunk that gives a MOVE its length: see lanes_measure_of(). */
static uint32_t straight_measure(const weft_lanes_program_t *p, const weft_lanes_move_t *move)
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

static uint32_t straight_operands(const lanes_straight_t *straight)
{
    const lanes_straight_step_t *last = &straight->step[straight->nsteps - 1];
    return straight->nsteps == 0 ? 0 : last->first + last->ndst + last->nsrc;
}

/* Appends a step. Returns false if it cannot be one, or there is no room for it. */
static bool straight_add(lanes_straight_t *straight, const weft_lanes_program_t *p,
                         const weft_lanes_move_t *move, uint32_t pc, uint32_t member)
{
    const uint32_t first = straight_operands(straight), all = (uint32_t)move->ndst + move->nsrc;
    const bool final = p->final != 0 && (move->flags & WEFT_MOVE_FINAL) != 0;
    lanes_straight_step_t step = {.first = first,
                                  .measure = straight_measure(p, move),
                                  .pc = pc,
                                  .member = member,
                                  .ndst = move->ndst,
                                  .nsrc = move->nsrc,
                                  .flags = final ? WEFT_COMBINE_FINAL : 0};
    bool good = straight->nsteps + 1 < LANES_STEPS_MOST && first + all <= LANES_OPERANDS_MOST &&
                move->cnt == 1 && move->nafter == 0;
    for (uint32_t i = 0; i < all && good; i++) {
        const weft_lanes_operand_t *o = &p->operands[move->operand + i];
        good = o->stride == 0;
        straight->operand[first + i] =
            (lanes_straight_operand_t){.kind = o->kind, .index = o->index};
        if (i >= move->ndst && o->kind == WEFT_OPERAND_IN && p->pre != 0) {
            step.pre_mask = (uint8_t)(step.pre_mask | 1u << (i - move->ndst));
        }
    }
    step.copies = move->nsrc == 1 && step.pre_mask == 0 && !final;
    if (good) {
        straight->step[straight->nsteps++] = step;
    }
    return good;
}

/* Appends the members of a PAR, those that send first. */
static bool straight_add_par(lanes_straight_t *straight, const weft_lanes_program_t *p, uint32_t pc)
{
    const weft_lanes_code_t *par = &p->code[pc];
    bool good = true;
    for (int sends = 1; sends >= 0; sends--) {
        for (uint32_t i = 0; i < par->n && good; i++) {
            const weft_lanes_move_t *move = &p->moves[par[1 + i].n];
            good = !(straight_sends(p, move) && straight_receives(p, move));
            if (good && straight_sends(p, move) == (sends != 0)) {
                good = straight_add(straight, p, move, pc, i);
            }
        }
    }
    return good;
}

void lanes_straight_plan(lanes_straight_t *straight, const weft_lanes_program_t *program)
{
    bool good = program->messages == 0 && program->pairs == 0 && program->nlanes == 1;
    uint32_t pc = 0;
    memset(straight, 0, sizeof *straight);
    for (; good && program->code[pc].opcode != WEFT_LANES_STOP; pc++) {
        const weft_lanes_code_t *c = &program->code[pc];
        if (c->opcode == WEFT_LANES_PAR) {
            good = straight_add_par(straight, program, pc);
            pc += c->n;
        } else {
            good = c->opcode == WEFT_LANES_MOVE &&
                   straight_add(straight, program, &program->moves[c->n], pc, 0);
        }
    }
    if (good) {
        straight->step[straight->nsteps].pc = pc;
    } else {
        straight->nsteps = 0;
    }
}

/* Runs --------------------------------------------------------------------------------------------- */

static uint64_t straight_offset(const weft_lanes_segmentation_t *seg,
                                const lanes_straight_operand_t *o)
{
    return o->kind == WEFT_OPERAND_TMP
               ? o->index * seg->chunk
               : o->index / seg->k * seg->count + o->index % seg->k * seg->chunk;
}

void lanes_straight_aim(lanes_run_t *run)
{
    const weft_lanes_segmentation_t *seg = &run->segmentation;
    lanes_straight_t *straight = &run->straight;
    if (straight->nsteps == 0 || seg->slices != 1 || seg->passes > run->program.channels) {
        straight->nsteps = 0;
        return;
    }
    for (uint32_t s = 0; s < straight->nsteps; s++) {
        straight->step[s].at = straight->step[s].measure % seg->k * seg->chunk;
    }
    for (uint32_t i = 0; i < straight_operands(straight); i++) {
        straight->operand[i].offset = straight_offset(seg, &straight->operand[i]);
    }
}
