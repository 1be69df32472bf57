/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Is a plan well formed? Everything that can be said of one rank's plan without running it: bounds,
 * limits, directions, ownership, pieces, structure. Reasons are words for the plan's author. */
#include "core/plan/well_formed.h"

#include <errno.h>
#include <stdarg.h>

#include "core/base/error.h"
#include "core/base/plural.h"
#include "core/os/os.h"

#define CHUNKS_MAX (1u << 28)

typedef struct check {
    const weft_plan_t *plan;
    uint32_t lane, pc;
    uint32_t times;      /* of the LOOP around pc; 0 outside of one */
    uint64_t *port_user; /* by port: lane and pc of the last member of a PAR that uses it */
} check_t;

static weft_status_t well_formed_refuse(const check_t *at, const char *format, ...)
    WEFT_PRINTF(2, 3);

static weft_status_t well_formed_refuse(const check_t *at, const char *format, ...)
{
    char why[160];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return weft_fail(WEFT_ERR_PLAN, 0, "plan of rank %u: lane %u pc %u: %s", at->plan->rank,
                     at->lane, at->pc, why);
}

static const char *well_formed_buffer_name(uint32_t kind)
{
    static const char *const names[] = {"nothing", "in", "out", "tmp", "port"};
    return kind <= WEFT_OPERAND_PORT ? names[kind] : "unknown";
}

static weft_status_t well_formed_check_port(const check_t *at, const weft_plan_operand_t *operand,
                                            uint32_t is_dst)
{
    const weft_plan_t *plan = at->plan;
    if (operand->index >= plan->nports) {
        return well_formed_refuse(at, "port %u, but the plan has %u port%s", operand->index,
                                  plan->nports, weft_plural(plan->nports));
    }
    const weft_plan_port_t *port = &plan->ports[operand->index];
    if (port->lane != at->lane) {
        return well_formed_refuse(at, "port %u belongs to lane %u", operand->index, port->lane);
    }
    if (port->sends != is_dst) {
        return well_formed_refuse(at,
                                  is_dst ? "port %u receives and cannot be a destination"
                                         : "port %u sends and cannot be a source",
                                  operand->index);
    }
    if (operand->stride != 0) {
        return well_formed_refuse(at, "port %u has stride %d; ports have none", operand->index,
                                  operand->stride);
    }
    return WEFT_OK;
}

static weft_status_t well_formed_check_chunk(const check_t *at, const weft_plan_operand_t *operand,
                                             uint32_t cnt)
{
    uint32_t chunks = weft_plan_chunks(at->plan, operand->kind);
    if (operand->index >= chunks) {
        return well_formed_refuse(
            at, "%s[%u], but %s has %u chunk%s", well_formed_buffer_name(operand->kind),
            operand->index, well_formed_buffer_name(operand->kind), chunks, weft_plural(chunks));
    }
    if (cnt > chunks) {
        return well_formed_refuse(at, "count %u, but %s has %u chunk%s", cnt,
                                  well_formed_buffer_name(operand->kind), chunks,
                                  weft_plural(chunks));
    }
    return WEFT_OK;
}

static weft_status_t well_formed_check_operand(const check_t *at,
                                               const weft_plan_operand_t *operand, uint32_t cnt,
                                               uint32_t is_dst)
{
    const weft_plan_t *plan = at->plan;
    switch (operand->kind) {
    case WEFT_OPERAND_PORT:
        return well_formed_check_port(at, operand, is_dst);
    case WEFT_OPERAND_IN:
        if (is_dst) {
            return well_formed_refuse(at, "writes in[%u], which is read only", operand->index);
        }
        if (!weft_coll_has_input(plan->coll, plan->rank == plan->root)) {
            return well_formed_refuse(at, "reads in[%u], but only root %u has an input",
                                      operand->index, plan->root);
        }
        return well_formed_check_chunk(at, operand, cnt);
    case WEFT_OPERAND_OUT:
        if (!weft_coll_has_output(plan->coll, plan->rank == plan->root)) {
            return well_formed_refuse(at, "uses out[%u], but only root %u has an output",
                                      operand->index, plan->root);
        }
        return well_formed_check_chunk(at, operand, cnt);
    case WEFT_OPERAND_TMP:
        return well_formed_check_chunk(at, operand, cnt);
    default:
        return well_formed_refuse(at, "operand of unknown kind %u", operand->kind);
    }
}

