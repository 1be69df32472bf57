/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See plan_reference.h. Slow and plain: every lookup is a search. */
#include "tests/support/plan_reference.h"

#include <stdlib.h>
#include <string.h>

#define PATIENCE 2000u /* fruitless choices of a lane in a row, per lane */

typedef struct queue {
    uint64_t *slot; /* WEFT_PACK_MAX values each */
    uint32_t first, used;
} queue_t;

typedef struct lane {
    uint32_t rank, lane, pc, iteration, done;
    uint64_t bar; /* mask of the barrier it waits at */
    uint32_t progress[WEFT_PAR_MAX];
    uint32_t *over; /* by pc */
} lane_t;

typedef struct reference {
    weft_plan_t *const *plans;
    uint32_t n, slots, slices, nlanes;
    uint64_t seed;
    int in_place;
    uint64_t **in, **out, **tmp; /* IN and OUT may be parts of each other */
    uint64_t **given;            /* what was in IN */
    uint64_t **memory;           /* of IN and OUT, to be freed */
    queue_t **queues;            /* by receiver and its port */
    lane_t *lanes;
} reference_t;

static uint64_t dice(reference_t *ref)
{
    ref->seed ^= ref->seed << 13;
    ref->seed ^= ref->seed >> 7;
    ref->seed ^= ref->seed << 17;
    return ref->seed;
}

static queue_t *queue_of(reference_t *ref, uint32_t rank, uint32_t index)
{
    const weft_plan_port_t *port = &ref->plans[rank]->ports[index];
    if (!port->sends) {
        return &ref->queues[rank][index];
    }
    const weft_plan_t *peer = ref->plans[port->peer];
    for (uint32_t i = 0; i < peer->nports; i++) {
        if (!peer->ports[i].sends && peer->ports[i].peer == rank &&
            peer->ports[i].channel == port->channel) {
            return &ref->queues[port->peer][i];
        }
    }
    return NULL;
}

/* Chunk `part` of a packed MOVE is that many strides further on, an iteration `cnt` strides. */
static uint64_t *memory_of(reference_t *ref, const lane_t *lane, const weft_plan_view_t *move,
                           const weft_plan_operand_t *operand, uint32_t step, uint32_t part)
{
    int64_t strides = lane->iteration;
    if ((move->flags & WEFT_MOVE_PACKED) != 0) {
        strides = strides * move->cnt + part;
    }
    const weft_plan_t *plan = ref->plans[lane->rank];
    int64_t chunks = weft_plan_chunks(plan, operand->kind);
    int64_t chunk = (int64_t)operand->index + strides * operand->stride;
    chunk = ((chunk + step / ref->slices) % chunks + chunks) % chunks;
    uint64_t **buffer = operand->kind == WEFT_OPERAND_IN    ? ref->in
                        : operand->kind == WEFT_OPERAND_OUT ? ref->out
                                                            : ref->tmp;
    return &buffer[lane->rank][(uint64_t)chunk * ref->slices + step % ref->slices];
}

/* True if what the MOVE waits for is over. */
static int waits_are_over(const reference_t *ref, const lane_t *lane, const weft_plan_view_t *move)
{
    for (uint32_t i = 0; i < move->nafter; i++) {
        for (uint32_t j = 0; j < ref->nlanes; j++) {
            if (ref->lanes[j].rank == lane->rank && ref->lanes[j].lane == move->after[i].lane &&
                !ref->lanes[j].over[move->after[i].pc]) {
                return 0;
            }
        }
    }
    return 1;
}

static int can_move(reference_t *ref, const lane_t *lane, const weft_plan_view_t *move)
{
    for (uint32_t i = 0; i < move->nsrc; i++) {
        if (move->src[i].kind == WEFT_OPERAND_PORT &&
            queue_of(ref, lane->rank, move->src[i].index)->used == 0) {
            return 0;
        }
    }
    for (uint32_t i = 0; i < move->ndst; i++) {
        if (move->dst[i].kind == WEFT_OPERAND_PORT &&
            queue_of(ref, lane->rank, move->dst[i].index)->used == ref->slots) {
            return 0;
        }
    }
    return 1;
}

static uint64_t factor_of(const reference_t *ref)
{
    return weft_coll_reduces(ref->plans[0]->coll) ? 5 : 1;
}

