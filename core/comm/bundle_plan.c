/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See bundle_plan.h. A queue is a peer and a direction; this rank's messages to itself are one. */
#include "core/comm/bundle_plan.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/os/os.h"

typedef struct bundle_queue {
    uint32_t first;   /* of its messages */
    uint32_t stripes; /* most that one of them has */
    uint32_t lanes;   /* that share its stripes; a power of two */
    uint32_t port;    /* of its first stripe */
} bundle_queue_t;

typedef struct bundle_queues {
    uint32_t *of; /* queue of each message; of a receive from itself: not used */
    bundle_queue_t *queue;
    uint32_t count;
    uint32_t lanes; /* of all of them */
    bool several;   /* a queue has more than one message */
} bundle_queues_t;

static bool bundle_is_second_half(const weft_bundle_entry_t *entry, uint32_t rank)
{
    return entry->peer == rank && !entry->sends;
}

static void bundle_find_queues(const weft_bundle_entry_t *entries, uint32_t messages, uint32_t rank,
                               bundle_queues_t *queues)
{
    for (uint32_t m = 0; m < messages; m++) {
        uint32_t queue = 0;
        if (bundle_is_second_half(&entries[m], rank)) {
            continue;
        }
        while (queue < queues->count &&
               (entries[queues->queue[queue].first].peer != entries[m].peer ||
                entries[queues->queue[queue].first].sends != entries[m].sends)) {
            queue++;
        }
        queues->several = queues->several || queue < queues->count;
        if (queue == queues->count) {
            queues->queue[queues->count++] = (bundle_queue_t){.first = m, .lanes = 1};
        }
        bundle_queue_t *of = &queues->queue[queue];
        of->stripes = entries[m].stripes > of->stripes ? entries[m].stripes : of->stripes;
        queues->of[m] = queue;
    }
}

/* Gives lanes that are left to queues with several stripes, each twice as many as it has. */
static void bundle_share_lanes(bundle_queues_t *queues, uint32_t most)
{
    bool shared = true;
    queues->lanes = queues->count;
    while (shared) {
        shared = false;
        for (uint32_t q = 0; q < queues->count; q++) {
            bundle_queue_t *queue = &queues->queue[q];
            if (2 * queue->lanes <= queue->stripes && queues->lanes + queue->lanes <= most) {
                queues->lanes += queue->lanes;
                queue->lanes *= 2;
                shared = true;
            }
        }
    }
}

/* Returns the receive from itself that belongs to the send `m`: the one of the same number. */
static uint32_t bundle_find_half(const weft_bundle_entry_t *entries, uint32_t rank, uint32_t m)
{
    uint32_t before = 0, at = 0;
    for (uint32_t i = 0; i < m; i++) {
        before += entries[i].peer == rank && entries[i].sends;
    }
    for (;; at++) {
        if (bundle_is_second_half(&entries[at], rank) && before-- == 0) {
            return at;
        }
    }
}

static weft_plan_operand_t bundle_operand(weft_operand_kind_t kind, uint32_t index)
{
    return (weft_plan_operand_t){.kind = kind & 7, .index = index & WEFT_PLAN_INDEX_MAX};
}

/* The lanes that share a message: not more than it has stripes. */
static uint32_t bundle_shares(const bundle_queue_t *queue, const weft_bundle_entry_t *entry)
{
    return queue->lanes < entry->stripes ? queue->lanes : entry->stripes;
}

/* The MOVE of message `m` in lane `part` of its queue. */
static void bundle_add_move(weft_bundle_plan_t *x, uint32_t m, const bundle_queue_t *queue,
                            uint32_t part)
{
    weft_plan_t *plan = &x->plan;
    const weft_bundle_entry_t *entry = &x->entries[m];
    weft_plan_operand_t *to = &plan->operands[plan->noperands], *from = to + 1;
    weft_plan_operand_t port = bundle_operand(WEFT_OPERAND_PORT, queue->port);
    port.stride = (int32_t)entry->stripes;
    *to = bundle_operand(WEFT_OPERAND_OUT, m);
    *from = bundle_operand(WEFT_OPERAND_IN, m);
    if (entry->peer == plan->rank) {
        *to = bundle_operand(WEFT_OPERAND_OUT, bundle_find_half(x->entries, plan->rank, m));
    } else {
        *(entry->sends ? to : from) = port;
    }
    plan->moves[plan->nmoves++] = (weft_plan_move_t){.operand = plan->noperands,
                                                     .after = part,
                                                     .cnt = bundle_shares(queue, entry),
                                                     .ndst = 1,
                                                     .nsrc = 1};
    plan->noperands += 2;
}