static bool well_formed_same_place(const weft_plan_operand_t *a, const weft_plan_operand_t *b)
{
    return a->kind == b->kind && a->index == b->index;
}

static weft_status_t well_formed_check_distinct(const check_t *at, const weft_plan_view_t *move)
{
    for (uint32_t i = 0; i < move->ndst; i++) {
        for (uint32_t j = 0; j < i; j++) {
            if (well_formed_same_place(&move->dst[i], &move->dst[j])) {
                return well_formed_refuse(at, "%s %u is named twice as a destination",
                                          well_formed_buffer_name(move->dst[i].kind),
                                          move->dst[i].index);
            }
        }
    }
    for (uint32_t i = 0; i < move->nsrc; i++) {
        for (uint32_t j = 0; j < i; j++) {
            if (move->src[i].kind == WEFT_OPERAND_PORT &&
                well_formed_same_place(&move->src[i], &move->src[j])) {
                return well_formed_refuse(at, "port %u is named twice as a source",
                                          move->src[i].index);
            }
        }
    }
    return WEFT_OK;
}

static uint32_t well_formed_modulo(int64_t value, uint32_t n)
{
    int64_t rest = value % (int64_t)n;
    return (uint32_t)(rest < 0 ? rest + (int64_t)n : rest);
}

/* All IN, OUT and `like` operands must speak of the same piece in every iteration. */
static weft_status_t well_formed_check_pieces(const check_t *at, const weft_plan_view_t *move)
{
    uint32_t k = at->plan->k;
    const weft_plan_operand_t *first = NULL;
    for (uint32_t i = 0; i < move->ndst + move->nsrc + 1; i++) {
        const weft_plan_operand_t *operand =
            i < move->ndst + move->nsrc ? &move->dst[i] : move->like;
        if (operand->kind != WEFT_OPERAND_IN && operand->kind != WEFT_OPERAND_OUT) {
            continue;
        }
        if (first == NULL) {
            first = operand;
        }
        if (k == 1) {
            continue;
        }
        if (operand->index % k != first->index % k ||
            (at->times != 0 &&
             well_formed_modulo(operand->stride, k) != well_formed_modulo(first->stride, k))) {
            return well_formed_refuse(at, "%s[%u%+d] and %s[%u%+d] are different pieces of %u",
                                      well_formed_buffer_name(first->kind), first->index,
                                      first->stride, well_formed_buffer_name(operand->kind),
                                      operand->index, operand->stride, k);
        }
    }
    if (first == NULL) {
        return well_formed_refuse(at,
                                  "no operand is in or out, and `like` does not say the length");
    }
    return WEFT_OK;
}

static weft_status_t well_formed_check_after(const check_t *at, const weft_plan_view_t *move)
{
    for (uint32_t i = 0; i < move->nafter; i++) {
        const weft_after_t *after = &move->after[i];
        if (after->lane >= at->plan->nlanes || after->pc >= at->plan->lanes[after->lane].ncode) {
            return well_formed_refuse(at, "waits for lane %u pc %u, which does not exist",
                                      after->lane, after->pc);
        }
        uint32_t opcode = at->plan->lanes[after->lane].code[after->pc].opcode;
        if (opcode != WEFT_CODE_MOVE && opcode != WEFT_CODE_BAR) {
            return well_formed_refuse(at, "waits for lane %u pc %u, which is neither MOVE nor BAR",
                                      after->lane, after->pc);
        }
        if (after->lane == at->lane && after->pc == at->pc) {
            return well_formed_refuse(at, "waits for itself");
        }
    }
    return WEFT_OK;
}

