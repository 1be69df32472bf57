/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See plan_lanes.h. */
#include "tests/support/plan_lanes.h"

#include <string.h>

#include "core/plan/builder.h"
#include "tests/support/plan_faults.h"

enum { LANES = 3, STEPS_MAX = 96, PORTS_MAX = 64, REST = 2, NOTHING = UINT32_MAX };

/* One MOVE. Those of one group are one instruction: a MOVE, or a PAR. */
typedef struct step {
    weft_move_t move;
    uint32_t group, lane, pc;
} step_t;

typedef struct spread {
    const weft_plan_t *sound;
    step_t step[STEPS_MAX];
    uint32_t nsteps, ngroups, nlanes;
    uint32_t lane_of[PORTS_MAX];
} spread_t;

static spread_t spread;

static weft_operand_t *operand_of(weft_move_t *move, uint32_t i)
{
    return i < move->ndst ? &move->dst[i] : &move->src[i - move->ndst];
}

/* Unrolling ------------------------------------------------------------------------------------ */

static void unroll_operand(weft_operand_t *o, uint32_t iteration)
{
    weft_plan_operand_t packed = weft_plan_pack_operand(o);
    if (o->kind >= WEFT_OPERAND_IN && o->kind <= WEFT_OPERAND_TMP) {
        o->index =
            weft_plan_chunk_at(&packed, weft_plan_chunks(spread.sound, o->kind), iteration, 0);
        o->stride = 0;
    }
}

/* The last MOVE rests its result in scratch, from which a MOVE of its own takes it. */
static void rest_result(void)
{
    step_t *step = &spread.step[spread.nsteps - 1], *next = &spread.step[spread.nsteps++];
    weft_operand_t rest = weft_tmp(spread.sound->tmp_chunks + plan_dice(REST), 0);
    for (uint32_t i = 0; i < step->move.ndst + step->move.nsrc; i++) {
        const weft_operand_t *o = operand_of(&step->move, i);
        bool piece = o->kind == WEFT_OPERAND_IN || o->kind == WEFT_OPERAND_OUT;
        step->move.like = piece ? *o : step->move.like;
    }
    *next = *step;
    step->move.ndst = next->move.nsrc = 1;
    step->move.dst[0] = next->move.src[0] = rest;
    next->move.flags = 0;
    next->group = ++spread.ngroups;
}

static bool unroll_move(uint32_t number, uint32_t iteration, bool alone)
{
    weft_plan_view_t view = weft_plan_view(spread.sound, number);
    if (weft_plan_packs(&view) || spread.nsteps + 1 >= STEPS_MAX) {
        return false;
    }
    step_t *step = &spread.step[spread.nsteps++];
    *step = (step_t){.move = weft_plan_expand(&view), .group = spread.ngroups};
    step->move.nafter = 0;
    for (uint32_t i = 0; i < step->move.ndst + step->move.nsrc; i++) {
        unroll_operand(operand_of(&step->move, i), iteration);
    }
    unroll_operand(&step->move.like, iteration);
    if (alone && step->move.cnt == 1 && plan_dice(3) == 0) {
        rest_result();
    }
    return true;
}

static bool unroll(void)
{
    const weft_plan_lane_t *lane = &spread.sound->lanes[0];
    uint32_t iteration = 0;
    for (uint32_t pc = 0; lane->code[pc].opcode != WEFT_CODE_STOP; pc++) {
        const weft_code_t *code = &lane->code[pc];
        uint32_t members = code->opcode == WEFT_CODE_PAR ? code->n : 1;
        if (code->opcode == WEFT_CODE_LOOP) {
            iteration = 0;
        } else if (code->opcode == WEFT_CODE_END) {
            pc = ++iteration < lane->code[code->mate].n ? code->mate : pc;
            iteration = pc == code->mate ? iteration : 0;
        } else if (code->opcode == WEFT_CODE_BAR) {
            return false;
        } else {
            bool apart = members == 1 || plan_dice(2) == 0;
            pc += code->opcode == WEFT_CODE_PAR;
            for (uint32_t i = 0; i < members; i++) {
                if (!unroll_move(lane->code[pc + i].n, iteration, apart)) {
                    return false;
                }
                spread.ngroups += apart || i + 1 == members;
            }
            pc += members - 1;
        }
    }
    return true;
}

/* Lanes ---------------------------------------------------------------------------------------- */