/* The ports of a queue, a stripe each; its first lane is `lane`. */
static void bundle_add_ports(weft_bundle_plan_t *x, bundle_queue_t *queue, uint32_t lane)
{
    weft_plan_t *plan = &x->plan;
    const weft_bundle_entry_t *entry = &x->entries[queue->first];
    queue->port = plan->nports;
    for (uint32_t s = 0; s < queue->stripes && entry->peer != plan->rank; s++) {
        plan->ports[plan->nports++] = (weft_plan_port_t){.peer = entry->peer,
                                                         .channel = (uint16_t)s,
                                                         .lane = (uint8_t)(lane + s % queue->lanes),
                                                         .sends = (uint8_t)entry->sends};
    }
}

/* Writes the MOVEs of a queue's lane `part` behind the code of lane `l`. */
static void bundle_write_queue(weft_bundle_plan_t *x, bundle_queues_t *queues, uint32_t q,
                               uint32_t part, uint32_t l)
{
    weft_plan_lane_t *lane = &x->plan.lanes[l];
    bundle_queue_t *queue = &queues->queue[q];
    if (part == 0) {
        bundle_add_ports(x, queue, l);
    }
    for (uint32_t m = queue->first; m < x->messages; m++) {
        if (!bundle_is_second_half(&x->entries[m], x->plan.rank) && queues->of[m] == q &&
            part < bundle_shares(queue, &x->entries[m])) {
            lane->code[lane->ncode++] =
                (weft_code_t){.opcode = WEFT_CODE_MOVE, .n = x->plan.nmoves};
            bundle_add_move(x, m, queue, part);
        }
    }
}

/* Begins a lane behind the code of the one before it. */
static void bundle_begin_lane(weft_plan_t *plan, uint32_t l, uint32_t together)
{
    weft_plan_lane_t *lane = &plan->lanes[l];
    lane->code = l > 0 ? lane[-1].code + lane[-1].ncode : lane->code;
    if (together > 1) {
        lane->code[lane->ncode++] = (weft_code_t){.opcode = WEFT_CODE_PAR, .n = together};
    }
}

static void bundle_end_lane(weft_plan_lane_t *lane)
{
    lane->code[lane->ncode++] = (weft_code_t){.opcode = WEFT_CODE_STOP};
}

/* A lane for each queue, or several. */
static void bundle_write_apart(weft_bundle_plan_t *x, bundle_queues_t *queues)
{
    uint32_t l = 0;
    for (uint32_t q = 0; q < queues->count; q++) {
        for (uint32_t part = 0; part < queues->queue[q].lanes; part++, l++) {
            bundle_begin_lane(&x->plan, l, 1);
            bundle_write_queue(x, queues, q, part, l);
            bundle_end_lane(&x->plan.lanes[l]);
        }
    }
}

/* Several queues in each lane, which progress together. */
static void bundle_write_together(weft_bundle_plan_t *x, bundle_queues_t *queues)
{
    weft_plan_t *plan = &x->plan;
    for (uint32_t l = 0; l < plan->nlanes; l++) {
        bundle_begin_lane(plan, l, (queues->count - l + plan->nlanes - 1) / plan->nlanes);
        for (uint32_t q = l; q < queues->count; q += plan->nlanes) {
            bundle_write_queue(x, queues, q, 0, l);
        }
        bundle_end_lane(&plan->lanes[l]);
    }
}

static bool bundle_allocate_queues(uint32_t n, bundle_queues_t *queues)
{
    *queues = (bundle_queues_t){.of = weft_os_alloc(n * sizeof *queues->of, 0),
                                .queue = weft_os_alloc(n * sizeof *queues->queue, 0)};
    return queues->of != NULL && queues->queue != NULL;
}

/* The MOVEs and ports of the plan. */
static void bundle_measure(const weft_bundle_entry_t *entries, uint32_t messages, uint32_t rank,
                           const bundle_queues_t *queues, weft_plan_t *plan)
{
    for (uint32_t m = 0; m < messages; m++) {
        if (!bundle_is_second_half(&entries[m], rank)) {
            plan->nmoves += bundle_shares(&queues->queue[queues->of[m]], &entries[m]);
        }
    }
    for (uint32_t q = 0; q < queues->count; q++) {
        plan->nports += queues->queue[q].stripes;
    }
}