static weft_status_t well_formed_check_like(const check_t *at, const weft_plan_view_t *move)
{
    if (move->like->kind == WEFT_OPERAND_NONE) {
        return WEFT_OK;
    }
    if (move->like->kind != WEFT_OPERAND_IN && move->like->kind != WEFT_OPERAND_OUT) {
        return well_formed_refuse(at, "`like` is %s; it must be in or out",
                                  well_formed_buffer_name(move->like->kind));
    }
    return well_formed_check_chunk(at, move->like, 1);
}

/* All chunks of a message have one length, so they are one piece of their blocks. */
static weft_status_t well_formed_check_packed(const check_t *at, const weft_plan_view_t *move)
{
    uint32_t k = at->plan->k;
    if (!weft_plan_packs(move)) {
        return WEFT_OK;
    }
    if (move->cnt > WEFT_PACK_MAX) {
        return well_formed_refuse(at, "packs %u chunks, at most %u are allowed", move->cnt,
                                  WEFT_PACK_MAX);
    }
    if ((uint64_t)at->times * move->cnt > UINT32_MAX) {
        return well_formed_refuse(at, "packs %u chunks in a LOOP of %u iterations", move->cnt,
                                  at->times);
    }
    for (uint32_t i = 0; i < move->ndst + move->nsrc + 1; i++) {
        const weft_plan_operand_t *operand =
            i < move->ndst + move->nsrc ? &move->dst[i] : move->like;
        if ((operand->kind == WEFT_OPERAND_IN || operand->kind == WEFT_OPERAND_OUT) &&
            well_formed_modulo(operand->stride, k) != 0) {
            return well_formed_refuse(at, "packs %s[%u%+d]: different pieces of %u",
                                      well_formed_buffer_name(operand->kind), operand->index,
                                      operand->stride, k);
        }
    }
    return WEFT_OK;
}

static weft_status_t well_formed_check_move(const check_t *at, const weft_plan_view_t *move)
{
    if ((move->flags & WEFT_MOVE_FINAL) != 0 && !weft_coll_reduces(at->plan->coll)) {
        return well_formed_refuse(at, "FINAL in a collective that does not reduce");
    }
    weft_status_t status = well_formed_check_like(at, move);
    for (uint32_t i = 0; status == WEFT_OK && i < move->ndst; i++) {
        status = well_formed_check_operand(at, &move->dst[i], move->cnt, 1);
    }
    for (uint32_t i = 0; status == WEFT_OK && i < move->nsrc; i++) {
        status = well_formed_check_operand(at, &move->src[i], move->cnt, 0);
    }
    if (status == WEFT_OK) {
        status = well_formed_check_distinct(at, move);
    }
    if (status == WEFT_OK) {
        status = well_formed_check_pieces(at, move);
    }
    if (status == WEFT_OK) {
        status = well_formed_check_packed(at, move);
    }
    return status == WEFT_OK ? well_formed_check_after(at, move) : status;
}

/* Members of a PAR run in any order, so a port may serve one of them only. */
static weft_status_t well_formed_check_member(const check_t *at, const weft_plan_view_t *move,
                                              uint32_t member)
{
    for (uint32_t i = 0; i < move->ndst + move->nsrc; i++) {
        const weft_plan_operand_t *operand = &move->dst[i];
        if (operand->kind != WEFT_OPERAND_PORT || operand->index >= at->plan->nports) {
            continue;
        }
        uint64_t *user = &at->port_user[operand->index], self = (uint64_t)at->lane << 32 | member;
        if (*user > ((uint64_t)at->lane << 32 | at->pc) && *user < self) {
            return well_formed_refuse(at, "two members use port %u", operand->index);
        }
        *user = self;
    }
    return WEFT_OK;
}

