/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See plan_order.h. What comes before a point of a lane is a set of events. It grows by program
 * order, waits, barriers and messages, which carry the sets of their senders. */
#include "tests/support/plan_order.h"

#include <stdlib.h>
#include <string.h>

enum { PASSES = 2, EVENTS_MAX = 4096, WORDS = EVENTS_MAX / 64 };

typedef struct set {
    uint64_t word[WORDS];
} set_t;

/* One chunk of one MOVE, with the chunks that it uses. */
typedef struct event {
    set_t before;
    uint32_t rank, nuses;
    struct {
        uint64_t cell;
        bool writes;
    } use[2 * WEFT_MOVE_MAX];
} event_t;

typedef struct message {
    struct message *next;
    set_t before;
} message_t;

typedef struct lane {
    const weft_plan_t *plan;
    uint32_t rank, lane, pc, pass, members;
    set_t now, member[WEFT_PAR_MAX];
    uint32_t chunk[WEFT_PAR_MAX];
    uint64_t bar;
    set_t *done;     /* by pc */
    uint32_t *ended; /* by pc: passes */
} lane_t;

typedef struct order {
    weft_plan_t *const *plans;
    int in_place;
    event_t *event;
    uint32_t nevents, nlanes;
    lane_t *lanes;
    message_t ***queue; /* by receiver and its port: the first */
} order_t;

static void set_join(set_t *into, const set_t *from)
{
    for (uint32_t i = 0; i < WORDS; i++) {
        into->word[i] |= from->word[i];
    }
}

static bool set_has(const set_t *set, uint32_t event)
{
    return (set->word[event / 64] >> event % 64 & 1) != 0;
}

static lane_t *lane_of(order_t *o, uint32_t rank, uint32_t lane)
{
    uint32_t i = 0;
    while (o->lanes[i].rank != rank || o->lanes[i].lane != lane) {
        i++;
    }
    return &o->lanes[i];
}

static message_t **queue_of(order_t *o, uint32_t rank, uint32_t index)
{
    const weft_plan_port_t *port = &o->plans[rank]->ports[index];
    const weft_plan_t *peer = o->plans[port->peer];
    uint32_t i = 0;
    while (port->sends && (peer->ports[i].sends || peer->ports[i].peer != rank ||
                           peer->ports[i].channel != port->channel)) {
        i++;
    }
    return port->sends ? &o->queue[port->peer][i] : &o->queue[rank][index];
}

/* Each pass has an OUT of its own, and all have one TMP. */
static void note_use(order_t *o, event_t *e, const lane_t *lane, const weft_plan_operand_t *x,
                     uint32_t j, bool writes)
{
    uint64_t chunk = (x->index + j) % weft_plan_chunks(lane->plan, x->kind);
    if (x->kind == WEFT_OPERAND_IN) {
        chunk = o->in_place ? weft_plan_alias(lane->plan, lane->rank, (uint32_t)chunk)
                            : WEFT_PLAN_NO_CHUNK;
    }
    if (chunk != WEFT_PLAN_NO_CHUNK) {
        uint64_t place = x->kind == WEFT_OPERAND_TMP ? PASSES : lane->pass;
        e->use[e->nuses].cell = place << 32 | chunk;
        e->use[e->nuses++].writes = writes;
    }
}

/* Returns whether one chunk of the MOVE could move. */
static bool move_chunk(order_t *o, lane_t *lane, uint32_t m, const weft_plan_view_t *move)
{
    set_t *now = &lane->member[m];
    for (uint32_t i = 0; i < move->nsrc; i++) {
        if (move->src[i].kind == WEFT_OPERAND_PORT &&
            *queue_of(o, lane->rank, move->src[i].index) == NULL) {
            return false;
        }
    }
    for (uint32_t i = 0; i < move->nsrc; i++) {
        if (move->src[i].kind == WEFT_OPERAND_PORT) {
            message_t **first = queue_of(o, lane->rank, move->src[i].index), *taken = *first;
            set_join(now, &taken->before);
            *first = taken->next;
            free(taken);
        }
    }
    uint32_t number = o->nevents++;
    event_t *e = &o->event[number];
    e->before = *now;
    e->rank = lane->rank;
    now->word[number / 64] |= UINT64_C(1) << number % 64;
    for (uint32_t i = 0; i < move->ndst + move->nsrc; i++) {
        const weft_plan_operand_t *x = &move->dst[i];
        if (x->kind != WEFT_OPERAND_PORT) {
            note_use(o, e, lane, x, lane->chunk[m], i < move->ndst);
        } else if (i < move->ndst) {
            message_t **last = queue_of(o, lane->rank, x->index), *sent = calloc(1, sizeof *sent);
            while (*last != NULL) {
                last = &(*last)->next;
            }
            sent->before = *now;
            *last = sent;
        }
    }
    lane->chunk[m]++;
    return true;
}

static weft_plan_view_t member_of(const lane_t *lane, uint32_t m)
{
    const weft_code_t *code = &lane->plan->lanes[lane->lane].code[lane->pc];
    return weft_plan_view(lane->plan, code[(code->opcode == WEFT_CODE_PAR) + m].n);
}

/* A PAR begins when all of it may begin, and is over as one. */
static bool begin_group(order_t *o, lane_t *lane, uint32_t members)
{
    for (int look = 1; look >= 0; look--) {
        for (uint32_t m = 0; m < members; m++) {
            weft_plan_view_t move = member_of(lane, m);
            for (uint32_t w = 0; w < move.nafter; w++) {
                const lane_t *other = lane_of(o, lane->rank, move.after[w].lane);
                if (look && other->ended[move.after[w].pc] <= lane->pass) {
                    return false;
                }
                set_join(&lane->now,
                         &other->done[lane->pass * other->plan->lanes[other->lane].ncode +
                                      move.after[w].pc]);
            }
        }
    }
    for (uint32_t m = 0; m < members; m++) {
        lane->member[m] = lane->now;
        lane->chunk[m] = 0;
    }
    lane->members = members;
    return true;
}