/* Room for what `need` counts, with two words of code for each lane beside its MOVEs. */
static weft_bundle_plan_t *bundle_allocate(uint32_t messages, const weft_plan_t *need)
{
    weft_bundle_plan_t *x = weft_os_alloc(sizeof *x, 0);
    if (x == NULL) {
        return NULL;
    }
    weft_plan_t *plan = &x->plan;
    x->entries = weft_os_alloc(messages * sizeof *x->entries, 0);
    plan->lanes = weft_os_alloc(need->nlanes * sizeof *plan->lanes, 0);
    plan->ports = weft_os_alloc(need->nports * sizeof *plan->ports, 0);
    plan->moves = weft_os_alloc(need->nmoves * sizeof *plan->moves, 0);
    plan->operands = weft_os_alloc(2 * (size_t)need->nmoves * sizeof *plan->operands, 0);
    if (plan->lanes != NULL) {
        size_t words = need->nmoves + 2 * (size_t)need->nlanes;
        plan->lanes[0].code = weft_os_alloc(words * sizeof *plan->lanes[0].code, 0);
    }
    if (x->entries == NULL || plan->lanes == NULL || plan->ports == NULL || plan->moves == NULL ||
        plan->operands == NULL || plan->lanes[0].code == NULL) {
        weft_bundle_plan_destroy(x);
        return NULL;
    }
    return x;
}

static weft_status_t bundle_check_lanes(const bundle_queues_t *queues, uint32_t lanes)
{
    uint32_t together = (queues->count + lanes - 1) / lanes;
    return together <= 1 || (!queues->several && together <= WEFT_PAR_MAX)
               ? WEFT_OK
               : weft_fail(WEFT_ERR_UNSUPPORTED, 0,
                           "messages of %u peers and directions, of some several, for %u lanes",
                           queues->count, lanes);
}

static weft_status_t bundle_make_plan(const weft_bundle_entry_t *entries, uint32_t messages,
                                      uint32_t rank, uint32_t most, uint32_t room,
                                      bundle_queues_t *queues, weft_bundle_plan_t **plan_p)
{
    weft_plan_t need = {.nlanes = 0};
    bundle_find_queues(entries, messages, rank, queues);
    weft_status_t status = bundle_check_lanes(queues, most);
    if (status != WEFT_OK) {
        return status;
    }
    bundle_share_lanes(queues, room < most ? room : most);
    need.nlanes = queues->lanes < most ? queues->lanes : most;
    bundle_measure(entries, messages, rank, queues, &need);
    weft_bundle_plan_t *x = bundle_allocate(messages, &need);
    if (x == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot plan %u messages", messages);
    }
    memcpy(x->entries, entries, messages * sizeof *entries);
    x->messages = messages;
    x->plan.coll = WEFT_SEND_RECV;
    x->plan.rank = rank;
    x->plan.k = 1;
    x->plan.nlanes = need.nlanes;
    if (queues->count <= most) {
        bundle_write_apart(x, queues);
    } else {
        bundle_write_together(x, queues);
    }
    *plan_p = x;
    return WEFT_OK;
}

weft_status_t weft_bundle_plan_create(const weft_bundle_entry_t *entries, uint32_t messages,
                                      uint32_t rank, uint32_t lanes, uint32_t room,
                                      weft_bundle_plan_t **plan_p)
{
    bundle_queues_t queues;
    uint32_t most = lanes < WEFT_LANE_MAX ? lanes : WEFT_LANE_MAX;
    weft_status_t status =
        bundle_allocate_queues(messages, &queues)
            ? bundle_make_plan(entries, messages, rank, most, room, &queues, plan_p)
            : weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot plan %u messages", messages);
    weft_os_free(queues.of);
    weft_os_free(queues.queue);
    return status;
}

void weft_bundle_plan_destroy(weft_bundle_plan_t *plan)
{
    if (plan == NULL) {
        return;
    }
    if (plan->plan.lanes != NULL) {
        weft_os_free(plan->plan.lanes[0].code); /* of all of them */
    }
    weft_os_free(plan->plan.lanes);
    weft_os_free(plan->plan.ports);
    weft_os_free(plan->plan.moves);
    weft_os_free(plan->plan.operands);
    weft_os_free(plan->entries);
    weft_os_free(plan);
}

bool weft_bundle_plan_is_of(const weft_bundle_plan_t *plan, const weft_bundle_entry_t *entries,
                            uint32_t messages)
{
    return plan->messages == messages &&
           memcmp(plan->entries, entries, messages * sizeof *entries) == 0;
}