static weft_status_t well_formed_check_par(const check_t *at)
{
    const weft_plan_lane_t *lane = &at->plan->lanes[at->lane];
    uint32_t members = lane->code[at->pc].n;
    if (members < 1 || members > WEFT_PAR_MAX) {
        return well_formed_refuse(at, "PAR of %u, 1 to %d are allowed", members, WEFT_PAR_MAX);
    }
    for (uint32_t i = 1; i <= members; i++) {
        if (at->pc + i >= lane->ncode || lane->code[at->pc + i].opcode != WEFT_CODE_MOVE) {
            return well_formed_refuse(at, "PAR of %u, but only %u MOVEs follow", members, i - 1);
        }
        weft_plan_view_t move = weft_plan_view(at->plan, lane->code[at->pc + i].n);
        weft_status_t status = well_formed_check_member(at, &move, at->pc + i);
        if (status != WEFT_OK) {
            return status;
        }
    }
    return WEFT_OK;
}

static weft_status_t well_formed_check_bar(const check_t *at)
{
    uint64_t mask = at->plan->lanes[at->lane].code[at->pc].mask;
    uint32_t lanes = at->plan->nlanes;
    uint64_t others = lanes == 64 ? 0 : mask >> lanes;
    if (others != 0) {
        return well_formed_refuse(at, "BAR of lane %u, but the plan has %u lane%s",
                                  lanes + (uint32_t)__builtin_ctzll(others), lanes,
                                  weft_plural(lanes));
    }
    if ((mask >> at->lane & 1) == 0) {
        return well_formed_refuse(at, "BAR without lane %u, in which it is", at->lane);
    }
    return WEFT_OK;
}

static weft_status_t well_formed_check_loop(check_t *at, const weft_code_t *code)
{
    if (code->opcode == WEFT_CODE_END) {
        at->times = 0;
        return WEFT_OK;
    }
    if (at->times != 0) {
        return well_formed_refuse(at, "LOOP inside a LOOP");
    }
    if (code->n < 1) {
        return well_formed_refuse(at, "LOOP of 0 iterations");
    }
    if (code->mate <= at->pc) {
        return well_formed_refuse(at, "LOOP without END");
    }
    if (code->mate == at->pc + 1) {
        return well_formed_refuse(at, "LOOP of no instruction");
    }
    at->times = code->n;
    return WEFT_OK;
}

static weft_status_t well_formed_check_code(check_t *at)
{
    const weft_code_t *code = &at->plan->lanes[at->lane].code[at->pc];
    weft_plan_view_t move;
    switch (code->opcode) {
    case WEFT_CODE_MOVE:
        move = weft_plan_view(at->plan, code->n);
        return well_formed_check_move(at, &move);
    case WEFT_CODE_PAR:
        return well_formed_check_par(at);
    case WEFT_CODE_BAR:
        return well_formed_check_bar(at);
    case WEFT_CODE_LOOP:
    case WEFT_CODE_END:
        return well_formed_check_loop(at, code);
    default:
        return WEFT_OK;
    }
}

