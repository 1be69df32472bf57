/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The timed run. Times are a max-plus recursion over a confluent network, so they do not depend on
 * the order in which lanes are looked at. */
#include "tools/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/plan/cursor.h"

#define EDGE_TIME 1.0  /* of a slice of a MOVE that uses a port */
#define LOCAL_TIME 0.5 /* … of one that does not */
#define UNFINISHED (-1.0)
#define SEARCHES_MAX UINT64_C(200000000) /* for the other ends of ports */

typedef struct queue {
    double *pushed_at, *popped_at; /* by message modulo depth */
    uint32_t *event;               /* that sent it */
    uint64_t pushed, popped;
    uint32_t sender, receiver; /* lanes of the run */
    uint32_t channel;
} queue_t;

typedef struct member {
    weft_plan_view_t move;
    uint32_t pc, step, steps;
    double at; /* when its last slice ended */
} member_t;

typedef struct lane {
    const weft_plan_t *plan;
    weft_cursor_t cursor;
    uint32_t lane, first; /* number in the rank; first lane of the rank */
    uint32_t nmembers;
    bool par, queued, done;
    double at;
    double *ended_at; /* by pc, of finished instructions */
    member_t *members;
} lane_t;

typedef struct run {
    const timeline_input_t *input;
    timeline_t *timeline;
    lane_t *lanes;
    queue_t *queues;
    uint32_t *first_port, *first_lane; /* by rank */
    uint32_t *port_queue;              /* by first_port + port */
    uint32_t *work;
    double *times, *ended_at;
    uint32_t *events, *finished;
    member_t *members;
    uint32_t nlanes, nports, work_at, work_used, lanes_done;
    uint32_t room_events, room_messages;
    weft_status_t status;
} run_t;

static void timeline_wake(run_t *run, uint32_t index)
{
    lane_t *lane = &run->lanes[index];
    if (!lane->queued && !lane->done) {
        lane->queued = true;
        run->work[(run->work_at + run->work_used++) % run->nlanes] = index;
    }
}

static void timeline_wake_rank(run_t *run, const lane_t *lane)
{
    for (uint32_t i = 0; lane->plan->nlanes > 1 && i < lane->plan->nlanes; i++) {
        timeline_wake(run, lane->first + i);
    }
}

uint32_t timeline_chunks(const weft_plan_t *plan)
{
    uint32_t in = weft_coll_blocks(plan->coll, plan->nranks, WEFT_OPERAND_IN);
    uint32_t out = weft_coll_blocks(plan->coll, plan->nranks, WEFT_OPERAND_OUT);
    return (in > out ? in : out) * plan->k;
}

/* In the numbering of the buffer that has a block for each rank: block of the sender for a gather,
 * of the receiver for a scatter or an all-to-all. */
static uint32_t timeline_chunk_of(const lane_t *lane, const weft_plan_view_t *move, uint32_t step)
{
    const weft_plan_t *plan = lane->plan;
    const weft_plan_operand_t *in = NULL, *out = NULL;
    for (uint32_t i = 0; i < move->nsrc + move->ndst + 1; i++) {
        const weft_plan_operand_t *o = i < move->nsrc                ? &move->src[i]
                                       : i < move->nsrc + move->ndst ? &move->dst[i - move->nsrc]
                                                                     : move->like;
        in = in == NULL && o->kind == WEFT_OPERAND_IN ? o : in;
        out = out == NULL && o->kind == WEFT_OPERAND_OUT ? o : out;
    }
    bool wide_in = weft_coll_has_blocks(plan->coll, WEFT_OPERAND_IN);
    bool wide_out = !wide_in && weft_coll_has_blocks(plan->coll, WEFT_OPERAND_OUT);
    const weft_plan_operand_t *wide = wide_in ? in : wide_out ? out : in != NULL ? in : out;
    if (wide != NULL) {
        return weft_plan_chunk_of(move, wide, weft_plan_chunks(plan, wide->kind),
                                  lane->cursor.iteration, step);
    }
    const weft_plan_operand_t *narrow = in != NULL ? in : out;
    if (narrow == NULL) {
        return 0;
    }
    uint32_t chunk = weft_plan_chunk_of(move, narrow, weft_plan_chunks(plan, narrow->kind),
                                        lane->cursor.iteration, step);
    return plan->rank * plan->k + chunk % plan->k;
}

