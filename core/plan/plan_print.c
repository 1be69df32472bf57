/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A plan as text, one instruction a line; the language is described in docs/plans.md and read back
 * by plan_parse.c. */
#include "core/plan/plan_print.h"

#include <inttypes.h>

#include <weft/weft.h>

static void print_operand(const weft_plan_operand_t *operand, FILE *out)
{
    static const char *const names[] = {"none", "in", "out", "tmp"};
    if (operand->kind == WEFT_OPERAND_PORT) {
        fprintf(out, "port %" PRIu32, (uint32_t)operand->index);
    } else if (operand->stride == 0) {
        fprintf(out, "%s[%" PRIu32 "]", names[operand->kind], (uint32_t)operand->index);
    } else {
        fprintf(out, "%s[%" PRIu32 "%+" PRId32 "]", names[operand->kind], (uint32_t)operand->index,
                operand->stride);
    }
}

static void print_operands(const weft_plan_operand_t *operands, uint32_t count, FILE *out)
{
    for (uint32_t i = 0; i < count; i++) {
        fputs(i == 0 ? "" : ", ", out);
        print_operand(&operands[i], out);
    }
}

static void print_move(const weft_plan_view_t *move, FILE *out)
{
    fputs("move ", out);
    print_operands(move->dst, move->ndst, out);
    fputs(" <- ", out);
    print_operands(move->src, move->nsrc, out);
    if (move->cnt > 1) {
        fprintf(out, " count %" PRIu32 "%s", move->cnt, weft_plan_packs(move) ? " packed" : "");
    }
    if (move->like->kind != WEFT_OPERAND_NONE) {
        fputs(" like ", out);
        print_operand(move->like, out);
    }
    if ((move->flags & WEFT_MOVE_FINAL) != 0) {
        fputs(" final", out);
    }
    for (uint32_t i = 0; i < move->nafter; i++) {
        fprintf(out, "%s%" PRIu32 ":%" PRIu32, i == 0 ? " after " : " ", move->after[i].lane,
                move->after[i].pc);
    }
}

static void print_bar(uint64_t mask, FILE *out)
{
    const char *before = "bar ";
    for (uint32_t lane = 0; lane < WEFT_LANE_MAX; lane++) {
        if ((mask >> lane & 1) != 0) {
            fprintf(out, "%s%" PRIu32, before, lane);
            before = ", ";
        }
    }
}

void weft_plan_print_code(const weft_plan_t *plan, const weft_code_t *code, FILE *out)
{
    weft_plan_view_t move;
    switch (code->opcode) {
    case WEFT_CODE_MOVE:
        move = weft_plan_view(plan, code->n);
        print_move(&move, out);
        break;
    case WEFT_CODE_PAR:
        fprintf(out, "par %" PRIu32, code->n);
        break;
    case WEFT_CODE_LOOP:
        fprintf(out, "loop %" PRIu32, code->n);
        break;
    case WEFT_CODE_END:
        fputs("end", out);
        break;
    case WEFT_CODE_BAR:
        print_bar(code->mask, out);
        break;
    default:
        fputs("stop", out);
        break;
    }
}

static void print_lane(const weft_plan_t *plan, uint32_t lane, FILE *out)
{
    const weft_plan_lane_t *text = &plan->lanes[lane];
    int depth = 0;
    fprintf(out, "lane %" PRIu32 "\n", lane);
    for (uint32_t pc = 0; text->code[pc].opcode != WEFT_CODE_STOP; pc++) {
        depth -= text->code[pc].opcode == WEFT_CODE_END;
        fprintf(out, "%4" PRIu32 ": %*s", pc, 2 * depth, "");
        weft_plan_print_code(plan, &text->code[pc], out);
        fputc('\n', out);
        depth += text->code[pc].opcode == WEFT_CODE_LOOP;
    }
}

static void print_way(uint32_t way, FILE *out)
{
    if (way != 0) {
        fprintf(out, " along %s%s %" PRIu32, (way & WEFT_PLAN_WAY_BACK) != 0 ? "back " : "",
                (way & WEFT_PLAN_WAY_CHAIN) != 0 ? "chain" : "ring",
                (way & WEFT_PLAN_WAY_ORDER_MASK) - 1);
    }
}

void weft_plan_print(const weft_plan_t *plan, FILE *out)
{
    fprintf(out,
            "plan %s ranks %" PRIu32 " rank %" PRIu32 " root %" PRIu32 " chunks %" PRIu32
            " tmp %" PRIu32 " lanes %" PRIu32 "\n",
            weft_coll_name(plan->coll), plan->nranks, plan->rank, plan->root, plan->k,
            plan->tmp_chunks, plan->nlanes);
    for (uint32_t i = 0; i < plan->nports; i++) {
        const weft_plan_port_t *port = &plan->ports[i];
        fprintf(out, "port %" PRIu32 " lane %" PRIu32 " %s %" PRIu32 " channel %" PRIu32, i,
                port->lane, port->sends ? "send to" : "receive from", port->peer, port->channel);
        print_way(port->way, out);
        fputc('\n', out);
    }
    for (uint32_t lane = 0; lane < plan->nlanes; lane++) {
        print_lane(plan, lane, out);
    }
}