/* All ports of a group are in one lane. */
static void tie_ports(void)
{
    uint32_t parent[PORTS_MAX], first[STEPS_MAX];
    for (uint32_t p = 0; p < spread.sound->nports; p++) {
        parent[p] = p;
    }
    memset(first, 0xff, sizeof first);
    for (uint32_t s = 0; s < spread.nsteps; s++) {
        step_t *step = &spread.step[s];
        for (uint32_t i = 0; i < step->move.ndst + step->move.nsrc; i++) {
            const weft_operand_t *o = operand_of(&step->move, i);
            if (o->kind != WEFT_OPERAND_PORT) {
                continue;
            }
            uint32_t *with = &first[step->group], from = parent[o->index];
            *with = *with == NOTHING ? o->index : *with;
            for (uint32_t p = 0; p < spread.sound->nports; p++) {
                parent[p] = parent[p] == from ? parent[*with] : parent[p];
            }
        }
    }
    for (uint32_t p = 0; p < spread.sound->nports; p++) {
        spread.lane_of[p] = parent[p] == p ? plan_dice(spread.nlanes) : NOTHING;
    }
    for (uint32_t p = 0; p < spread.sound->nports; p++) {
        spread.lane_of[p] = spread.lane_of[parent[p]];
    }
}

static void choose_lanes(void)
{
    uint32_t lanes[STEPS_MAX];
    for (uint32_t g = 0; g < spread.ngroups; g++) {
        lanes[g] = plan_dice(spread.nlanes);
    }
    for (uint32_t s = 0; s < spread.nsteps; s++) {
        step_t *step = &spread.step[s];
        for (uint32_t i = 0; i < step->move.ndst + step->move.nsrc; i++) {
            const weft_operand_t *o = operand_of(&step->move, i);
            lanes[step->group] =
                o->kind == WEFT_OPERAND_PORT ? spread.lane_of[o->index] : lanes[step->group];
        }
    }
    for (uint32_t s = 0; s < spread.nsteps; s++) {
        spread.step[s].lane = lanes[spread.step[s].group];
    }
}

static bool share_port(step_t *a, step_t *b)
{
    for (uint32_t i = 0; i < a->move.ndst + a->move.nsrc; i++) {
        for (uint32_t j = 0; j < b->move.ndst + b->move.nsrc; j++) {
            const weft_operand_t *x = operand_of(&a->move, i), *y = operand_of(&b->move, j);
            if (x->kind == WEFT_OPERAND_PORT && y->kind == x->kind && x->index == y->index) {
                return true;
            }
        }
    }
    return false;
}

static bool may_join(uint32_t one, uint32_t two)
{
    for (uint32_t s = 0; s < spread.nsteps; s++) {
        for (uint32_t t = 0; spread.step[s].group == one && t < spread.nsteps; t++) {
            if (spread.step[t].group == two && share_port(&spread.step[s], &spread.step[t])) {
                return false;
            }
        }
    }
    return true;
}

/* Some groups join the one before them in their lane. */
static void join_groups(void)
{
    uint32_t last[LANES] = {NOTHING, NOTHING, NOTHING};
    for (uint32_t s = 0; s < spread.nsteps; s++) {
        uint32_t group = spread.step[s].group, *before = &last[spread.step[s].lane];
        bool joins = *before != NOTHING && *before != group && plan_dice(6) == 0;
        if (joins && may_join(*before, group)) {
            for (uint32_t t = s; t < spread.nsteps; t++) {
                spread.step[t].group =
                    spread.step[t].group == group ? *before : spread.step[t].group;
            }
        }
        *before = spread.step[s].group;
    }
}

static uint32_t members_of(uint32_t group)
{
    uint32_t members = 0;
    for (uint32_t s = 0; s < spread.nsteps; s++) {
        members += spread.step[s].group == group;
    }
    return members;
}

static void number_steps(void)
{
    uint32_t next[LANES] = {0}, last[LANES] = {NOTHING, NOTHING, NOTHING};
    for (uint32_t s = 0; s < spread.nsteps; s++) {
        step_t *step = &spread.step[s];
        bool begins = last[step->lane] != step->group;
        next[step->lane] += begins && members_of(step->group) > 1;
        step->pc = next[step->lane]++;
        last[step->lane] = step->group;
    }
}

/* Waits ---------------------------------------------------------------------------------------- */