static void move_value(reference_t *ref, const lane_t *lane, const weft_plan_view_t *move,
                       uint32_t step, uint32_t part)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < move->nsrc; i++) {
        if (move->src[i].kind == WEFT_OPERAND_PORT) {
            queue_t *queue = queue_of(ref, lane->rank, move->src[i].index);
            sum += queue->slot[queue->first * WEFT_PACK_MAX + part];
        } else {
            int is_input = move->src[i].kind == WEFT_OPERAND_IN;
            sum += *memory_of(ref, lane, move, &move->src[i], step, part) *
                   (is_input ? factor_of(ref) : 1);
        }
    }
    sum *= (move->flags & WEFT_MOVE_FINAL) != 0 ? 3 : 1;
    for (uint32_t i = 0; i < move->ndst; i++) {
        if (move->dst[i].kind == WEFT_OPERAND_PORT) {
            queue_t *queue = queue_of(ref, lane->rank, move->dst[i].index);
            uint32_t slot = (queue->first + queue->used) % ref->slots;
            queue->slot[slot * WEFT_PACK_MAX + part] = sum;
        } else {
            *memory_of(ref, lane, move, &move->dst[i], step, part) = sum;
        }
    }
}

/* Values that the MOVE puts into one message. */
static uint32_t parts_of(const weft_plan_view_t *move)
{
    return (move->flags & WEFT_MOVE_PACKED) != 0 ? move->cnt : 1;
}

static void move_slice(reference_t *ref, const lane_t *lane, const weft_plan_view_t *move,
                       uint32_t step)
{
    for (uint32_t part = 0; part < parts_of(move); part++) {
        move_value(ref, lane, move, step, part);
    }
    for (uint32_t i = 0; i < move->nsrc; i++) {
        if (move->src[i].kind == WEFT_OPERAND_PORT) {
            queue_t *queue = queue_of(ref, lane->rank, move->src[i].index);
            queue->first = (queue->first + 1) % ref->slots;
            queue->used--;
        }
    }
    for (uint32_t i = 0; i < move->ndst; i++) {
        if (move->dst[i].kind == WEFT_OPERAND_PORT) {
            queue_of(ref, lane->rank, move->dst[i].index)->used++;
        }
    }
}

/* An instruction inside a LOOP is over in its last iteration. */
static int is_last_time(const lane_t *lane, const weft_plan_lane_t *text)
{
    for (uint32_t pc = lane->pc; pc > 0; pc--) {
        const weft_code_t *code = &text->code[pc - 1];
        if (code->opcode == WEFT_CODE_LOOP && code->mate > lane->pc) {
            return lane->iteration + 1 == code->n;
        }
    }
    return 1;
}

/* Lanes of the rank that the mask names go on when all of them have come. */
static int step_bar(reference_t *ref, lane_t *lane, uint64_t mask)
{
    lane->bar = mask;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < ref->nlanes; i++) {
            lane_t *other = &ref->lanes[i];
            if (other->rank != lane->rank || (mask >> other->lane & 1) == 0) {
                continue;
            }
            if (pass == 0 && other->bar != mask) {
                return 0;
            }
            if (pass == 1) {
                other->over[other->pc++] = 1;
                other->bar = 0;
            }
        }
    }
    return 1;
}

/* One slice of each of the MOVEs at pc, which begin and are over together. */
static int step_group(reference_t *ref, lane_t *lane, const weft_plan_lane_t *text, uint32_t par)
{
    uint32_t members = par ? text->code[lane->pc].n : 1, over = 0, moved = 0;
    for (uint32_t i = 0; i < members; i++) {
        weft_plan_view_t move =
            weft_plan_view(ref->plans[lane->rank], text->code[lane->pc + par + i].n);
        if (!waits_are_over(ref, lane, &move)) {
            return 0;
        }
    }
    for (uint32_t i = 0; i < members; i++) {
        weft_plan_view_t move =
            weft_plan_view(ref->plans[lane->rank], text->code[lane->pc + par + i].n);
        uint32_t steps = move.cnt / parts_of(&move) * ref->slices;
        if (lane->progress[i] < steps && can_move(ref, lane, &move)) {
            move_slice(ref, lane, &move, lane->progress[i]++);
            moved = 1;
        }
        over += lane->progress[i] == steps;
    }
    if (over == members) {
        uint32_t last = (uint32_t)is_last_time(lane, text);
        for (uint32_t i = 0; i < members; i++) {
            lane->progress[i] = 0;
            lane->over[lane->pc + par + i] |= last;
        }
        lane->pc += par + members;
    }
    return moved != 0;
}

