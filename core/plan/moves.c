/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MOVEs of a plan: how the builder's form is packed and unpacked. What the packed form cannot hold
 * is refused here, everything else by well_formed.c. */
#include "core/plan/moves.h"

static void refuse_operand(weft_plan_draft_t *draft, const weft_operand_t *operand, uint32_t lane,
                           uint32_t pc)
{
    if (operand->kind > WEFT_OPERAND_PORT) {
        weft_plan_mistake(draft, WEFT_ERR_PLAN, "lane %u pc %u: operand of unknown kind %u", lane,
                          pc, operand->kind);
    } else if (operand->index > WEFT_PLAN_INDEX_MAX) {
        weft_plan_mistake(draft, WEFT_ERR_PLAN, "lane %u pc %u: operand %u of a limit of %u", lane,
                          pc, operand->index, WEFT_PLAN_INDEX_MAX);
    }
}

static bool fits(weft_plan_draft_t *draft, uint32_t lane, const weft_move_t *move)
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
    if ((move->flags & ~WEFT_MOVE_FINAL) != 0) {
        weft_plan_mistake(draft, WEFT_ERR_PLAN, "lane %u pc %u: unknown flags 0x%x", lane, pc,
                          move->flags);
    }
    if (move->nafter > WEFT_AFTER_MAX) {
        weft_plan_mistake(draft, WEFT_ERR_PLAN, "lane %u pc %u: %u waits, at most %d are allowed",
                          lane, pc, move->nafter, WEFT_AFTER_MAX);
    }
    for (uint32_t i = 0; i < move->ndst; i++) {
        refuse_operand(draft, &move->dst[i], lane, pc);
    }
    for (uint32_t i = 0; i < move->nsrc; i++) {
        refuse_operand(draft, &move->src[i], lane, pc);
    }
    refuse_operand(draft, &move->like, lane, pc);
    return draft->status == WEFT_OK;
}

static void keep_operand(weft_plan_draft_t *draft, const weft_operand_t *operand)
{
    weft_plan_t *plan = draft->plan;
    void *more = weft_plan_grown(draft, plan->operands, plan->noperands, sizeof *plan->operands);
    if (more != NULL) {
        plan->operands = more;
        plan->operands[plan->noperands++] = weft_plan_pack_operand(operand);
    }
}

static void keep_after(weft_plan_draft_t *draft, const weft_after_t *after)
{
    weft_plan_t *plan = draft->plan;
    void *more = weft_plan_grown(draft, plan->afters, plan->nafters, sizeof *plan->afters);
    if (more != NULL) {
        plan->afters = more;
        plan->afters[plan->nafters++] = *after;
    }
}

static void keep_all(weft_plan_draft_t *draft, const weft_move_t *move)
{
    for (uint32_t i = 0; i < move->ndst; i++) {
        keep_operand(draft, &move->dst[i]);
    }
    for (uint32_t i = 0; i < move->nsrc; i++) {
        keep_operand(draft, &move->src[i]);
    }
    if (move->like.kind != WEFT_OPERAND_NONE) {
        keep_operand(draft, &move->like);
    }
    for (uint32_t i = 0; i < move->nafter; i++) {
        keep_after(draft, &move->after[i]);
    }
}

bool weft_plan_keep_move(weft_plan_draft_t *draft, uint32_t lane, const weft_move_t *move)
{
    weft_plan_t *plan = draft->plan;
    if (draft->status != WEFT_OK || !fits(draft, lane, move)) {
        return false;
    }
    uint32_t like = move->like.kind != WEFT_OPERAND_NONE ? WEFT_PLAN_LIKE : 0;
    weft_plan_move_t kept = {.operand = plan->noperands,
                             .after = plan->nafters,
                             .cnt = move->cnt == 0 ? 1 : move->cnt,
                             .ndst = (uint8_t)move->ndst,
                             .nsrc = (uint8_t)move->nsrc,
                             .nafter = (uint8_t)move->nafter,
                             .flags = (uint8_t)(move->flags | like)};
    keep_all(draft, move);
    void *moves = weft_plan_grown(draft, plan->moves, plan->nmoves, sizeof *plan->moves);
    if (moves != NULL) {
        plan->moves = moves;
        plan->moves[plan->nmoves++] = kept;
    }
    return draft->status == WEFT_OK;
}
