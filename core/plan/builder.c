/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The builder: appends what an emitter says to a draft. */
#include "core/plan/builder.h"

#include <string.h>

#include "core/base/error.h"
#include "core/os/call_note.h"
#include "core/plan/splice.h"

#define CHANNEL_MAX (1u << 16)

static weft_plan_draft_t *builder_draft_of(weft_plan_builder_t *builder)
{
    return builder->core;
}

static void builder_build_grid(weft_plan_builder_t *builder, uint32_t k, uint32_t tmp_chunks)
{
    weft_plan_draft_t *draft = builder_draft_of(builder);
    if (draft->has_grid) {
        weft_plan_mistake(draft, WEFT_ERR_PLAN, "grid() called twice");
        return;
    }
    draft->has_grid = true;
    draft->plan->k = k;
    draft->plan->tmp_chunks = tmp_chunks;
}

static uint32_t builder_build_lane(weft_plan_builder_t *builder)
{
    weft_plan_draft_t *draft = builder_draft_of(builder);
    weft_plan_t *plan = draft->plan;
    if (plan->nlanes == WEFT_LANE_MAX) {
        weft_plan_mistake(draft, WEFT_ERR_PLAN, "more than %d lanes", WEFT_LANE_MAX);
        return 0;
    }
    return plan->nlanes++;
}

static uint32_t builder_build_port(weft_plan_builder_t *builder, uint32_t lane, uint32_t peer,
                                   uint32_t channel, uint32_t sends)
{
    weft_plan_draft_t *draft = builder_draft_of(builder);
    weft_plan_t *plan = draft->plan;
    if (lane >= plan->nlanes) {
        weft_plan_mistake(draft, WEFT_ERR_PLAN, "port to rank %u for lane %u, which does not exist",
                          peer, lane);
    }
    if (channel >= CHANNEL_MAX) {
        weft_plan_mistake(draft, WEFT_ERR_PLAN, "port %u has channel %u, limit %u", plan->nports,
                          channel, CHANNEL_MAX - 1);
    }
    if (weft_plan_is_dropped(draft)) {
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

static void builder_build_along(weft_plan_builder_t *builder, uint32_t port, uint32_t way)
{
    weft_plan_draft_t *draft = builder_draft_of(builder);
    if (way > UINT8_MAX) {
        weft_plan_mistake(draft, WEFT_ERR_PLAN, "port %u goes along way %u, which does not exist",
                          port, way);
    } else if (!weft_plan_is_dropped(draft) && port < draft->plan->nports) {
        draft->plan->ports[port].way = (uint8_t)way;
    } else if (!weft_plan_is_dropped(draft)) {
        weft_plan_mistake(draft, WEFT_ERR_PLAN, "along() for port %u of %u", port,
                          draft->plan->nports);
    }
}

static uint32_t builder_build_move(weft_plan_builder_t *builder, uint32_t lane,
                                   const weft_move_t *move)
{
    weft_plan_draft_t *draft = builder_draft_of(builder);
    if (!weft_plan_keep_move(draft, lane, move)) {
        return 0;
    }
    return weft_plan_append(draft, lane,
                            (weft_code_t){.opcode = WEFT_CODE_MOVE, .n = draft->plan->nmoves - 1});
}

static uint32_t builder_build_par(weft_plan_builder_t *builder, uint32_t lane, uint32_t members)
{
    return weft_plan_append(builder_draft_of(builder), lane,
                            (weft_code_t){.opcode = WEFT_CODE_PAR, .n = members});
}

static uint32_t builder_build_loop(weft_plan_builder_t *builder, uint32_t lane, uint32_t times)
{
    weft_plan_draft_t *draft = builder_draft_of(builder);
    if (lane < draft->plan->nlanes && weft_plan_open_loop(&draft->plan->lanes[lane]) >= 0) {
        weft_plan_mistake(draft, WEFT_ERR_PLAN, "lane %u: LOOP inside a LOOP", lane);
    }
    return weft_plan_append(draft, lane, (weft_code_t){.opcode = WEFT_CODE_LOOP, .n = times});
}

static uint32_t builder_build_end(weft_plan_builder_t *builder, uint32_t lane)
{
    weft_plan_draft_t *draft = builder_draft_of(builder);
    weft_plan_t *plan = draft->plan;
    int64_t loop = lane < plan->nlanes ? weft_plan_open_loop(&plan->lanes[lane]) : -1;
    if (loop < 0) {
        weft_plan_mistake(draft, WEFT_ERR_PLAN, "lane %u: END without LOOP", lane);
        return 0;
    }
    uint32_t pc = weft_plan_append(draft, lane,
                                   (weft_code_t){.opcode = WEFT_CODE_END, .mate = (uint32_t)loop});
    if (draft->status == WEFT_OK) {
        plan->lanes[lane].code[loop].mate = pc;
    }
    return pc;
}

static uint32_t builder_build_bar(weft_plan_builder_t *builder, uint32_t lane, uint64_t lane_mask)
{
    return weft_plan_append(builder_draft_of(builder), lane,
                            (weft_code_t){.opcode = WEFT_CODE_BAR, .mask = lane_mask});
}

weft_status_t weft_plan_builder_init(weft_plan_draft_t *draft, const weft_algo_call_t *call)
{
    *draft = (weft_plan_draft_t){.builder = {.size = sizeof draft->builder,
                                             .core = draft,
                                             .grid = builder_build_grid,
                                             .lane = builder_build_lane,
                                             .port = builder_build_port,
                                             .move = builder_build_move,
                                             .par = builder_build_par,
                                             .loop = builder_build_loop,
                                             .end = builder_build_end,
                                             .bar = builder_build_bar,
                                             .sub = weft_plan_build_sub,
                                             .call = weft_plan_build_call,
                                             .along = builder_build_along}};
    return weft_plan_draft_init(draft, call);
}

/* The draft is not of this function, so that it keeps what was written to it before the jump. */
static weft_status_t builder_run(weft_plan_draft_t *draft, const weft_plan_emitter_t *emitter,
                                 const weft_algo_call_t *call)
{
    weft_call_note_t before = weft_call_now();
    weft_status_t status = WEFT_OK; /* after the jump the draft has a mistake */
    if (setjmp(draft->out) == 0) {
        draft->may_leave = true;
        status = emitter->ops->emit(emitter->algo, call, emitter->view, &draft->builder);
    }
    draft->may_leave = false;
    weft_call_leave(before); /* whoever noted calls in between was left too */
    return status;
}

static weft_status_t builder_emit_from(const weft_plan_emitter_t *emitter,
                                       const weft_algo_call_t *call, weft_plan_t **plan_p)
{
    weft_plan_draft_t draft;
    weft_status_t status = weft_plan_builder_init(&draft, call);
    if (status != WEFT_OK) {
        return status;
    }
    draft.emitter = emitter;
    status = builder_run(&draft, emitter, call);
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
    weft_plan_emitter_t emitter = {
        .ops = ops, .algo = algo, .finder = finder, .view = view, .emit = builder_emit_from};
    return builder_emit_from(&emitter, call, plan_p);
}

weft_status_t weft_plan_name_mistake(const char *algo)
{
    char why[sizeof weft_error_record()->text];
    snprintf(why, sizeof why, "%s", weft_error_record()->text);
    return strncmp(why, algo, strlen(algo)) == 0
               ? WEFT_ERR_PLAN
               : weft_fail(WEFT_ERR_PLAN, 0, "%s: %.400s", algo, why);
}