static queue_t *timeline_queue_of(const run_t *run, const lane_t *lane,
                                  const weft_plan_operand_t *operand)
{
    return &run->queues[run->port_queue[run->first_port[lane->plan->rank] + operand->index]];
}

static void *timeline_grow(void *array, size_t size, uint32_t used, uint32_t *room)
{
    if (used < *room) {
        return array;
    }
    uint32_t more = *room == 0 ? 1024 : *room * 2;
    void *larger = realloc(array, size * more);
    if (larger != NULL) {
        *room = more;
    }
    return larger;
}

static uint32_t timeline_record_event(run_t *run, const lane_t *lane, const member_t *member,
                                      double start, double end)
{
    timeline_t *t = run->timeline;
    void *events = timeline_grow(t->events, sizeof *t->events, t->nevents, &run->room_events);
    if (events == NULL) {
        run->status = weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for a drawing");
        return TIMELINE_NONE;
    }
    t->events = events;
    uint32_t step = member->step / run->input->slices;
    t->events[t->nevents] =
        (timeline_event_t){.rank = lane->plan->rank,
                           .lane = lane->lane,
                           .pc = member->pc,
                           .iteration = lane->cursor.iteration,
                           .chunk = timeline_chunk_of(lane, &member->move, step),
                           .chunks = weft_plan_packs(&member->move) ? member->move.cnt : 1,
                           .member = lane->par ? member->pc - lane->cursor.pc - 1 : 0,
                           .members = lane->par ? lane->nmembers : 1,
                           .combines = member->move.nsrc > 1 ? member->move.nsrc : 0,
                           .final = member->move.flags & WEFT_MOVE_FINAL,
                           .start = start,
                           .end = end};
    return t->nevents++;
}

static void timeline_record_message(run_t *run, const queue_t *queue, uint32_t from, uint32_t to)
{
    timeline_t *t = run->timeline;
    void *messages =
        timeline_grow(t->messages, sizeof *t->messages, t->nmessages, &run->room_messages);
    if (messages == NULL) {
        run->status = weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for a drawing");
        return;
    }
    t->messages = messages;
    t->messages[t->nmessages++] =
        (timeline_message_t){.from = from, .to = to, .channel = queue->channel};
}

/* When the next slice may start, or UNFINISHED: something is still missing. */
static double timeline_may_start(const run_t *run, const lane_t *lane, const member_t *member,
                                 bool *port_p)
{
    const weft_plan_view_t *move = &member->move;
    uint32_t slots = run->input->slots;
    double at = member->at;
    for (uint32_t i = 0; i < move->nsrc; i++) {
        if (move->src[i].kind == WEFT_OPERAND_PORT) {
            const queue_t *q = timeline_queue_of(run, lane, &move->src[i]);
            if (q->pushed == q->popped) {
                return UNFINISHED;
            }
            double arrived = q->pushed_at[q->popped % slots];
            at = arrived > at ? arrived : at;
            *port_p = true;
        }
    }
    for (uint32_t i = 0; i < move->ndst; i++) {
        if (move->dst[i].kind == WEFT_OPERAND_PORT) {
            const queue_t *q = timeline_queue_of(run, lane, &move->dst[i]);
            if (q->pushed - q->popped == slots) {
                return UNFINISHED;
            }
            double freed = q->popped_at[q->pushed % slots];
            at = freed > at ? freed : at;
            *port_p = true;
        }
    }
    return at;
}

static void timeline_pop(run_t *run, const lane_t *lane, const weft_plan_operand_t *operand,
                         uint32_t event, double end)
{
    queue_t *q = timeline_queue_of(run, lane, operand);
    uint64_t at = q->popped++ % run->input->slots;
    q->popped_at[at] = end;
    timeline_wake(run, q->sender);
    if (event != TIMELINE_NONE) {
        timeline_record_message(run, q, q->event[at], event);
        run->timeline->events[event].receives++;
    }
}

static void timeline_push(run_t *run, const lane_t *lane, const weft_plan_operand_t *operand,
                          uint32_t event, double end)
{
    queue_t *q = timeline_queue_of(run, lane, operand);
    uint64_t at = q->pushed++ % run->input->slots;
    q->pushed_at[at] = end;
    q->event[at] = event;
    timeline_wake(run, q->receiver);
    if (event != TIMELINE_NONE) {
        run->timeline->events[event].sends++;
    }
}

