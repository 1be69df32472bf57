/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The draft of a plan: growing lists, the first mistake, and the checks at its end. A MOVE that the
 * compact form cannot hold is refused here, everything else that is wrong by well_formed.c. */
#include "core/plan/draft.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/plan/well_formed.h"

#define GROW_FROM 8u

/* An emitter need not look at what the builder answers, so it may go on for a while. */
bool weft_plan_is_dropped(weft_plan_draft_t *draft)
{
    if (draft->status == WEFT_OK) {
        return false;
    }
    if (++draft->ignored >= WEFT_PLAN_ENTRIES_MOST && draft->may_leave) {
        draft->may_leave = false;
        longjmp(draft->out, 1);
    }
    return true;
}

void weft_plan_mistake(weft_plan_draft_t *draft, weft_status_t status, const char *format, ...)
{
    if (weft_plan_is_dropped(draft)) {
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
    if (used >= WEFT_PLAN_ENTRIES_MOST) {
        weft_plan_mistake(draft, WEFT_ERR_PLAN, "more than %u entries in one list: no end in sight",
                          WEFT_PLAN_ENTRIES_MOST);
        return NULL;
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

uint32_t weft_plan_append(weft_plan_draft_t *draft, uint32_t lane, weft_code_t code)
{
    weft_plan_t *plan = draft->plan;
    if (lane >= plan->nlanes) {
        weft_plan_mistake(draft, WEFT_ERR_PLAN, "instruction for lane %u, which does not exist",
                          lane);
    }
    if (weft_plan_is_dropped(draft)) {
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

int64_t weft_plan_open_loop(const weft_plan_lane_t *lane)
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
            return pc + lane->code[pc].n >= lane->ncode || weft_plan_open_loop(lane) >= 0;
        }
    }
    return weft_plan_open_loop(lane) >= 0;
}

weft_status_t weft_plan_draft_init(weft_plan_draft_t *draft, const weft_algo_call_t *call)
{
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
static void *draft_fitted(void *items, uint32_t used, size_t size)
{
    void *exact = used == 0 ? NULL : weft_os_alloc(used * size, 0);
    if (exact == NULL) {
        return items;
    }
    memcpy(exact, items, used * size);
    weft_os_free(items);
    return exact;
}

static void draft_fit(weft_plan_t *plan)
{
    for (uint32_t lane = 0; lane < plan->nlanes; lane++) {
        weft_plan_lane_t *at = &plan->lanes[lane];
        at->code = draft_fitted(at->code, at->ncode, sizeof *at->code);
    }
    plan->lanes = draft_fitted(plan->lanes, plan->nlanes, sizeof *plan->lanes);
    plan->ports = draft_fitted(plan->ports, plan->nports, sizeof *plan->ports);
    plan->moves = draft_fitted(plan->moves, plan->nmoves, sizeof *plan->moves);
    plan->operands = draft_fitted(plan->operands, plan->noperands, sizeof *plan->operands);
    plan->afters = draft_fitted(plan->afters, plan->nafters, sizeof *plan->afters);
}

weft_status_t weft_plan_draft_finish(weft_plan_draft_t *draft, weft_plan_t **plan_p)
{
    for (uint32_t lane = 0; lane < draft->plan->nlanes; lane++) {
        weft_plan_append(draft, lane, (weft_code_t){.opcode = WEFT_CODE_STOP});
    }
    if (draft->status == WEFT_OK && !draft->has_grid) {
        weft_plan_mistake(draft, WEFT_ERR_PLAN, "grid() was never called");
    }
    if (draft->status != WEFT_OK) {
        return weft_fail(draft->status, 0, "plan of rank %u: %s", draft->plan->rank, draft->why);
    }
    weft_status_t status = weft_plan_check(draft->plan, &draft->spot);
    if (status == WEFT_OK) {
        draft_fit(draft->plan);
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

static void draft_refuse_operand(weft_plan_draft_t *draft, const weft_operand_t *operand,
                                 uint32_t lane, uint32_t pc)
{
    if (operand->kind > WEFT_OPERAND_PORT) {
        weft_plan_mistake(draft, WEFT_ERR_PLAN, "lane %u pc %u: operand of unknown kind %u", lane,
                          pc, operand->kind);
    } else if (operand->index > WEFT_PLAN_INDEX_MAX) {
        weft_plan_mistake(draft, WEFT_ERR_PLAN, "lane %u pc %u: operand %u of a limit of %u", lane,
                          pc, operand->index, WEFT_PLAN_INDEX_MAX);
    }
}

static bool draft_fits(weft_plan_draft_t *draft, uint32_t lane, const weft_move_t *move)
{
    uint32_t pc = lane < draft->plan->nlanes ? draft->plan->lanes[lane].ncode : 0;
    if (move->ndst < 1 || move->ndst > WEFT_MOVE_MAX || move->nsrc < 1 ||
        move->nsrc > WEFT_MOVE_MAX) {
        weft_plan_mistake(draft, WEFT_ERR_PLAN,
                          "lane %u pc %u: %u sources and %u destinations; 1 to %d of each are "
                          "allowed",
                          lane, pc, move->nsrc, move->ndst, WEFT_MOVE_MAX);
        return false;
    }
    if ((move->flags & ~(WEFT_MOVE_FINAL | WEFT_MOVE_PACKED)) != 0) {
        weft_plan_mistake(draft, WEFT_ERR_PLAN, "lane %u pc %u: unknown flags 0x%x", lane, pc,
                          move->flags);
    }
    if (move->nafter > WEFT_AFTER_MAX) {
        weft_plan_mistake(draft, WEFT_ERR_PLAN, "lane %u pc %u: %u waits, at most %d are allowed",
                          lane, pc, move->nafter, WEFT_AFTER_MAX);
    }
    for (uint32_t i = 0; i < move->ndst; i++) {
        draft_refuse_operand(draft, &move->dst[i], lane, pc);
    }
    for (uint32_t i = 0; i < move->nsrc; i++) {
        draft_refuse_operand(draft, &move->src[i], lane, pc);
    }
    draft_refuse_operand(draft, &move->like, lane, pc);
    return draft->status == WEFT_OK;
}

static void draft_keep_operand(weft_plan_draft_t *draft, const weft_operand_t *operand)
{
    weft_plan_t *plan = draft->plan;
    void *more = weft_plan_grown(draft, plan->operands, plan->noperands, sizeof *plan->operands);
    if (more != NULL) {
        plan->operands = more;
        plan->operands[plan->noperands++] = weft_plan_pack_operand(operand);
    }
}

static void draft_keep_after(weft_plan_draft_t *draft, const weft_after_t *after)
{
    weft_plan_t *plan = draft->plan;
    void *more = weft_plan_grown(draft, plan->afters, plan->nafters, sizeof *plan->afters);
    if (more != NULL) {
        plan->afters = more;
        plan->afters[plan->nafters++] = *after;
    }
}

static void draft_keep_all(weft_plan_draft_t *draft, const weft_move_t *move)
{
    for (uint32_t i = 0; i < move->ndst; i++) {
        draft_keep_operand(draft, &move->dst[i]);
    }
    for (uint32_t i = 0; i < move->nsrc; i++) {
        draft_keep_operand(draft, &move->src[i]);
    }
    if (move->like.kind != WEFT_OPERAND_NONE) {
        draft_keep_operand(draft, &move->like);
    }
    for (uint32_t i = 0; i < move->nafter; i++) {
        draft_keep_after(draft, &move->after[i]);
    }
}

bool weft_plan_keep_move(weft_plan_draft_t *draft, uint32_t lane, const weft_move_t *move)
{
    weft_plan_t *plan = draft->plan;
    if (weft_plan_is_dropped(draft) || !draft_fits(draft, lane, move)) {
        return false;
    }
    uint32_t like = move->like.kind != WEFT_OPERAND_NONE ? WEFT_PLAN_LIKE : 0;
    uint32_t flags = move->cnt > 1 ? move->flags : move->flags & ~WEFT_MOVE_PACKED;
    weft_plan_move_t kept = {.operand = plan->noperands,
                             .after = plan->nafters,
                             .cnt = move->cnt == 0 ? 1 : move->cnt,
                             .ndst = (uint8_t)move->ndst,
                             .nsrc = (uint8_t)move->nsrc,
                             .nafter = (uint8_t)move->nafter,
                             .flags = (uint8_t)(flags | like)};
    draft_keep_all(draft, move);
    void *moves = weft_plan_grown(draft, plan->moves, plan->nmoves, sizeof *plan->moves);
    if (moves != NULL) {
        plan->moves = moves;
        plan->moves[plan->nmoves++] = kept;
    }
    return draft->status == WEFT_OK;
}