/* Chunks of OUT; behind them those of TMP. IN is part of OUT in place. */
static uint32_t cell_of(const weft_operand_t *o, uint32_t j)
{
    const weft_plan_t *plan = spread.sound;
    if (o->kind == WEFT_OPERAND_TMP) {
        return weft_plan_chunks(plan, WEFT_OPERAND_OUT) + o->index + j;
    }
    uint32_t chunk = (o->index + j) % weft_plan_chunks(plan, o->kind);
    return o->kind == WEFT_OPERAND_OUT ? chunk : weft_plan_alias(plan, plan->rank, chunk);
}

static bool operands_meet(const step_t *a, const weft_operand_t *x, const step_t *b,
                          const weft_operand_t *y)
{
    if (x->kind == WEFT_OPERAND_PORT || y->kind == WEFT_OPERAND_PORT) {
        return false;
    }
    for (uint32_t i = 0; i < a->move.cnt; i++) {
        for (uint32_t j = 0; j < b->move.cnt; j++) {
            if (cell_of(x, i) == cell_of(y, j) && cell_of(x, i) != WEFT_PLAN_NO_CHUNK) {
                return true;
            }
        }
    }
    return false;
}

static bool steps_meet(step_t *a, step_t *b)
{
    for (uint32_t i = 0; i < a->move.ndst + a->move.nsrc; i++) {
        for (uint32_t j = 0; j < b->move.ndst + b->move.nsrc; j++) {
            bool writes = i < a->move.ndst || j < b->move.ndst;
            if (writes && operands_meet(a, operand_of(&a->move, i), b, operand_of(&b->move, j))) {
                return true;
            }
        }
    }
    return false;
}

static void add_waits(uint32_t s)
{
    step_t *step = &spread.step[s];
    for (uint32_t lane = 0; lane < spread.nlanes; lane++) {
        uint32_t t = lane == step->lane ? 0 : s;
        while (t > 0 &&
               (spread.step[t - 1].lane != lane || !steps_meet(&spread.step[t - 1], step))) {
            t--;
        }
        if (t > 0 && plan_dice(12) != 0) {
            step->move.after[step->move.nafter++] = (weft_after_t){lane, spread.step[t - 1].pc};
        }
    }
}

/* Writing -------------------------------------------------------------------------------------- */

static weft_status_t emit(weft_algo_t *algo, const weft_algo_call_t *call,
                          const weft_algo_topo_t *topo, weft_plan_builder_t *b)
{
    uint32_t last[LANES] = {NOTHING, NOTHING, NOTHING};
    (void)algo;
    (void)call;
    (void)topo;
    b->grid(b, spread.sound->k, spread.sound->tmp_chunks + REST);
    for (uint32_t lane = 0; lane < spread.nlanes; lane++) {
        b->lane(b);
    }
    for (uint32_t p = 0; p < spread.sound->nports; p++) {
        const weft_plan_port_t *port = &spread.sound->ports[p];
        b->port(b, spread.lane_of[p], port->peer, port->channel, port->sends);
    }
    for (uint32_t s = 0; s < spread.nsteps; s++) {
        const step_t *step = &spread.step[s];
        uint32_t members = members_of(step->group);
        if (members > 1 && last[step->lane] != step->group) {
            b->par(b, step->lane, members);
        }
        b->move(b, step->lane, &step->move);
        last[step->lane] = step->group;
    }
    bool meets = spread.nlanes > 1 && plan_dice(4) != 0;
    for (uint32_t lane = 0; meets && lane < spread.nlanes; lane++) {
        b->bar(b, lane, (UINT64_C(1) << spread.nlanes) - 1);
    }
    return WEFT_OK;
}

weft_plan_t *plan_lanes_spread(const weft_plan_t *sound)
{
    static const weft_algo_ops_t ops = {.size = sizeof ops, .emit = emit};
    static const uint32_t hosts[16];
    weft_algo_topo_t topo = {.size = sizeof topo, .nhosts = 1, .host = hosts};
    weft_algo_call_t call = {.size = sizeof call,
                             .coll = sound->coll,
                             .nranks = sound->nranks,
                             .rank = sound->rank,
                             .root = sound->root};
    weft_plan_t *plan = NULL;
    spread = (spread_t){.sound = sound, .nlanes = 1 + plan_dice(LANES)};
    if (sound->nlanes != 1 || sound->nports > PORTS_MAX || !unroll()) {
        return NULL;
    }
    tie_ports();
    choose_lanes();
    join_groups();
    number_steps();
    for (uint32_t s = 0; s < spread.nsteps; s++) {
        add_waits(s);
    }
    return weft_plan_emit(&ops, NULL, &call, &topo, NULL, &plan) == WEFT_OK ? plan : NULL;
}