/* Moves one slice. Returns false if it cannot move yet. */
static bool timeline_advance(run_t *run, const lane_t *lane, member_t *member)
{
    const weft_plan_view_t *move = &member->move;
    bool port = false;
    double start = timeline_may_start(run, lane, member, &port);
    if (start < 0) {
        return false;
    }
    double end = start + (port ? EDGE_TIME : LOCAL_TIME);
    uint32_t event =
        run->input->record ? timeline_record_event(run, lane, member, start, end) : TIMELINE_NONE;
    for (uint32_t i = 0; i < move->nsrc; i++) {
        if (move->src[i].kind == WEFT_OPERAND_PORT) {
            timeline_pop(run, lane, &move->src[i], event, end);
        }
    }
    for (uint32_t i = 0; i < move->ndst; i++) {
        if (move->dst[i].kind == WEFT_OPERAND_PORT) {
            timeline_push(run, lane, &move->dst[i], event, end);
        }
    }
    member->at = end;
    member->step++;
    run->timeline->steps++;
    run->timeline->end = end > run->timeline->end ? end : run->timeline->end;
    return true;
}

static weft_cursors_t timeline_cursors_of(const run_t *run, const lane_t *lane)
{
    lane_t *first = &run->lanes[lane->first];
    return (weft_cursors_t){
        .first = &first->cursor, .stride = sizeof *first, .count = lane->plan->nlanes};
}

/* True if the waits of all MOVEs of the instruction are over. They begin together. */
static bool timeline_waits_over(const run_t *run, lane_t *lane, const weft_code_t *code)
{
    weft_cursors_t cursors = timeline_cursors_of(run, lane);
    const weft_code_t *first = code->opcode == WEFT_CODE_PAR ? code + 1 : code;
    double at = lane->at;
    for (uint32_t i = 0; i < weft_cursor_moves(code); i++) {
        weft_plan_view_t move = weft_plan_view(lane->plan, first[i].n);
        if (!weft_cursor_waits_over(&cursors, &lane->cursor, &move)) {
            return false;
        }
        for (uint32_t w = 0; w < move.nafter; w++) {
            const weft_after_t *after = &move.after[w];
            double over = run->lanes[lane->first + after->lane].ended_at[after->pc];
            at = over > at ? over : at;
        }
    }
    lane->at = at;
    return true;
}

static void timeline_finish(run_t *run, lane_t *lane, uint32_t pc, double at)
{
    if (weft_cursor_finish(&lane->cursor, pc)) {
        lane->ended_at[pc] = at;
        timeline_wake_rank(run, lane);
    }
}

static void timeline_begin_group(const run_t *run, lane_t *lane, const weft_code_t *code)
{
    lane->par = code->opcode == WEFT_CODE_PAR;
    lane->nmembers = weft_cursor_moves(code);
    for (uint32_t i = 0; i < lane->nmembers; i++) {
        uint32_t pc = lane->cursor.pc + lane->par + i;
        weft_plan_view_t move = weft_plan_view(lane->plan, lane->cursor.code[pc].n);
        lane->members[i] = (member_t){.move = move,
                                      .pc = pc,
                                      .steps = weft_plan_messages(&move) * run->input->slices,
                                      .at = lane->at};
    }
}

static void timeline_end_group(run_t *run, lane_t *lane)
{
    for (uint32_t i = 0; i < lane->nmembers; i++) {
        lane->at = lane->members[i].at > lane->at ? lane->members[i].at : lane->at;
    }
    for (uint32_t i = 0; i < lane->nmembers; i++) {
        timeline_finish(run, lane, lane->members[i].pc, lane->at);
    }
    weft_cursor_next(&lane->cursor);
    lane->nmembers = 0;
}

static bool timeline_run_group(run_t *run, lane_t *lane, const weft_code_t *code)
{
    if (lane->nmembers == 0) {
        if (!timeline_waits_over(run, lane, code)) {
            return false;
        }
        timeline_begin_group(run, lane, code);
    }
    uint32_t over = 0;
    for (uint32_t i = 0; i < lane->nmembers; i++) {
        member_t *member = &lane->members[i];
        while (member->step < member->steps && timeline_advance(run, lane, member)) {
        }
        over += member->step == member->steps;
    }
    if (over < lane->nmembers) {
        return false;
    }
    timeline_end_group(run, lane);
    return true;
}

