/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See facts.h. */
#include "core/plan/facts.h"

/* Only the two ranks that know the length of a block handle it, and only on its way. */
static bool facts_is_direct(const weft_plan_view_t *move)
{
    uint32_t from = move->src[0].kind;
    if (move->nsrc != 1 || (from != WEFT_OPERAND_IN && from != WEFT_OPERAND_PORT)) {
        return false;
    }
    for (uint32_t i = 0; i < move->ndst; i++) {
        uint32_t kind = move->dst[i].kind;
        if (kind != WEFT_OPERAND_OUT && !(kind == WEFT_OPERAND_PORT && from == WEFT_OPERAND_IN)) {
            return false;
        }
    }
    return true;
}

static bool facts_passes_on(const weft_plan_view_t *move, uint64_t times)
{
    bool ports = move->nsrc == 1 && move->src[0].kind == WEFT_OPERAND_PORT;
    for (uint32_t i = 0; i < move->ndst; i++) {
        ports = ports && move->dst[i].kind == WEFT_OPERAND_PORT;
    }
    return ports && times == 1 && move->cnt == 1 && move->nafter == 0;
}

static void facts_add_move(weft_plan_facts_t *facts, const weft_plan_view_t *move, uint64_t times,
                           uint64_t *chunks, uint64_t *messages)
{
    uint64_t moved = times * move->cnt, ends = 0;
    for (uint32_t i = 0; i < move->ndst + move->nsrc; i++) {
        const weft_plan_operand_t *operand = &move->dst[i];
        if (operand->kind == WEFT_OPERAND_PORT) {
            chunks[operand->index] += moved;
            if (messages != NULL) {
                messages[operand->index] += times * weft_plan_messages(move);
            }
            ends++;
        }
    }
    facts->moves += (double)times;
    facts->chunks += (double)moved;
    facts->hops += (double)times * (double)ends;
    facts->touched += (double)moved * (move->nsrc + move->ndst);
    facts->waits |= move->nafter != 0;
    facts->packed = weft_plan_packs(move) && move->cnt > facts->packed ? move->cnt : facts->packed;
    bool direct = facts_is_direct(move);
    facts->direct = facts->direct && direct;
    facts->passes_on = facts->passes_on && (direct || facts_passes_on(move, times));
}

weft_plan_facts_t weft_plan_facts(const weft_plan_t *plan, uint64_t *chunks, uint64_t *messages)
{
    weft_plan_facts_t facts = {.packed = 1, .direct = true, .passes_on = plan->k == 1};
    for (uint32_t lane = 0; lane < plan->nlanes; lane++) {
        uint64_t times = 1;
        for (uint32_t pc = 0; pc < plan->lanes[lane].ncode; pc++) {
            const weft_code_t *code = &plan->lanes[lane].code[pc];
            if (code->opcode == WEFT_CODE_MOVE) {
                weft_plan_view_t move = weft_plan_view(plan, code->n);
                facts_add_move(&facts, &move, times, chunks, messages);
            } else if (code->opcode == WEFT_CODE_LOOP || code->opcode == WEFT_CODE_END) {
                times = code->opcode == WEFT_CODE_LOOP ? code->n : 1;
            }
            facts.bars += code->opcode == WEFT_CODE_BAR ? (double)times : 0;
            facts.passes_on = facts.passes_on && code->opcode != WEFT_CODE_BAR;
        }
    }
    facts.passes_on = facts.passes_on && !facts.waits;
    return facts;
}
