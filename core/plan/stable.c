/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that stays as it is from the message that names it to the end of the run.
 *
 * A chunk of OUT that one MOVE writes, once in a pass, stays: the proof of the plan says that
 * whoever reads it comes after that, or is that MOVE. IN stays unless it is also OUT; then the
 * chunk that it is there must not change. TMP does not stay: each pass uses it again. Passes need
 * no look: pass t of a block is its elements from t · pass on, clipped at its end, so no two passes
 * share any.
 *
 * Besides, a chunk of IN may be overwritten by what has been made from it. An all-reduce adds this
 * rank's chunk to the result. If the only MOVE that reads the chunk sends it to one peer, nobody
 * else can have added it: a copy of the result comes from there, and so after the peer has read
 * what it was sent, slice by slice. */
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
    uint8_t *came;    /* … by a MOVE that copies it from a port */
    uint8_t *read;    /* by chunk of IN: how often, in MOVEs and to ports, up to SEVERAL */
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

/* A MOVE that sends the chunk to one port counts as one read, every other MOVE as several. */
static void stable_count_reads(chunks_t *c, uint32_t index, uint32_t iteration, void *arg)
{
    weft_plan_view_t move = weft_plan_view(c->plan, index);
    bool sends = stable_copies(c, &move) && move.ndst == 1 && move.dst[0].kind == WEFT_OPERAND_PORT;
    (void)arg;
    for (uint32_t s = 0; s < move.nsrc; s++) {
        for (uint32_t j = 0; move.src[s].kind == WEFT_OPERAND_IN && j < move.cnt; j++) {
            uint8_t *times = &c->read[weft_plan_chunk_at(&move.src[s], c->in, iteration, j)];
            stable_count(times);
            *times = sends ? *times : SEVERAL;
        }
    }
}

