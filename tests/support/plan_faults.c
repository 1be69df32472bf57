/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See plan_faults.h. */
#include "tests/support/plan_faults.h"

#include <string.h>

#include "tests/support/plan_fixture.h"

static uint64_t seed = 20240607;

uint32_t plan_dice(uint32_t sides)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 33) % sides;
}

static int is_move(const plan_place_t *at)
{
    return at->lane->code[at->pc].opcode == WEFT_CODE_MOVE;
}

/* The MOVE there, with no operands if it is none; and back after the damage. */
static weft_move_t take(const plan_place_t *at)
{
    return is_move(at) ? plan_fixture_move(at->plan, at->lane->code[at->pc].n) : (weft_move_t){0};
}

static int put(const plan_place_t *at, const weft_move_t *move)
{
    plan_fixture_set_move(at->plan, at->lane->code[at->pc].n, move);
    return 1;
}

static weft_operand_t *operand_of(weft_move_t *move, uint32_t i)
{
    return i < move->ndst ? &move->dst[i] : &move->src[i - move->ndst];
}

/* LOOP and END know each other by pc. */
static void relink(weft_plan_lane_t *lane)
{
    uint32_t open = 0;
    for (uint32_t pc = 0; pc < lane->ncode; pc++) {
        if (lane->code[pc].opcode == WEFT_CODE_LOOP) {
            open = pc;
        } else if (lane->code[pc].opcode == WEFT_CODE_END) {
            lane->code[pc].mate = open;
            lane->code[open].mate = pc;
        }
    }
}

static void remove_code(weft_plan_lane_t *lane, uint32_t pc)
{
    memmove(&lane->code[pc], &lane->code[pc + 1], (lane->ncode - pc - 1) * sizeof *lane->code);
    lane->ncode--;
}

static int drop_instruction(const plan_place_t *at)
{
    if (!is_move(at)) {
        return 0;
    }
    int alone_in_loop = at->pc > 0 && at->lane->code[at->pc - 1].opcode == WEFT_CODE_LOOP;
    remove_code(at->lane, at->pc);
    if (alone_in_loop) {
        remove_code(at->lane, at->pc);
        remove_code(at->lane, at->pc - 1);
    }
    relink(at->lane);
    return 1;
}

/* The order of a PAR's members means nothing. */
static int is_member(const plan_place_t *at)
{
    for (uint32_t pc = at->pc; pc-- > 0;) {
        if (at->lane->code[pc].opcode != WEFT_CODE_MOVE) {
            return at->lane->code[pc].opcode == WEFT_CODE_PAR && at->pc - pc < at->lane->code[pc].n;
        }
    }
    return 0;
}

static int swap_neighbours(const plan_place_t *at)
{
    plan_place_t next = {at->plan, at->lane, at->pc + 1};
    if (next.pc + 1 >= at->lane->ncode || !is_move(at) || !is_move(&next) || is_member(at)) {
        return 0;
    }
    weft_code_t code = at->lane->code[at->pc];
    at->lane->code[at->pc] = at->lane->code[next.pc];
    at->lane->code[next.pc] = code;
    return 1;
}

static int shift_chunk(const plan_place_t *at)
{
    weft_move_t move = take(at);
    uint32_t count = move.ndst + move.nsrc;
    for (uint32_t tries = 0; tries < count; tries++) {
        uint32_t i = plan_dice(count);
        weft_operand_t *operand = operand_of(&move, i);
        if (operand->kind != WEFT_OPERAND_PORT) {
            uint32_t chunks = weft_plan_chunks(at->plan, operand->kind);
            operand->index = (operand->index + (plan_dice(2) == 0 ? 1 : chunks - 1)) % chunks;
            return put(at, &move) && chunks > 1;
        }
    }
    return 0;
}

static int drop_source(const plan_place_t *at)
{
    weft_move_t move = take(at);
    if (move.nsrc < 2) {
        return 0;
    }
    uint32_t i = plan_dice(move.nsrc);
    memmove(&move.src[i], &move.src[i + 1], (move.nsrc - i - 1) * sizeof *move.src);
    move.nsrc--;
    return put(at, &move);
}

static int double_source(const plan_place_t *at)
{
    weft_move_t move = take(at);
    if (!is_move(at) || move.nsrc == WEFT_MOVE_MAX) {
        return 0;
    }
    move.src[move.nsrc] = move.src[plan_dice(move.nsrc)];
    move.nsrc++;
    return put(at, &move);
}

static int drop_destination(const plan_place_t *at)
{
    weft_move_t move = take(at);
    if (move.ndst < 2) {
        return 0;
    }
    uint32_t i = plan_dice(move.ndst);
    memmove(&move.dst[i], &move.dst[i + 1], (move.ndst - i - 1) * sizeof *move.dst);
    move.ndst--;
    return put(at, &move);
}