/* An open hash table of twice the size; keys are stored plus one. */
static weft_status_t well_formed_check_unique(const weft_plan_t *plan, uint64_t *table,
                                              uint32_t mask)
{
    for (uint32_t i = 0; i < plan->nports; i++) {
        const weft_plan_port_t *port = &plan->ports[i];
        uint64_t key =
            ((uint64_t)port->peer << 32 | (uint32_t)port->channel << 1 | port->sends) + 1;
        uint32_t at = (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & mask;
        while (table[at] != 0 && table[at] != key) {
            at = (at + 1) & mask;
        }
        if (table[at] == key) {
            return weft_fail(WEFT_ERR_PLAN, 0,
                             "plan of rank %u: two ports %s rank %u on channel %u", plan->rank,
                             port->sends ? "send to" : "receive from", port->peer, port->channel);
        }
        table[at] = key;
    }
    return WEFT_OK;
}

static weft_status_t well_formed_check_ports(const weft_plan_t *plan)
{
    for (uint32_t i = 0; i < plan->nports; i++) {
        const weft_plan_port_t *port = &plan->ports[i];
        if (port->peer == plan->rank) {
            return weft_fail(WEFT_ERR_PLAN, 0, "plan of rank %u: port %u leads to that rank itself",
                             plan->rank, i);
        }
        if (port->peer >= plan->nranks) {
            return weft_fail(WEFT_ERR_PLAN, 0,
                             "plan of rank %u: port %u leads to rank %u, there are 0 to %u",
                             plan->rank, i, port->peer, plan->nranks - 1);
        }
    }
    return WEFT_OK;
}

static weft_status_t well_formed_check_ranks(const weft_plan_t *plan)
{
    if (!weft_coll_has_plan(plan->coll)) {
        const char *name = weft_coll_name(plan->coll);
        return weft_fail(WEFT_ERR_PLAN, 0, "plan of rank %u: %s has no plan", plan->rank,
                         name != NULL ? name : "an unknown collective");
    }
    if (plan->nranks < 2) {
        return weft_fail(WEFT_ERR_PLAN, 0, "plan of rank %u: %u ranks, a plan has 2 at least",
                         plan->rank, plan->nranks);
    }
    if (plan->rank >= plan->nranks) {
        return weft_fail(WEFT_ERR_PLAN, 0, "plan of rank %u: there are %u ranks, 0 to %u",
                         plan->rank, plan->nranks, plan->nranks - 1);
    }
    if (plan->root >= plan->nranks) {
        return weft_fail(WEFT_ERR_PLAN, 0,
                         "plan of rank %u: root %u, but there are %u ranks, 0 to %u", plan->rank,
                         plan->root, plan->nranks, plan->nranks - 1);
    }
    return WEFT_OK;
}

static weft_status_t well_formed_check_shape(const weft_plan_t *plan)
{
    uint32_t in = weft_coll_blocks(plan->coll, plan->nranks, WEFT_OPERAND_IN);
    uint32_t out = weft_coll_blocks(plan->coll, plan->nranks, WEFT_OPERAND_OUT);
    uint32_t most = CHUNKS_MAX / (in > out ? in : out);
    if (plan->k < 1 || plan->k > most || plan->tmp_chunks > CHUNKS_MAX) {
        return weft_fail(WEFT_ERR_PLAN, 0,
                         "plan of rank %u: %u chunks per block and %u of scratch; 1 to %u and at "
                         "most %u are allowed",
                         plan->rank, plan->k, plan->tmp_chunks, most, CHUNKS_MAX);
    }
    return WEFT_OK;
}

static weft_status_t well_formed_check_lanes(const weft_plan_t *plan, uint64_t *port_user,
                                             weft_plan_spot_t *spot_p)
{
    weft_status_t status = WEFT_OK;
    for (uint32_t lane = 0; status == WEFT_OK && lane < plan->nlanes; lane++) {
        check_t at = {.plan = plan, .lane = lane, .port_user = port_user};
        for (; status == WEFT_OK && at.pc < plan->lanes[lane].ncode; at.pc++) {
            status = well_formed_check_code(&at);
        }
        if (status != WEFT_OK && spot_p != NULL) {
            *spot_p = (weft_plan_spot_t){.known = true, .lane = lane, .pc = at.pc - 1};
        }
    }
    return status;
}

weft_status_t weft_plan_check(const weft_plan_t *plan, weft_plan_spot_t *spot_p)
{
    weft_status_t status = well_formed_check_ranks(plan);
    status = status == WEFT_OK ? well_formed_check_shape(plan) : status;
    if (status == WEFT_OK) {
        status = well_formed_check_ports(plan);
    }
    if (status != WEFT_OK) {
        return status;
    }
    uint32_t size = 4;
    while (size < 2 * (uint64_t)plan->nports && size < 1u << 31) {
        size *= 2;
    }
    uint64_t *table = weft_os_alloc(((size_t)size + plan->nports) * sizeof *table, 0);
    if (table == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory to check %u ports", plan->nports);
    }
    status = well_formed_check_unique(plan, table, size - 1);
    if (status == WEFT_OK) {
        status = well_formed_check_lanes(plan, table + size, spot_p);
    }
    weft_os_free(table);
    return status;
}