static void stable_count_writes(chunks_t *c, uint32_t index, uint32_t iteration, void *arg)
{
    weft_plan_view_t move = weft_plan_view(c->plan, index);
    bool from_in = stable_copies(c, &move) && move.src[0].kind == WEFT_OPERAND_IN;
    bool from_port = stable_copies(c, &move) && move.src[0].kind == WEFT_OPERAND_PORT;
    (void)arg;
    for (uint32_t d = 0; d < move.ndst; d++) {
        for (uint32_t j = 0; move.dst[d].kind == WEFT_OPERAND_OUT && j < move.cnt; j++) {
            uint32_t chunk = weft_plan_chunk_of(&move, &move.dst[d], c->out, iteration, j);
            uint32_t from = WEFT_PLAN_NO_CHUNK;
            if (from_in) {
                from =
                    weft_plan_alias(c->plan, c->plan->rank,
                                    weft_plan_chunk_of(&move, &move.src[0], c->in, iteration, j));
            }
            stable_count(&c->written[chunk]);
            if (from != chunk) {
                stable_count(&c->changed[chunk]);
            }
            if (from_port) {
                stable_count(&c->came[chunk]);
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

/* What holds the payload, or NULL; that of a packed MOVE lies in several places. */
static const weft_plan_operand_t *stable_holder(const chunks_t *c, const weft_plan_view_t *move)
{
    if (!stable_sends(move) || weft_plan_packs(move)) {
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

#define ALWAYS (WEFT_STABLE_APART | WEFT_STABLE_IN_PLACE | WEFT_STABLE_FOLDED)

static uint8_t stable_judge_chunk(const chunks_t *c, const weft_plan_operand_t *o,
                                  uint32_t iteration, uint32_t j)
{
    if (o->kind == WEFT_OPERAND_OUT) {
        uint32_t chunk = weft_plan_chunk_at(o, c->out, iteration, j);
        return c->written[chunk] < SEVERAL ? ALWAYS : 0;
    }
    uint32_t chunk = weft_plan_chunk_at(o, c->in, iteration, j);
    uint32_t also = weft_plan_alias(c->plan, c->plan->rank, chunk);
    if (also == WEFT_PLAN_NO_CHUNK || c->changed[also] == 0) {
        return ALWAYS;
    }
    bool folded = c->plan->coll == WEFT_ALL_REDUCE && c->changed[also] == 1 && c->came[also] == 1 &&
                  c->read[chunk] == 1;
    return folded ? WEFT_STABLE_APART | WEFT_STABLE_FOLDED : WEFT_STABLE_APART;
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

/* Counts the writers of all chunks of OUT. The caller frees c->written. */
static weft_status_t stable_open(chunks_t *c, const weft_plan_t *plan,
                                 const weft_stable_arithmetic_t *arithmetic)
{
    *c = (chunks_t){.plan = plan,
                    .arithmetic = *arithmetic,
                    .in = weft_plan_chunks(plan, WEFT_OPERAND_IN),
                    .out = weft_plan_chunks(plan, WEFT_OPERAND_OUT)};
    c->written = weft_os_alloc(3 * (size_t)c->out + c->in + 1, 0);
    if (c->written == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot count the writers of %u chunks",
                         c->out);
    }
    c->changed = c->written + c->out;
    c->came = c->changed + c->out;
    c->read = c->came + c->out;
    stable_each_move(c, stable_count_writes, NULL);
    stable_each_move(c, stable_count_reads, NULL);
    return WEFT_OK;
}

weft_status_t weft_plan_stable(const weft_plan_t *plan, const weft_stable_arithmetic_t *arithmetic,
                               uint8_t *marks)
{
    chunks_t c;
    weft_status_t status = stable_open(&c, plan, arithmetic);
    if (status != WEFT_OK) {
        return status;
    }
    for (uint32_t m = 0; m < plan->nmoves; m++) {
        marks[m] = ALWAYS;
    }
    stable_each_move(&c, stable_judge, marks);
    for (uint32_t m = 0; m < plan->nmoves; m++) {
        marks[m] &= (marks[m] & WEFT_STABLE_IN_PLACE) != 0 ? ~WEFT_STABLE_FOLDED & 0xffu : 0xffu;
    }
    weft_os_free(c.written);
    return WEFT_OK;
}

/* Landings ------------------------------------------------------------------------------------- */

typedef struct stable_search {
    weft_plan_landing_t *list;
    uint32_t count;
    uint32_t *came; /* by port: messages of a slice so far */
} stable_search_t;

/* Returns the chunk of OUT that the MOVE copies as it came, first of all its chunks, or
 * WEFT_PLAN_NO_CHUNK. */
static uint32_t stable_lands_at(const chunks_t *c, const weft_plan_view_t *move)
{
    uint32_t d = 0;
    while (d < move->ndst && move->dst[d].kind != WEFT_OPERAND_OUT) {
        d++;
    }
    if (move->src[0].kind != WEFT_OPERAND_PORT || !stable_copies(c, move) || d == move->ndst ||
        weft_plan_packs(move)) {
        return WEFT_PLAN_NO_CHUNK;
    }
    uint32_t chunk = weft_plan_chunk_at(&move->dst[d], c->out, 0, 0);
    return c->written[chunk] < SEVERAL ? chunk : WEFT_PLAN_NO_CHUNK;
}

static bool stable_has_landing(const stable_search_t *search, uint32_t port)
{
    uint32_t i = 0;
    while (i < search->count && search->list[i].port != port) {
        i++;
    }
    return i < search->count;
}

/* `times`: of the loop around the MOVE; 0: there is none. */
static void stable_search_move(const chunks_t *c, uint32_t index, uint32_t times,
                               stable_search_t *search)
{
    weft_plan_view_t move = weft_plan_view(c->plan, index);
    uint32_t chunk = times == 0 ? stable_lands_at(c, &move) : WEFT_PLAN_NO_CHUNK;
    if (chunk != WEFT_PLAN_NO_CHUNK && !stable_has_landing(search, move.src[0].index)) {
        search->list[search->count++] = (weft_plan_landing_t){
            .port = move.src[0].index, .ahead = search->came[move.src[0].index], .chunk = chunk};
    }
    for (uint32_t s = 0; s < move.nsrc; s++) {
        if (move.src[s].kind == WEFT_OPERAND_PORT) {
            search->came[move.src[s].index] += weft_plan_messages(&move) * (times == 0 ? 1 : times);
        }
    }
}

static void stable_search_all(const chunks_t *c, stable_search_t *search)
{
    for (uint32_t l = 0; l < c->plan->nlanes; l++) {
        const weft_plan_lane_t *lane = &c->plan->lanes[l];
        uint32_t times = 0;
        for (uint32_t pc = 0; pc < lane->ncode; pc++) {
            const weft_code_t *code = &lane->code[pc];
            if (code->opcode == WEFT_CODE_MOVE) {
                stable_search_move(c, code->n, times, search);
            }
            times = code->opcode == WEFT_CODE_LOOP  ? code->n
                    : code->opcode == WEFT_CODE_END ? 0
                                                    : times;
        }
    }
}

weft_status_t weft_plan_find_landings(const weft_plan_t *plan,
                                      const weft_stable_arithmetic_t *arithmetic,
                                      weft_plan_landings_t *landings)
{
    chunks_t c;
    stable_search_t search = {.list = landings->list};
    weft_status_t status = stable_open(&c, plan, arithmetic);
    if (status != WEFT_OK) {
        return status;
    }
    search.came = weft_os_alloc((plan->nports + 1) * sizeof *search.came, 0);
    if (search.came == NULL) {
        status = weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot count the chunks of %u ports",
                           plan->nports);
    } else {
        stable_search_all(&c, &search);
        landings->count = search.count;
    }
    weft_os_free(search.came);
    weft_os_free(c.written);
    return status;
}
