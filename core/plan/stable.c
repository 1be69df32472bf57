/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that stays as it is from the message that names it to the end of the run.
 *
 * A chunk of OUT that one MOVE writes, once in a pass, stays: the proof of the plan says that
 * whoever reads it comes after that, or is that MOVE. IN stays unless it is also OUT; then the
 * chunk that it is there must not change. TMP does not stay: each pass uses it again. Passes need
 * no look: pass t of a block is its elements from t · pass on, clipped at its end, so no two passes
 * share any. */
#include "core/plan/stable.h"

#include <errno.h>

#include "core/base/error.h"
#include "core/os/os.h"

#define SEVERAL 2u

typedef struct chunks {
    const weft_plan_t *plan;
    weft_stable_arithmetic_t arithmetic;
    uint32_t in, out;
    uint8_t *written; /* by chunk of OUT: how often, up to SEVERAL */
    uint8_t *changed; /* … in place, where a copy of a chunk to itself changes nothing */
} chunks_t;

typedef void (*visit_t)(chunks_t *c, uint32_t move, uint32_t iteration, void *arg);

/* All MOVEs of a pass, also those of other iterations. */
static void stable_each_move(chunks_t *c, visit_t visit, void *arg)
{
    for (uint32_t l = 0; l < c->plan->nlanes; l++) {
        const weft_plan_lane_t *lane = &c->plan->lanes[l];
        uint32_t times = 1;
        for (uint32_t pc = 0; pc < lane->ncode; pc++) {
            const weft_code_t *code = &lane->code[pc];
            times = code->opcode == WEFT_CODE_LOOP  ? code->n
                    : code->opcode == WEFT_CODE_END ? 1
                                                    : times;
            for (uint32_t i = 0; code->opcode == WEFT_CODE_MOVE && i < times; i++) {
                visit(c, code->n, i, arg);
            }
        }
    }
}

static bool stable_copies(const chunks_t *c, const weft_plan_view_t *move)
{
    return move->nsrc == 1 && !(c->arithmetic.pre && move->src[0].kind == WEFT_OPERAND_IN) &&
           !(c->arithmetic.final && (move->flags & WEFT_MOVE_FINAL) != 0);
}

static void stable_count(uint8_t *times_p)
{
    *times_p = *times_p == 0 ? 1 : SEVERAL;
}

static void stable_count_writes(chunks_t *c, uint32_t index, uint32_t iteration, void *arg)
{
    weft_plan_view_t move = weft_plan_view(c->plan, index);
    bool from_in = stable_copies(c, &move) && move.src[0].kind == WEFT_OPERAND_IN;
    (void)arg;
    for (uint32_t d = 0; d < move.ndst; d++) {
        for (uint32_t j = 0; move.dst[d].kind == WEFT_OPERAND_OUT && j < move.cnt; j++) {
            uint32_t chunk = weft_plan_chunk_at(&move.dst[d], c->out, iteration, j);
            uint32_t from = WEFT_PLAN_NO_CHUNK;
            if (from_in) {
                from = weft_plan_alias(c->plan, c->plan->rank,
                                       weft_plan_chunk_at(&move.src[0], c->in, iteration, j));
            }
            stable_count(&c->written[chunk]);
            if (from != chunk) {
                stable_count(&c->changed[chunk]);
            }
        }
    }
}

static bool stable_sends(const weft_plan_view_t *move)
{
    bool found = false;
    for (uint32_t d = 0; d < move->ndst; d++) {
        found = found || move->dst[d].kind == WEFT_OPERAND_PORT;
    }
    return found;
}

/* What holds the payload, or NULL. */
static const weft_plan_operand_t *stable_holder(const chunks_t *c, const weft_plan_view_t *move)
{
    if (!stable_sends(move)) {
        return NULL;
    }
    for (uint32_t d = 0; d < move->ndst; d++) {
        if (move->dst[d].kind == WEFT_OPERAND_OUT) {
            return &move->dst[d];
        }
    }
    uint32_t kind = move->src[0].kind;
    bool memory = kind == WEFT_OPERAND_IN || kind == WEFT_OPERAND_OUT;
    return memory && stable_copies(c, move) ? &move->src[0] : NULL;
}

static uint8_t stable_judge_chunk(const chunks_t *c, const weft_plan_operand_t *o,
                                  uint32_t iteration, uint32_t j)
{
    if (o->kind == WEFT_OPERAND_OUT) {
        uint32_t chunk = weft_plan_chunk_at(o, c->out, iteration, j);
        return c->written[chunk] < SEVERAL ? WEFT_STABLE_APART | WEFT_STABLE_IN_PLACE : 0;
    }
    uint32_t chunk = weft_plan_chunk_at(o, c->in, iteration, j);
    uint32_t also = weft_plan_alias(c->plan, c->plan->rank, chunk);
    bool stays = also == WEFT_PLAN_NO_CHUNK || c->changed[also] == 0;
    return stays ? WEFT_STABLE_APART | WEFT_STABLE_IN_PLACE : WEFT_STABLE_APART;
}

/* A MOVE has its mark if it deserves that each time. */
static void stable_judge(chunks_t *c, uint32_t index, uint32_t iteration, void *marks)
{
    weft_plan_view_t move = weft_plan_view(c->plan, index);
    const weft_plan_operand_t *o = stable_holder(c, &move);
    uint8_t *mark = (uint8_t *)marks + index;
    for (uint32_t j = 0; o != NULL && j < move.cnt; j++) {
        *mark &= stable_judge_chunk(c, o, iteration, j);
    }
    *mark = o != NULL ? *mark : 0;
}

weft_status_t weft_plan_stable(const weft_plan_t *plan, const weft_stable_arithmetic_t *arithmetic,
                               uint8_t *marks)
{
    chunks_t c = {.plan = plan,
                  .arithmetic = *arithmetic,
                  .in = weft_plan_chunks(plan, WEFT_OPERAND_IN),
                  .out = weft_plan_chunks(plan, WEFT_OPERAND_OUT)};
    c.written = weft_os_alloc(2 * (size_t)c.out + 1, 0);
    if (c.written == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot count the writers of %u chunks", c.out);
    }
    c.changed = c.written + c.out;
    for (uint32_t m = 0; m < plan->nmoves; m++) {
        marks[m] = WEFT_STABLE_APART | WEFT_STABLE_IN_PLACE;
    }
    stable_each_move(&c, stable_count_writes, NULL);
    stable_each_move(&c, stable_judge, marks);
    weft_os_free(c.written);
    return WEFT_OK;
}
