/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See bundle_plan.h. A queue is a peer and a direction; this rank's messages to itself are one. */
#include "core/comm/bundle_plan.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/os/os.h"

typedef struct bundle_queues {
    uint32_t *of;    /* queue of each message; of a receive from itself: not used */
    uint32_t *first; /* per queue: its first message */
    uint32_t count;
    bool several; /* a queue has more than one message */
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
        while (queue < queues->count && (entries[queues->first[queue]].peer != entries[m].peer ||
                                         entries[queues->first[queue]].sends != entries[m].sends)) {
            queue++;
        }
        queues->several = queues->several || queue < queues->count;
        if (queue == queues->count) {
            queues->first[queues->count++] = m;
        }
        queues->of[m] = queue;
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

static void bundle_add_move(weft_bundle_plan_t *x, uint32_t m, uint32_t port)
{
    weft_plan_t *plan = &x->plan;
    weft_plan_operand_t *to = &plan->operands[plan->noperands], *from = to + 1;
    *to = bundle_operand(WEFT_OPERAND_OUT, m);
    *from = bundle_operand(WEFT_OPERAND_IN, m);
    if (x->entries[m].peer == plan->rank) {
        *to = bundle_operand(WEFT_OPERAND_OUT, bundle_find_half(x->entries, plan->rank, m));
    } else if (x->entries[m].sends) {
        *to = bundle_operand(WEFT_OPERAND_PORT, port);
    } else {
        *from = bundle_operand(WEFT_OPERAND_PORT, port);
    }
    plan->moves[plan->nmoves++] =
        (weft_plan_move_t){.operand = plan->noperands, .cnt = 1, .ndst = 1, .nsrc = 1};
    plan->noperands += 2;
}

/* Writes the MOVEs of a queue behind the code of its lane. */
static void bundle_write_queue(weft_bundle_plan_t *x, const bundle_queues_t *queues, uint32_t queue,
                               weft_plan_lane_t *lane)
{
    weft_plan_t *plan = &x->plan;
    const weft_bundle_entry_t *entry = &x->entries[queues->first[queue]];
    uint32_t port = plan->nports;
    if (entry->peer != plan->rank) {
        plan->ports[plan->nports++] = (weft_plan_port_t){.peer = entry->peer,
                                                         .lane = (uint8_t)(lane - plan->lanes),
                                                         .sends = (uint8_t)entry->sends};
    }
    for (uint32_t m = queues->first[queue]; m < x->messages; m++) {
        if (!bundle_is_second_half(&x->entries[m], plan->rank) && queues->of[m] == queue) {
            lane->code[lane->ncode++] = (weft_code_t){.opcode = WEFT_CODE_MOVE, .n = plan->nmoves};
            bundle_add_move(x, m, port);
        }
    }
}

static void bundle_write(weft_bundle_plan_t *x, const bundle_queues_t *queues)
{
    weft_plan_t *plan = &x->plan;
    weft_code_t *code = plan->lanes[0].code;
    for (uint32_t l = 0; l < plan->nlanes; l++) {
        weft_plan_lane_t *lane = &plan->lanes[l];
        uint32_t together = (queues->count - l + plan->nlanes - 1) / plan->nlanes;
        lane->code = code;
        if (together > 1) {
            code[lane->ncode++] = (weft_code_t){.opcode = WEFT_CODE_PAR, .n = together};
        }
        for (uint32_t queue = l; queue < queues->count; queue += plan->nlanes) {
            bundle_write_queue(x, queues, queue, lane);
        }
        code[lane->ncode++] = (weft_code_t){.opcode = WEFT_CODE_STOP};
        code += lane->ncode;
    }
}

/* Room for one queue, one lane, one MOVE and three words of code for each message. */
static weft_bundle_plan_t *bundle_allocate(uint32_t n, bundle_queues_t *queues)
{
    weft_bundle_plan_t *x = weft_os_alloc(sizeof *x, 0);
    *queues = (bundle_queues_t){.of = weft_os_alloc(n * sizeof *queues->of, 0),
                                .first = weft_os_alloc(n * sizeof *queues->first, 0)};
    if (x == NULL) {
        return NULL;
    }
    weft_plan_t *plan = &x->plan;
    x->entries = weft_os_alloc(n * sizeof *x->entries, 0);
    plan->lanes = weft_os_alloc(n * sizeof *plan->lanes, 0);
    plan->ports = weft_os_alloc(n * sizeof *plan->ports, 0);
    plan->moves = weft_os_alloc(n * sizeof *plan->moves, 0);
    plan->operands = weft_os_alloc(2 * (size_t)n * sizeof *plan->operands, 0);
    if (plan->lanes != NULL) {
        plan->lanes[0].code = weft_os_alloc(3 * (size_t)n * sizeof *plan->lanes[0].code, 0);
    }
    if (queues->of == NULL || queues->first == NULL || x->entries == NULL || plan->lanes == NULL ||
        plan->ports == NULL || plan->moves == NULL || plan->operands == NULL ||
        plan->lanes[0].code == NULL) {
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

weft_status_t weft_bundle_plan_create(const weft_bundle_entry_t *entries, uint32_t messages,
                                      uint32_t rank, uint32_t lanes, weft_bundle_plan_t **plan_p)
{
    bundle_queues_t queues;
    uint32_t most = lanes < WEFT_LANE_MAX ? lanes : WEFT_LANE_MAX;
    weft_bundle_plan_t *x = bundle_allocate(messages, &queues);
    weft_status_t status =
        x != NULL ? WEFT_OK
                  : weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot plan %u messages", messages);
    if (status == WEFT_OK) {
        memcpy(x->entries, entries, messages * sizeof *entries);
        x->messages = messages;
        bundle_find_queues(entries, messages, rank, &queues);
        status = bundle_check_lanes(&queues, most);
    }
    if (status == WEFT_OK) {
        x->plan.coll = WEFT_SEND_RECV;
        x->plan.rank = rank;
        x->plan.k = 1;
        x->plan.nlanes = queues.count < most ? queues.count : most;
        bundle_write(x, &queues);
        *plan_p = x;
    } else {
        weft_bundle_plan_destroy(x);
    }
    weft_os_free(queues.of);
    weft_os_free(queues.first);
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