static int change_peer(const plan_place_t *at)
{
    if (at->plan->nports == 0) {
        return 0;
    }
    weft_plan_port_t *port = &at->plan->ports[plan_dice(at->plan->nports)];
    port->peer = (port->peer + 1 + plan_dice(at->plan->nranks - 1)) % at->plan->nranks;
    return 1;
}

static int change_channel(const plan_place_t *at)
{
    if (at->plan->nports == 0) {
        return 0;
    }
    at->plan->ports[plan_dice(at->plan->nports)].channel ^= 1;
    return 1;
}

static int drop_port(const plan_place_t *at)
{
    if (at->plan->nports == 0) {
        return 0;
    }
    at->plan->nports--;
    return 1;
}

static int wrong_port(const plan_place_t *at)
{
    weft_move_t move = take(at);
    for (uint32_t i = 0; i < move.ndst + move.nsrc; i++) {
        weft_operand_t *operand = operand_of(&move, i);
        if (operand->kind == WEFT_OPERAND_PORT && at->plan->nports > 1) {
            operand->index =
                (operand->index + 1 + plan_dice(at->plan->nports - 1)) % at->plan->nports;
            return put(at, &move);
        }
    }
    return 0;
}

static int wrong_source_buffer(const plan_place_t *at)
{
    weft_move_t move = take(at);
    for (uint32_t i = 0; i < move.nsrc; i++) {
        if (move.src[i].kind == WEFT_OPERAND_IN) {
            move.src[i].kind = WEFT_OPERAND_OUT;
            return put(at, &move);
        }
    }
    return 0;
}

static int drop_final(const plan_place_t *at)
{
    weft_move_t move = take(at);
    if (!is_move(at) || (move.flags & WEFT_MOVE_FINAL) == 0) {
        return 0;
    }
    move.flags &= ~WEFT_MOVE_FINAL;
    return put(at, &move);
}

static int add_final(const plan_place_t *at)
{
    weft_move_t move = take(at);
    if (!is_move(at) || (move.flags & WEFT_MOVE_FINAL) != 0) {
        return 0;
    }
    move.flags |= WEFT_MOVE_FINAL;
    return put(at, &move);
}

static int change_loop(const plan_place_t *at)
{
    weft_code_t *code = &at->lane->code[at->pc];
    if (code->opcode != WEFT_CODE_LOOP) {
        return 0;
    }
    code->n += plan_dice(2) == 0 ? 1u : UINT32_MAX;
    return 1;
}

/* Iterations of the LOOP around, 0 outside. */
static uint32_t iterations(const plan_place_t *at)
{
    for (uint32_t pc = at->pc; pc-- > 0;) {
        if (at->lane->code[pc].opcode == WEFT_CODE_LOOP) {
            return at->lane->code[pc].n;
        }
        if (at->lane->code[pc].opcode == WEFT_CODE_END) {
            return 0;
        }
    }
    return 0;
}

/* A stride counts from the second iteration on, or from the second chunk of a message. */
static int change_stride(const plan_place_t *at)
{
    weft_move_t move = take(at);
    for (uint32_t i = 0; i < move.ndst + move.nsrc; i++) {
        weft_operand_t *operand = operand_of(&move, i);
        int counts = iterations(at) > 1 || (move.flags & WEFT_MOVE_PACKED) != 0;
        if (operand->stride != 0 && counts) {
            operand->stride += plan_dice(2) == 0 ? 1 : -1;
            return put(at, &move);
        }
    }
    return 0;
}

static int is_packed(const plan_place_t *at, const weft_move_t *move)
{
    return is_move(at) && (move->flags & WEFT_MOVE_PACKED) != 0;
}

static int change_packed(const plan_place_t *at)
{
    weft_move_t move = take(at);
    if (!is_packed(at, &move)) {
        return 0;
    }
    move.cnt += plan_dice(2) == 0 ? 1u : UINT32_MAX;
    return put(at, &move);
}

/* The same chunks or their neighbours, in a message each. */
static int unpack(const plan_place_t *at)
{
    weft_move_t move = take(at);
    if (!is_packed(at, &move)) {
        return 0;
    }
    move.flags &= ~WEFT_MOVE_PACKED;
    return put(at, &move);
}

const plan_fault_t plan_faults[PLAN_FAULTS] = {
    {"drop instruction", drop_instruction},
    {"swap neighbours", swap_neighbours},
    {"chunk +-1", shift_chunk},
    {"drop source", drop_source},
    {"double source", double_source},
    {"drop destination", drop_destination},
    {"change peer", change_peer},
    {"change channel", change_channel},
    {"drop port", drop_port},
    {"wrong port", wrong_port},
    {"out for in", wrong_source_buffer},
    {"drop FINAL", drop_final},
    {"add FINAL", add_final},
    {"loop count +-1", change_loop},
    {"change stride", change_stride},
    {"packed count +-1", change_packed},
    {"drop PACKED", unpack},
};
