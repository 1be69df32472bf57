/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans as a Graphviz drawing: a box per rank, a column per lane, an arrow per pair of MOVEs that
 * meet in a queue. */
#include "core/plan/dot.h"

#include <inttypes.h>

#include "core/os/os.h"
#include "core/plan/plan_print.h"

/* Walks the MOVEs of a lane, loops unrolled, that use one port; once per message of a slice. */
typedef struct dot_walk {
    const weft_plan_t *plan;
    const weft_plan_lane_t *lane;
    uint32_t port, sends;
    uint32_t pc, iteration, message;
} dot_walk_t;

static bool dot_uses_port(const weft_plan_view_t *move, uint32_t port, uint32_t sends)
{
    const weft_plan_operand_t *operands = sends ? move->dst : move->src;
    uint32_t count = sends ? move->ndst : move->nsrc;
    for (uint32_t i = 0; i < count; i++) {
        if (operands[i].kind == WEFT_OPERAND_PORT && operands[i].index == port) {
            return true;
        }
    }
    return false;
}

static void dot_walk_control(dot_walk_t *walk, const weft_code_t *code)
{
    if (code->opcode == WEFT_CODE_END) {
        if (++walk->iteration < walk->lane->code[code->mate].n) {
            walk->pc = code->mate;
        } else {
            walk->iteration = 0;
        }
    }
    walk->pc++;
}

/* pc of the next MOVE, or −1 at the end. */
static int64_t dot_walk_next(dot_walk_t *walk)
{
    for (;;) {
        const weft_code_t *code = &walk->lane->code[walk->pc];
        if (code->opcode == WEFT_CODE_STOP) {
            return -1;
        }
        weft_plan_view_t move = {0};
        if (code->opcode == WEFT_CODE_MOVE) {
            move = weft_plan_view(walk->plan, code->n);
        }
        if (dot_uses_port(&move, walk->port, walk->sends) &&
            walk->message < weft_plan_messages(&move)) {
            walk->message++;
            return walk->pc;
        }
        walk->message = 0;
        dot_walk_control(walk, code);
    }
}

static dot_walk_t dot_walk_of(const weft_plan_t *plan, uint32_t port)
{
    const weft_plan_port_t *at = &plan->ports[port];
    return (dot_walk_t){
        .plan = plan, .lane = &plan->lanes[at->lane], .port = port, .sends = at->sends};
}

static void dot_print_edges(dot_walk_t send, dot_walk_t receive, FILE *out)
{
    uint64_t width = receive.lane->ncode;
    uint8_t *drawn = weft_os_alloc(send.lane->ncode * width, 0);
    const weft_plan_port_t *from = &send.plan->ports[send.port];
    const weft_plan_port_t *to = &receive.plan->ports[receive.port];
    for (;;) {
        int64_t a = dot_walk_next(&send), b = dot_walk_next(&receive);
        if (a < 0 || b < 0 || drawn == NULL) {
            break;
        }
        uint8_t *mark = &drawn[(uint64_t)a * width + (uint64_t)b];
        if (*mark == 0) {
            fprintf(out,
                    "  r%" PRIu32 "l%" PRIu32 "p%" PRId64 " -> r%" PRIu32 "l%" PRIu32 "p%" PRId64
                    " [color=blue, constraint=false];\n",
                    send.plan->rank, from->lane, a, receive.plan->rank, to->lane, b);
        }
        *mark = 1;
    }
    weft_os_free(drawn);
}

static void dot_print_queues(weft_plan_t *const *plans, uint32_t rank, uint32_t nranks, FILE *out)
{
    const weft_plan_t *plan = plans[rank];
    for (uint32_t i = 0; i < plan->nports; i++) {
        const weft_plan_port_t *port = &plan->ports[i];
        const weft_plan_t *peer = port->peer < nranks ? plans[port->peer] : NULL;
        for (uint32_t j = 0; port->sends && peer != NULL && j < peer->nports; j++) {
            const weft_plan_port_t *other = &peer->ports[j];
            if (!other->sends && other->peer == rank && other->channel == port->channel) {
                dot_print_edges(dot_walk_of(plan, i), dot_walk_of(peer, j), out);
            }
        }
    }
}

static void dot_print_waits(const weft_plan_t *plan, uint32_t lane, uint32_t pc, FILE *out)
{
    const weft_code_t *code = &plan->lanes[lane].code[pc];
    weft_plan_view_t move = {0};
    if (code->opcode == WEFT_CODE_MOVE) {
        move = weft_plan_view(plan, code->n);
    }
    for (uint32_t i = 0; i < move.nafter; i++) {
        fprintf(out,
                "    r%" PRIu32 "l%" PRIu32 "p%" PRIu32 " -> r%" PRIu32 "l%" PRIu32 "p%" PRIu32
                " [style=dashed];\n",
                plan->rank, move.after[i].lane, move.after[i].pc, plan->rank, lane, pc);
    }
}

static void dot_print_lane(const weft_plan_t *plan, uint32_t lane, FILE *out)
{
    const weft_plan_lane_t *text = &plan->lanes[lane];
    for (uint32_t pc = 0; text->code[pc].opcode != WEFT_CODE_STOP; pc++) {
        fprintf(out, "    r%" PRIu32 "l%" PRIu32 "p%" PRIu32 " [label=\"%" PRIu32 ": ", plan->rank,
                lane, pc, pc);
        weft_plan_print_code(plan, &text->code[pc], out);
        fputs("\"];\n", out);
        if (pc != 0) {
            fprintf(out,
                    "    r%" PRIu32 "l%" PRIu32 "p%" PRIu32 " -> r%" PRIu32 "l%" PRIu32 "p%" PRIu32
                    " [color=gray, weight=10];\n",
                    plan->rank, lane, pc - 1, plan->rank, lane, pc);
        }
        dot_print_waits(plan, lane, pc, out);
    }
}

void weft_plan_print_dot(weft_plan_t *const *plans, uint32_t nranks, FILE *out)
{
    fputs("digraph plan {\n  node [shape=box, fontname=monospace, fontsize=9];\n", out);
    for (uint32_t rank = 0; rank < nranks; rank++) {
        fprintf(out, "  subgraph cluster_%" PRIu32 " {\n    label=\"rank %" PRIu32 "\";\n", rank,
                rank);
        for (uint32_t lane = 0; lane < plans[rank]->nlanes; lane++) {
            dot_print_lane(plans[rank], lane, out);
        }
        fputs("  }\n", out);
    }
    for (uint32_t rank = 0; rank < nranks; rank++) {
        dot_print_queues(plans, rank, nranks, out);
    }
    fputs("}\n", out);
}