static void end_words(lane_t *lane, uint32_t words)
{
    uint32_t ncode = lane->plan->lanes[lane->lane].ncode;
    for (uint32_t i = 0; i < words; i++) {
        lane->ended[lane->pc + i] = lane->pass + 1;
        lane->done[lane->pass * ncode + lane->pc + i] = lane->now;
    }
    lane->pc += words;
    lane->members = 0;
}

static bool step_group(order_t *o, lane_t *lane, const weft_code_t *code)
{
    uint32_t par = code->opcode == WEFT_CODE_PAR, members = par ? code->n : 1, over = 0;
    bool moved = false;
    if (lane->members == 0 && !begin_group(o, lane, members)) {
        return false;
    }
    for (uint32_t m = 0; m < members; m++) {
        weft_plan_view_t move = member_of(lane, m);
        while (lane->chunk[m] < move.cnt && move_chunk(o, lane, m, &move)) {
            moved = true;
        }
        over += lane->chunk[m] == move.cnt;
    }
    if (over < members) {
        return moved;
    }
    for (uint32_t m = 0; m < members; m++) {
        set_join(&lane->now, &lane->member[m]);
    }
    end_words(lane, par + members);
    return true;
}

static bool step_bar(order_t *o, lane_t *lane, uint64_t mask)
{
    set_t all = {{0}};
    lane->bar = mask;
    for (uint32_t i = 0; i < lane->plan->nlanes; i++) {
        const lane_t *other = lane_of(o, lane->rank, i);
        if ((mask >> i & 1) != 0 && other->bar != mask) {
            return false;
        }
        set_join(&all, (mask >> i & 1) != 0 ? &other->now : &all);
    }
    for (uint32_t i = 0; i < lane->plan->nlanes; i++) {
        lane_t *other = lane_of(o, lane->rank, i);
        if ((mask >> i & 1) != 0) {
            other->now = all;
            other->bar = 0;
            end_words(other, 1);
        }
    }
    return true;
}

static bool step_lane(order_t *o, lane_t *lane)
{
    const weft_code_t *code = &lane->plan->lanes[lane->lane].code[lane->pc];
    if (lane->pass == PASSES) {
        return false;
    }
    if (code->opcode == WEFT_CODE_STOP) {
        lane->pass++;
        lane->pc = 0;
        return true;
    }
    return code->opcode == WEFT_CODE_BAR ? step_bar(o, lane, code->mask)
                                         : step_group(o, lane, code);
}

static bool events_race(const event_t *a, const event_t *b)
{
    for (uint32_t i = 0; i < a->nuses; i++) {
        for (uint32_t j = 0; j < b->nuses; j++) {
            if (a->use[i].cell == b->use[j].cell && (a->use[i].writes || b->use[j].writes)) {
                return true;
            }
        }
    }
    return false;
}

/* An event comes before those that are numbered later, or beside them. */
static bool order_races(const order_t *o)
{
    for (uint32_t b = 0; b < o->nevents; b++) {
        for (uint32_t a = 0; a < b; a++) {
            if (o->event[a].rank == o->event[b].rank && !set_has(&o->event[b].before, a) &&
                events_race(&o->event[a], &o->event[b])) {
                return true;
            }
        }
    }
    return false;
}

static void order_open(order_t *o, uint32_t nranks)
{
    o->event = calloc(EVENTS_MAX, sizeof *o->event);
    o->lanes = calloc((size_t)nranks * WEFT_LANE_MAX, sizeof *o->lanes);
    o->queue = calloc(nranks, sizeof *o->queue);
    for (uint32_t rank = 0; rank < nranks; rank++) {
        const weft_plan_t *plan = o->plans[rank];
        o->queue[rank] = calloc(plan->nports + 1, sizeof **o->queue);
        for (uint32_t i = 0; i < plan->nlanes; i++) {
            lane_t *lane = &o->lanes[o->nlanes++];
            *lane = (lane_t){.plan = plan, .rank = rank, .lane = i};
            lane->done = calloc((size_t)PASSES * plan->lanes[i].ncode, sizeof *lane->done);
            lane->ended = calloc(plan->lanes[i].ncode, sizeof *lane->ended);
        }
    }
}

static void order_close(order_t *o, uint32_t nranks)
{
    for (uint32_t rank = 0; rank < nranks; rank++) {
        for (uint32_t i = 0; i < o->plans[rank]->nports; i++) {
            for (message_t *next, *at = o->queue[rank][i]; at != NULL; at = next) {
                next = at->next;
                free(at);
            }
        }
        free(o->queue[rank]);
    }
    for (uint32_t i = 0; i < o->nlanes; i++) {
        free(o->lanes[i].done);
        free(o->lanes[i].ended);
    }
    free(o->queue);
    free(o->lanes);
    free(o->event);
}

plan_order_t plan_order_of(weft_plan_t *const *plans, uint32_t nranks, int in_place)
{
    order_t o = {.plans = plans, .in_place = in_place};
    uint32_t ended = 0;
    order_open(&o, nranks);
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t i = 0; i < o.nlanes; i++) {
            while (step_lane(&o, &o.lanes[i])) {
                moved = true;
            }
        }
    }
    for (uint32_t i = 0; i < o.nlanes; i++) {
        ended += o.lanes[i].pass == PASSES;
    }
    plan_order_t found = ended < o.nlanes  ? PLAN_STANDS
                         : order_races(&o) ? PLAN_RACES
                                           : PLAN_ORDERED;
    order_close(&o, nranks);
    return found;
}
