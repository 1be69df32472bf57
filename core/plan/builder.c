/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The builder: appends what an emitter says, remembers its first mistake. */
#include "core/plan/builder.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/os/os.h"

#define GROW_FROM 8u
#define CHANNEL_MAX (1u << 16)

static weft_plan_draft_t *draft_of(weft_plan_builder_t *builder)
{
    return builder->core;
}

void weft_plan_mistake(weft_plan_draft_t *draft, weft_status_t status, const char *format, ...)
{
    if (draft->status != WEFT_OK) {
        return;
    }
    va_list args;
    va_start(args, format);
    vsnprintf(draft->why, sizeof draft->why, format, args);
    va_end(args);
    draft->status = status;
}

/* Capacities are powers of two, so the number in use tells when to grow. */
void *weft_plan_grown(weft_plan_draft_t *draft, void *items, uint32_t used, size_t size)
{
    if (used != 0 && (used < GROW_FROM || (used & (used - 1)) != 0)) {
        return items;
    }
    void *more = weft_os_alloc((used == 0 ? GROW_FROM : 2 * (size_t)used) * size, 0);
    if (more == NULL) {
        weft_plan_mistake(draft, WEFT_ERR_RESOURCE, "no memory for %u entries", used + 1);
        return NULL;
    }
    if (used != 0) {
        memcpy(more, items, used * size);
    }
    weft_os_free(items);
    return more;
}

static void build_grid(weft_plan_builder_t *builder, uint32_t k, uint32_t tmp_chunks)
{
    weft_plan_draft_t *draft = draft_of(builder);
    if (draft->has_grid) {
        weft_plan_mistake(draft, WEFT_ERR_PLAN, "grid() called twice");
        return;
    }
    draft->has_grid = true;
    draft->plan->k = k;
    draft->plan->tmp_chunks = tmp_chunks;
}

static uint32_t build_lane(weft_plan_builder_t *builder)
{
    weft_plan_draft_t *draft = draft_of(builder);
    weft_plan_t *plan = draft->plan;
    if (plan->nlanes == WEFT_LANE_MAX) {
        weft_plan_mistake(draft, WEFT_ERR_PLAN, "more than %d lanes", WEFT_LANE_MAX);
        return 0;
    }
    return plan->nlanes++;
}

static uint32_t build_port(weft_plan_builder_t *builder, uint32_t lane, uint32_t peer,
                           uint32_t channel, uint32_t sends)
{
    weft_plan_draft_t *draft = draft_of(builder);
    weft_plan_t *plan = draft->plan;
    if (lane >= plan->nlanes) {
        weft_plan_mistake(draft, WEFT_ERR_PLAN, "port to rank %u for lane %u, which does not exist",
                          peer, lane);
    }
    if (channel >= CHANNEL_MAX) {
        weft_plan_mistake(draft, WEFT_ERR_PLAN, "port %u has channel %u, limit %u", plan->nports,
                          channel, CHANNEL_MAX - 1);
    }
    if (draft->status != WEFT_OK) {
        return 0;
    }
    void *ports = weft_plan_grown(draft, plan->ports, plan->nports, sizeof *plan->ports);
    if (ports == NULL) {
        return 0;
    }
    plan->ports = ports;
    plan->ports[plan->nports] = (weft_plan_port_t){.peer = peer,
                                                   .channel = (uint16_t)channel,
                                                   .lane = (uint8_t)lane,
                                                   .sends = sends != 0 ? 1 : 0};
    return plan->nports++;
}

static uint32_t append(weft_plan_draft_t *draft, uint32_t lane, weft_code_t code)
{
    weft_plan_t *plan = draft->plan;
    if (lane >= plan->nlanes) {
        weft_plan_mistake(draft, WEFT_ERR_PLAN, "instruction for lane %u, which does not exist",
                          lane);
    }
    if (draft->status != WEFT_OK) {
        return 0;
    }
    weft_plan_lane_t *to = &plan->lanes[lane];
    void *more = weft_plan_grown(draft, to->code, to->ncode, sizeof *to->code);
    if (more == NULL) {
        return 0;
    }
    to->code = more;
    to->code[to->ncode] = code;
    return to->ncode++;
}

