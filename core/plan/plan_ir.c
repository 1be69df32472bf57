/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans in memory: what a buffer consists of, the hash of a plan, its end. */
#include "core/plan/plan_ir.h"

#include "core/os/os.h"
#include "core/plan/hash.h"

uint32_t weft_plan_chunks(const weft_plan_t *plan, uint32_t buffer)
{
    switch (buffer) {
    case WEFT_OPERAND_IN:
    case WEFT_OPERAND_OUT:
        return plan->k * weft_coll_blocks(plan->coll, plan->nranks, (weft_operand_kind_t)buffer);
    case WEFT_OPERAND_TMP:
        return plan->tmp_chunks;
    default:
        return 0;
    }
}

uint32_t weft_plan_alias(const weft_plan_t *plan, uint32_t rank, uint32_t chunk)
{
    switch (weft_coll_in_place(plan->coll, rank == plan->root)) {
    case WEFT_IN_PLACE_SAME:
        return chunk;
    case WEFT_IN_PLACE_IN_OUT:
        return rank * plan->k + chunk;
    case WEFT_IN_PLACE_OUT_IN:
        return chunk / plan->k == rank ? chunk % plan->k : WEFT_PLAN_NO_CHUNK;
    default:
        return WEFT_PLAN_NO_CHUNK;
    }
}

static weft_operand_t plan_expand_operand(const weft_plan_operand_t *operand)
{
    return (weft_operand_t){operand->kind, operand->index, operand->stride};
}

weft_move_t weft_plan_expand(const weft_plan_view_t *view)
{
    weft_move_t move = {.ndst = view->ndst,
                        .nsrc = view->nsrc,
                        .cnt = view->cnt,
                        .flags = view->flags,
                        .like = plan_expand_operand(view->like),
                        .nafter = view->nafter};
    for (uint32_t i = 0; i < view->ndst; i++) {
        move.dst[i] = plan_expand_operand(&view->dst[i]);
    }
    for (uint32_t i = 0; i < view->nsrc; i++) {
        move.src[i] = plan_expand_operand(&view->src[i]);
    }
    for (uint32_t i = 0; i < view->nafter; i++) {
        move.after[i] = view->after[i];
    }
    return move;
}

weft_plan_operand_t weft_plan_pack_operand(const weft_operand_t *operand)
{
    return (weft_plan_operand_t){.kind = operand->kind & 7u,
                                 .index = operand->index & WEFT_PLAN_INDEX_MAX,
                                 .stride = operand->stride};
}

void weft_plan_destroy(weft_plan_t *plan)
{
    if (plan == NULL) {
        return;
    }
    for (uint32_t lane = 0; lane < plan->nlanes; lane++) {
        weft_os_free(plan->lanes[lane].code);
    }
    weft_os_free(plan->lanes);
    weft_os_free(plan->ports);
    weft_os_free(plan->moves);
    weft_os_free(plan->operands);
    weft_os_free(plan->afters);
    weft_os_free(plan);
}

uint64_t weft_plan_bytes(const weft_plan_t *plan)
{
    uint64_t bytes = sizeof *plan + plan->nlanes * sizeof *plan->lanes +
                     plan->nports * sizeof *plan->ports + plan->nmoves * sizeof *plan->moves +
                     plan->noperands * sizeof *plan->operands +
                     plan->nafters * sizeof *plan->afters;
    for (uint32_t lane = 0; lane < plan->nlanes; lane++) {
        bytes += plan->lanes[lane].ncode * sizeof *plan->lanes[lane].code;
    }
    return bytes;
}

static uint64_t plan_ir_hash_operand(uint64_t hash, const weft_plan_operand_t *operand)
{
    hash = weft_hash_add(hash, (uint64_t)operand->kind << 32 | operand->index);
    return weft_hash_add(hash, (uint32_t)operand->stride);
}

static uint64_t plan_ir_hash_move(uint64_t hash, const weft_plan_view_t *move)
{
    hash = weft_hash_add(hash, (uint64_t)move->ndst << 32 | move->nsrc);
    hash = weft_hash_add(hash, (uint64_t)move->cnt << 32 | move->flags);
    for (uint32_t i = 0; i < move->ndst; i++) {
        hash = plan_ir_hash_operand(hash, &move->dst[i]);
    }
    for (uint32_t i = 0; i < move->nsrc; i++) {
        hash = plan_ir_hash_operand(hash, &move->src[i]);
    }
    hash = weft_hash_add(plan_ir_hash_operand(hash, move->like), move->nafter);
    for (uint32_t i = 0; i < move->nafter; i++) {
        hash = weft_hash_add(hash, (uint64_t)move->after[i].lane << 32 | move->after[i].pc);
    }
    return hash;
}

static uint64_t plan_ir_hash_lane(uint64_t hash, const weft_plan_t *plan,
                                  const weft_plan_lane_t *lane)
{
    hash = weft_hash_add(hash, lane->ncode);
    for (uint32_t pc = 0; pc < lane->ncode; pc++) {
        const weft_code_t *code = &lane->code[pc];
        if (code->opcode == WEFT_CODE_MOVE) {
            weft_plan_view_t move = weft_plan_view(plan, code->n);
            hash = plan_ir_hash_move(hash, &move);
        } else {
            hash = weft_hash_add(hash, (uint64_t)code->opcode << 32 | code->n);
            hash = weft_hash_add(hash, code->opcode == WEFT_CODE_BAR ? code->mask : 0);
        }
    }
    return hash;
}

uint64_t weft_plan_hash(const weft_plan_t *plan)
{
    uint64_t hash = weft_hash_add(WEFT_HASH_START, (uint64_t)plan->coll << 32 | plan->nranks);
    hash = weft_hash_add(hash, (uint64_t)plan->rank << 32 | plan->root);
    hash = weft_hash_add(hash, (uint64_t)plan->k << 32 | plan->tmp_chunks);
    hash = weft_hash_add(hash, (uint64_t)plan->nlanes << 32 | plan->nports);
    for (uint32_t i = 0; i < plan->nports; i++) {
        const weft_plan_port_t *port = &plan->ports[i];
        hash = weft_hash_add(hash, (uint64_t)port->lane << 32 | port->peer);
        hash = weft_hash_add(hash, (uint64_t)port->channel << 32 | (uint64_t)port->way << 8 |
                                       port->sends);
    }
    for (uint32_t lane = 0; lane < plan->nlanes; lane++) {
        hash = plan_ir_hash_lane(hash, plan, &plan->lanes[lane]);
    }
    return hash;
}