static bool timeline_run_bar(run_t *run, lane_t *lane, uint64_t mask)
{
    lane_t *lanes = &run->lanes[lane->first];
    weft_cursors_t cursors = timeline_cursors_of(run, lane);
    double at = 0;
    if (!weft_cursor_arrive(&cursors, &lane->cursor, mask)) {
        return false;
    }
    for (uint32_t i = 0; i < lane->plan->nlanes; i++) {
        at = (mask >> i & 1) != 0 && lanes[i].at > at ? lanes[i].at : at;
    }
    for (uint32_t i = 0; i < lane->plan->nlanes; i++) {
        if ((mask >> i & 1) != 0) {
            lanes[i].at = at;
            run->timeline->steps++;
            timeline_finish(run, &lanes[i], lanes[i].cursor.pc, at);
            weft_cursor_next(&lanes[i].cursor);
            timeline_wake(run, lane->first + i);
        }
    }
    return true;
}

static bool timeline_run_code(run_t *run, lane_t *lane)
{
    const weft_code_t *code = weft_cursor_seek(&lane->cursor);
    switch (code->opcode) {
    case WEFT_CODE_BAR:
        return timeline_run_bar(run, lane, code->mask);
    case WEFT_CODE_STOP:
        lane->done = true;
        run->lanes_done++;
        return false;
    default:
        return timeline_run_group(run, lane, code);
    }
}

static void timeline_go(run_t *run)
{
    for (uint32_t i = 0; i < run->nlanes; i++) {
        timeline_wake(run, i);
    }
    while (run->work_used != 0 && run->status == WEFT_OK &&
           run->timeline->steps <= run->input->limit) {
        lane_t *lane = &run->lanes[run->work[run->work_at]];
        run->work_at = (run->work_at + 1) % run->nlanes;
        run->work_used--;
        lane->queued = false;
        while (timeline_run_code(run, lane) && run->timeline->steps <= run->input->limit) {
        }
    }
    run->timeline->stuck = run->lanes_done < run->nlanes;
    if (run->status == WEFT_OK && run->timeline->steps > run->input->limit) {
        run->status = weft_fail(WEFT_ERR_ARG, 0, "the run has more than %llu steps",
                                (unsigned long long)run->input->limit);
    }
}

static void timeline_count_up(run_t *run, uint32_t *ncode_p, uint32_t *nqueues_p)
{
    uint32_t code = 0, queues = 0;
    for (uint32_t r = 0; r < run->input->nranks; r++) {
        const weft_plan_t *plan = run->input->plans[r];
        run->first_port[r] = run->nports;
        run->first_lane[r] = run->nlanes;
        run->nports += plan->nports;
        run->nlanes += plan->nlanes;
        for (uint32_t i = 0; i < plan->nports; i++) {
            queues += plan->ports[i].sends;
        }
        for (uint32_t i = 0; i < plan->nlanes; i++) {
            code += plan->lanes[i].ncode;
        }
    }
    *ncode_p = code;
    *nqueues_p = queues;
}

static void timeline_set_lanes(run_t *run)
{
    uint32_t code_at = 0;
    member_t *members = run->members;
    for (uint32_t r = 0; r < run->input->nranks; r++) {
        const weft_plan_t *plan = run->input->plans[r];
        for (uint32_t i = 0; i < plan->nlanes; i++) {
            const weft_plan_lane_t *text = &plan->lanes[i];
            run->lanes[run->first_lane[r] + i] =
                (lane_t){.plan = plan,
                         .cursor = {.code = text->code, .finished = run->finished + code_at},
                         .lane = i,
                         .first = run->first_lane[r],
                         .ended_at = run->ended_at + code_at,
                         .members = members};
            members += weft_cursor_width(text);
            code_at += text->ncode;
        }
    }
}

static uint32_t timeline_other_end(const run_t *run, uint32_t rank, const weft_plan_port_t *port)
{
    const weft_plan_t *peer =
        port->peer < run->input->nranks ? run->input->plans[port->peer] : NULL;
    for (uint32_t i = 0; peer != NULL && i < peer->nports; i++) {
        const weft_plan_port_t *other = &peer->ports[i];
        if (other->sends != port->sends && other->peer == rank && other->channel == port->channel) {
            return i;
        }
    }
    return TIMELINE_NONE;
}