static int step_lane(reference_t *ref, lane_t *lane)
{
    const weft_plan_lane_t *text = &ref->plans[lane->rank]->lanes[lane->lane];
    const weft_code_t *code = &text->code[lane->pc];
    switch (code->opcode) {
    case WEFT_CODE_STOP:
        lane->done = 1;
        return 1;
    case WEFT_CODE_LOOP:
        lane->iteration = 0;
        lane->pc++;
        return 1;
    case WEFT_CODE_END:
        if (++lane->iteration < text->code[code->mate].n) {
            lane->pc = code->mate + 1;
            return 1;
        }
        lane->iteration = 0;
        lane->pc++;
        return 1;
    case WEFT_CODE_BAR:
        return step_bar(ref, lane, code->mask);
    default:
        return step_group(ref, lane, text, code->opcode == WEFT_CODE_PAR);
    }
}

static plan_outcome_t run(reference_t *ref)
{
    uint32_t left = ref->nlanes, idle = 0;
    while (left != 0) {
        lane_t *lane = &ref->lanes[dice(ref) % ref->nlanes];
        if (lane->done || !step_lane(ref, lane)) {
            if (++idle > PATIENCE * ref->nlanes) {
                return PLAN_STUCK;
            }
            continue;
        }
        idle = 0;
        left -= lane->done;
    }
    return PLAN_RIGHT;
}

static uint64_t definition(const reference_t *ref, uint32_t rank, uint32_t chunk, uint32_t slice)
{
    const weft_plan_t *plan = ref->plans[rank];
    uint64_t at = (uint64_t)chunk * ref->slices + slice, sum = 0;
    if (plan->coll == WEFT_BROADCAST) {
        return ref->given[plan->root][at];
    }
    if (plan->coll == WEFT_ALL_TO_ALL) {
        at = ((uint64_t)rank * plan->k + chunk % plan->k) * ref->slices + slice;
        return ref->given[chunk / plan->k][at];
    }
    if (plan->coll == WEFT_SCATTER) {
        return ref->given[plan->root][at + (uint64_t)rank * plan->k * ref->slices];
    }
    if (plan->coll == WEFT_ALL_GATHER || plan->coll == WEFT_GATHER) {
        return ref->given[chunk / plan->k][(uint64_t)(chunk % plan->k) * ref->slices + slice];
    }
    if (plan->coll == WEFT_REDUCE_SCATTER) {
        at += (uint64_t)rank * plan->k * ref->slices;
    }
    for (uint32_t i = 0; i < ref->n; i++) {
        sum += ref->given[i][at];
    }
    return 3 * factor_of(ref) * sum;
}

static int is_right(const reference_t *ref)
{
    for (uint32_t rank = 0; rank < ref->n; rank++) {
        const weft_plan_t *plan = ref->plans[rank];
        uint32_t chunks = weft_plan_chunks(plan, WEFT_OPERAND_OUT);
        for (uint32_t i = 0; i < chunks * ref->slices; i++) {
            int has = weft_coll_has_output(plan->coll, rank == plan->root);
            if (has &&
                ref->out[rank][i] != definition(ref, rank, i / ref->slices, i % ref->slices)) {
                return 0;
            }
        }
        for (uint32_t i = 0; i < plan->nports; i++) {
            if (!plan->ports[i].sends && ref->queues[rank][i].used != 0) {
                return 0;
            }
        }
    }
    return 1;
}

static uint64_t *garbage(reference_t *ref, uint32_t chunks)
{
    uint64_t *memory = calloc((size_t)chunks * ref->slices + 1, sizeof *memory);
    for (uint32_t i = 0; i < chunks * ref->slices; i++) {
        memory[i] = dice(ref);
    }
    return memory;
}

/* One lies in the other, from the rank's own block on; on ranks that have both. */
static void join_buffers(reference_t *ref, uint32_t rank)
{
    const weft_plan_t *plan = ref->plans[rank];
    int is_root = rank == plan->root;
    uint64_t in = (uint64_t)weft_plan_chunks(plan, WEFT_OPERAND_IN) * ref->slices;
    uint64_t out = (uint64_t)weft_plan_chunks(plan, WEFT_OPERAND_OUT) * ref->slices;
    uint64_t own = in == out ? 0 : (uint64_t)rank * plan->k * ref->slices;
    if (!weft_coll_has_input(plan->coll, is_root) || !weft_coll_has_output(plan->coll, is_root)) {
        return;
    }
    if (out > in) {
        memcpy(ref->out[rank] + own, ref->in[rank], in * sizeof(uint64_t));
        ref->in[rank] = ref->out[rank] + own;
    } else {
        ref->out[rank] = ref->in[rank] + own;
    }
}