static uint32_t build_move(weft_plan_builder_t *builder, uint32_t lane, const weft_move_t *move)
{
    weft_plan_draft_t *draft = draft_of(builder);
    if (!weft_plan_keep_move(draft, lane, move)) {
        return 0;
    }
    return append(draft, lane,
                  (weft_code_t){.opcode = WEFT_CODE_MOVE, .n = draft->plan->nmoves - 1});
}

static uint32_t build_par(weft_plan_builder_t *builder, uint32_t lane, uint32_t members)
{
    return append(draft_of(builder), lane, (weft_code_t){.opcode = WEFT_CODE_PAR, .n = members});
}

/* The LOOP of this lane that has no END yet, or −1. */
static int64_t open_loop(const weft_plan_lane_t *lane)
{
    for (uint32_t pc = lane->ncode; pc-- > 0;) {
        if (lane->code[pc].opcode == WEFT_CODE_END) {
            return -1;
        }
        if (lane->code[pc].opcode == WEFT_CODE_LOOP) {
            return pc;
        }
    }
    return -1;
}

bool weft_plan_lane_is_open(const weft_plan_lane_t *lane)
{
    uint32_t first = lane->ncode > WEFT_PAR_MAX ? lane->ncode - WEFT_PAR_MAX : 0;
    for (uint32_t pc = lane->ncode; pc-- > first;) {
        if (lane->code[pc].opcode == WEFT_CODE_PAR) {
            return pc + lane->code[pc].n >= lane->ncode || open_loop(lane) >= 0;
        }
    }
    return open_loop(lane) >= 0;
}

static uint32_t build_loop(weft_plan_builder_t *builder, uint32_t lane, uint32_t times)
{
    weft_plan_draft_t *draft = draft_of(builder);
    if (lane < draft->plan->nlanes && open_loop(&draft->plan->lanes[lane]) >= 0) {
        weft_plan_mistake(draft, WEFT_ERR_PLAN, "lane %u: LOOP inside a LOOP", lane);
    }
    return append(draft, lane, (weft_code_t){.opcode = WEFT_CODE_LOOP, .n = times});
}

static uint32_t build_end(weft_plan_builder_t *builder, uint32_t lane)
{
    weft_plan_draft_t *draft = draft_of(builder);
    weft_plan_t *plan = draft->plan;
    int64_t loop = lane < plan->nlanes ? open_loop(&plan->lanes[lane]) : -1;
    if (loop < 0) {
        weft_plan_mistake(draft, WEFT_ERR_PLAN, "lane %u: END without LOOP", lane);
        return 0;
    }
    uint32_t pc =
        append(draft, lane, (weft_code_t){.opcode = WEFT_CODE_END, .mate = (uint32_t)loop});
    if (draft->status == WEFT_OK) {
        plan->lanes[lane].code[loop].mate = pc;
    }
    return pc;
}

static uint32_t build_bar(weft_plan_builder_t *builder, uint32_t lane, uint64_t lane_mask)
{
    return append(draft_of(builder), lane,
                  (weft_code_t){.opcode = WEFT_CODE_BAR, .mask = lane_mask});
}