static void timeline_pair(run_t *run)
{
    uint32_t slots = run->input->slots, at = 0;
    uint64_t searches = 0;
    for (uint32_t r = 0; r < run->input->nranks; r++) {
        const weft_plan_t *plan = run->input->plans[r];
        searches += (uint64_t)plan->nports * plan->nports;
        if (searches > SEARCHES_MAX) {
            run->status = weft_fail(WEFT_ERR_ARG, 0, "too many ports for a timed run");
            return;
        }
        for (uint32_t i = 0; i < plan->nports; i++) {
            const weft_plan_port_t *port = &plan->ports[i];
            uint32_t other = timeline_other_end(run, r, port);
            if (other == TIMELINE_NONE) {
                run->status =
                    weft_fail(WEFT_ERR_PLAN, 0, "port %u of rank %u has no other end at rank %u", i,
                              r, port->peer);
                return;
            }
            if (!port->sends) {
                continue;
            }
            const weft_plan_t *peer = run->input->plans[port->peer];
            run->queues[at] =
                (queue_t){.pushed_at = run->times + (size_t)2 * slots * at,
                          .popped_at = run->times + (size_t)2 * slots * at + slots,
                          .event = run->events + (size_t)slots * at,
                          .channel = port->channel,
                          .sender = run->first_lane[r] + port->lane,
                          .receiver = run->first_lane[port->peer] + peer->ports[other].lane};
            run->port_queue[run->first_port[r] + i] = at;
            run->port_queue[run->first_port[port->peer] + other] = at++;
        }
    }
}

static uint64_t timeline_count_members(const timeline_input_t *input)
{
    uint64_t members = 0;
    for (uint32_t r = 0; r < input->nranks; r++) {
        for (uint32_t i = 0; i < input->plans[r]->nlanes; i++) {
            members += weft_cursor_width(&input->plans[r]->lanes[i]);
        }
    }
    return members;
}

static weft_status_t timeline_set_up(run_t *run)
{
    const timeline_input_t *input = run->input;
    uint32_t ncode, nqueues;
    run->first_port = calloc(input->nranks, sizeof *run->first_port);
    run->first_lane = calloc(input->nranks, sizeof *run->first_lane);
    if (run->first_port == NULL || run->first_lane == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for a timed run");
    }
    timeline_count_up(run, &ncode, &nqueues);
    run->lanes = calloc(run->nlanes + 1, sizeof *run->lanes);
    run->work = calloc(run->nlanes + 1, sizeof *run->work);
    run->queues = calloc(nqueues + 1, sizeof *run->queues);
    run->port_queue = calloc(run->nports + 1, sizeof *run->port_queue);
    run->times = calloc((size_t)2 * input->slots * (nqueues + 1), sizeof *run->times);
    run->events = calloc((size_t)input->slots * (nqueues + 1), sizeof *run->events);
    run->finished = calloc(ncode + 1, sizeof *run->finished);
    run->ended_at = calloc(ncode + 1, sizeof *run->ended_at);
    run->members = calloc(timeline_count_members(input) + 1, sizeof *run->members);
    if (run->lanes == NULL || run->work == NULL || run->queues == NULL || run->port_queue == NULL ||
        run->times == NULL || run->events == NULL || run->finished == NULL ||
        run->ended_at == NULL || run->members == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, 0, "no memory for a timed run");
    }
    timeline_set_lanes(run);
    timeline_pair(run);
    return run->status;
}

weft_status_t timeline_run(const timeline_input_t *input, timeline_t *timeline)
{
    run_t run = {.input = input, .timeline = timeline};
    *timeline = (timeline_t){0};
    run.status = timeline_set_up(&run);
    if (run.status == WEFT_OK && run.nlanes != 0) {
        timeline_go(&run);
    }
    free(run.first_port);
    free(run.first_lane);
    free(run.lanes);
    free(run.work);
    free(run.queues);
    free(run.port_queue);
    free(run.times);
    free(run.events);
    free(run.finished);
    free(run.ended_at);
    free(run.members);
    return run.status;
}

void timeline_free(timeline_t *timeline)
{
    free(timeline->events);
    free(timeline->messages);
    *timeline = (timeline_t){0};
}

uint32_t timeline_least_slots(timeline_input_t input, uint32_t most)
{
    uint32_t low = 1, high = most, found = 0;
    while (low <= high) {
        timeline_t timeline;
        input.slots = low + (high - low) / 2;
        weft_status_t status = timeline_run(&input, &timeline);
        bool good = status == WEFT_OK && !timeline.stuck;
        timeline_free(&timeline);
        if (status != WEFT_OK) {
            return 0;
        }
        if (good) {
            found = input.slots;
            high = input.slots - 1;
        } else {
            low = input.slots + 1;
        }
    }
    return found;
}