static void fill_buffers(reference_t *ref, uint32_t rank)
{
    const weft_plan_t *plan = ref->plans[rank];
    uint32_t in = weft_plan_chunks(plan, WEFT_OPERAND_IN);
    ref->in[rank] = ref->memory[2 * (size_t)rank] = garbage(ref, in);
    ref->out[rank] = ref->memory[2 * (size_t)rank + 1] =
        garbage(ref, weft_plan_chunks(plan, WEFT_OPERAND_OUT));
    ref->given[rank] = calloc((size_t)in * ref->slices + 1, sizeof(uint64_t));
    memcpy(ref->given[rank], ref->in[rank], (size_t)in * ref->slices * sizeof(uint64_t));
    if (ref->in_place) {
        join_buffers(ref, rank);
    }
}

static void fill(reference_t *ref, uint32_t rank)
{
    const weft_plan_t *plan = ref->plans[rank];
    fill_buffers(ref, rank);
    ref->tmp[rank] = garbage(ref, plan->tmp_chunks);
    ref->queues[rank] = calloc(plan->nports + 1, sizeof **ref->queues);
    for (uint32_t i = 0; i < plan->nports; i++) {
        ref->queues[rank][i].slot = calloc(ref->slots, WEFT_PACK_MAX * sizeof(uint64_t));
    }
    for (uint32_t i = 0; i < plan->nlanes; i++) {
        ref->lanes[ref->nlanes].rank = rank;
        ref->lanes[ref->nlanes].over = calloc(plan->lanes[i].ncode, sizeof(uint32_t));
        ref->lanes[ref->nlanes++].lane = i;
    }
}

static void empty(reference_t *ref, uint32_t rank)
{
    for (uint32_t i = 0; i < ref->plans[rank]->nports; i++) {
        free(ref->queues[rank][i].slot);
    }
    free(ref->queues[rank]);
    free(ref->memory[2 * (size_t)rank]);
    free(ref->memory[2 * (size_t)rank + 1]);
    free(ref->given[rank]);
    free(ref->tmp[rank]);
}

static plan_outcome_t run_form(reference_t ref)
{
    uint32_t nranks = ref.n;
    ref.seed = ref.seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    ref.given = calloc(nranks, sizeof *ref.given);
    ref.memory = calloc(2 * (size_t)nranks, sizeof *ref.memory);
    ref.in = calloc(nranks, sizeof *ref.in);
    ref.out = calloc(nranks, sizeof *ref.out);
    ref.tmp = calloc(nranks, sizeof *ref.tmp);
    ref.queues = calloc(nranks, sizeof *ref.queues);
    ref.lanes = calloc((size_t)nranks * WEFT_LANE_MAX, sizeof *ref.lanes);
    for (uint32_t rank = 0; rank < nranks; rank++) {
        fill(&ref, rank);
    }
    plan_outcome_t outcome = run(&ref);
    if (outcome == PLAN_RIGHT && !is_right(&ref)) {
        outcome = PLAN_WRONG;
    }
    for (uint32_t rank = 0; rank < nranks; rank++) {
        empty(&ref, rank);
    }
    for (uint32_t i = 0; i < ref.nlanes; i++) {
        free(ref.lanes[i].over);
    }
    free(ref.lanes);
    free(ref.queues);
    free(ref.tmp);
    free(ref.out);
    free(ref.in);
    free(ref.memory);
    free(ref.given);
    return outcome;
}

plan_outcome_t plan_reference_run(weft_plan_t *const *plans, uint32_t nranks, uint32_t slots,
                                  uint32_t slices, uint64_t seed)
{
    return run_form(
        (reference_t){.plans = plans, .n = nranks, .slots = slots, .slices = slices, .seed = seed});
}

plan_outcome_t plan_reference_run_in_place(weft_plan_t *const *plans, uint32_t nranks,
                                           uint32_t slots, uint32_t slices, uint64_t seed)
{
    return run_form((reference_t){.plans = plans,
                                  .n = nranks,
                                  .slots = slots,
                                  .slices = slices,
                                  .seed = seed,
                                  .in_place = 1});
}