weft_status_t weft_plan_draft_init(weft_plan_draft_t *draft, const weft_algo_call_t *call)
{
    *draft = (weft_plan_draft_t){.builder = {.size = sizeof draft->builder,
                                             .core = draft,
                                             .grid = build_grid,
                                             .lane = build_lane,
                                             .port = build_port,
                                             .move = build_move,
                                             .par = build_par,
                                             .loop = build_loop,
                                             .end = build_end,
                                             .bar = build_bar,
                                             .sub = weft_plan_build_sub,
                                             .call = weft_plan_build_call}};
    weft_plan_t *plan = weft_os_alloc(sizeof *plan, 0);
    weft_plan_lane_t *lanes = weft_os_alloc(WEFT_LANE_MAX * sizeof *lanes, 0);
    if (plan == NULL || lanes == NULL) {
        weft_os_free(plan);
        weft_os_free(lanes);
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for a plan");
    }
    plan->coll = call->coll;
    plan->nranks = call->nranks;
    plan->rank = call->rank;
    plan->root = call->root;
    plan->lanes = lanes;
    draft->plan = plan;
    return WEFT_OK;
}

/* A finished plan grows no more; where memory for that is short it stays as it is. */
static void *fitted(void *items, uint32_t used, size_t size)
{
    void *exact = used == 0 ? NULL : weft_os_alloc(used * size, 0);
    if (exact == NULL) {
        return items;
    }
    memcpy(exact, items, used * size);
    weft_os_free(items);
    return exact;
}

static void fit(weft_plan_t *plan)
{
    for (uint32_t lane = 0; lane < plan->nlanes; lane++) {
        weft_plan_lane_t *at = &plan->lanes[lane];
        at->code = fitted(at->code, at->ncode, sizeof *at->code);
    }
    plan->lanes = fitted(plan->lanes, plan->nlanes, sizeof *plan->lanes);
    plan->ports = fitted(plan->ports, plan->nports, sizeof *plan->ports);
    plan->moves = fitted(plan->moves, plan->nmoves, sizeof *plan->moves);
    plan->operands = fitted(plan->operands, plan->noperands, sizeof *plan->operands);
    plan->afters = fitted(plan->afters, plan->nafters, sizeof *plan->afters);
}

weft_status_t weft_plan_draft_finish(weft_plan_draft_t *draft, weft_plan_t **plan_p)
{
    for (uint32_t lane = 0; lane < draft->plan->nlanes; lane++) {
        append(draft, lane, (weft_code_t){.opcode = WEFT_CODE_STOP});
    }
    if (draft->status == WEFT_OK && !draft->has_grid) {
        weft_plan_mistake(draft, WEFT_ERR_PLAN, "grid() was never called");
    }
    if (draft->status != WEFT_OK) {
        return weft_fail(draft->status, 0, "plan of rank %u: %s", draft->plan->rank, draft->why);
    }
    weft_status_t status = weft_plan_check(draft->plan);
    if (status == WEFT_OK) {
        fit(draft->plan);
        *plan_p = draft->plan;
        draft->plan = NULL;
    }
    return status;
}

void weft_plan_draft_fini(weft_plan_draft_t *draft)
{
    for (uint32_t i = 0; i < draft->nparts; i++) {
        weft_plan_destroy(draft->parts[i].plan);
        weft_os_free(draft->parts[i].group);
    }
    weft_os_free(draft->parts);
    weft_plan_destroy(draft->plan);
    draft->plan = NULL;
}

weft_status_t weft_plan_emit_from(const weft_plan_emitter_t *source, const weft_algo_call_t *call,
                                  weft_plan_t **plan_p)
{
    weft_plan_draft_t draft;
    weft_status_t status = weft_plan_draft_init(&draft, call);
    if (status != WEFT_OK) {
        return status;
    }
    draft.source = source;
    status = source->ops->emit(source->algo, call, source->view, &draft.builder);
    if (status == WEFT_OK) {
        status = weft_plan_draft_finish(&draft, plan_p);
    }
    weft_plan_draft_fini(&draft);
    return status;
}

weft_status_t weft_plan_emit(const weft_algo_ops_t *ops, weft_algo_t *algo,
                             const weft_algo_call_t *call, const weft_algo_topo_t *view,
                             const weft_plan_finder_t *finder, weft_plan_t **plan_p)
{
    weft_plan_emitter_t source = {.ops = ops, .algo = algo, .finder = finder, .view = view};
    return weft_plan_emit_from(&source, call, plan_p);
}
