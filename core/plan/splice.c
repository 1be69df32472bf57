/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The builder's call(): writes a sub-plan into the plan. Chunks of the sub-plan are consecutive
 * chunks of this plan's buffers, its windows; where a window is not a whole buffer, numbers that
 * wrap around in the sub-plan would not wrap here, so a LOOP is cut in runs, and a MOVE of several
 * chunks in parts, within which nothing wraps. A ring's LOOP becomes two or three of them. */
#include "core/plan/splice.h"

#include "core/os/os.h"

#define SPOTS (2 * WEFT_MOVE_MAX + 1)

typedef struct splice {
    weft_plan_draft_t *draft;
    weft_plan_builder_t *builder;
    const weft_plan_part_t *part;
    const weft_plan_t *plan; /* the sub-plan */
    weft_operand_t in, out;
    uint32_t tmp, channel;
    uint32_t lanes[WEFT_LANE_MAX];   /* lane here by lane there */
    uint32_t code_at[WEFT_LANE_MAX]; /* first entry of a lane in pcs */
    uint32_t *ports;                 /* port here by port there */
    uint32_t *pcs;                   /* last pc here that an instruction there became */
} splice_t;

/* An operand there, and the window here that it moves in. */
typedef struct spot {
    uint32_t modulus; /* chunks after which its number wraps */
    bool wraps;       /* the window is not a whole buffer, so it would not wrap here */
    uint32_t at;      /* chunk there in this iteration */
    int64_t step;
    uint32_t kind, first; /* the window */
} spot_t;

/* A MOVE there, in one iteration. */
typedef struct spliced {
    weft_plan_view_t move;
    spot_t spots[SPOTS]; /* destinations, sources, `like` */
    uint32_t nspots;
} spliced_t;

static void splice_mistake(const splice_t *splice, const char *what)
{
    weft_plan_mistake(splice->draft, WEFT_ERR_PLAN, "call of %s: %s", splice->part->algo, what);
}

static uint32_t splice_modulo(int64_t value, uint32_t n)
{
    int64_t rest = value % (int64_t)n;
    return (uint32_t)(rest < 0 ? rest + (int64_t)n : rest);
}

static weft_operand_t splice_window_of(const splice_t *splice, uint32_t kind)
{
    return kind == WEFT_OPERAND_IN    ? splice->in
           : kind == WEFT_OPERAND_OUT ? splice->out
                                      : weft_tmp(splice->tmp, 0);
}

/* The same step around `chunks` chunks, the shorter way round. */
static int64_t splice_shortest(int32_t stride, uint32_t chunks)
{
    int64_t step = stride % (int64_t)chunks, half = chunks / 2;
    return step > half ? step - (int64_t)chunks : step < -half ? step + (int64_t)chunks : step;
}

static spot_t splice_spot_in(const weft_plan_operand_t *operand, weft_operand_t window,
                             uint32_t chunks, uint32_t iteration)
{
    int64_t step = splice_shortest(operand->stride, chunks);
    return (spot_t){.modulus = chunks,
                    .wraps = true,
                    .at = splice_modulo((int64_t)(operand->index % chunks) +
                                            step * (int64_t)(iteration % chunks),
                                        chunks),
                    .step = step,
                    .kind = window.kind,
                    .first = window.index};
}

static spot_t splice_spot_of(const splice_t *splice, const weft_plan_operand_t *operand,
                             uint32_t iteration)
{
    const weft_plan_t *here = splice->draft->plan;
    if (operand->kind == WEFT_OPERAND_PORT) {
        return (spot_t){.kind = WEFT_OPERAND_PORT, .at = splice->ports[operand->index]};
    }
    uint32_t chunks = weft_plan_chunks(splice->plan, operand->kind);
    weft_operand_t window = splice_window_of(splice, operand->kind);
    uint32_t all = weft_plan_chunks(here, window.kind);
    if (window.index > all || chunks > all - window.index) {
        weft_plan_mistake(splice->draft, WEFT_ERR_PLAN,
                          "call of %s: its %u chunks from %u on do not fit in %u",
                          splice->part->algo, chunks, window.index, all);
    }
    spot_t spot = splice_spot_in(operand, window, chunks, iteration);
    spot.wraps = window.index != 0 || chunks != all;
    return spot;
}

static bool splice_names_piece(uint32_t kind)
{
    return kind == WEFT_OPERAND_IN || kind == WEFT_OPERAND_OUT;
}

static const weft_plan_operand_t *splice_piece_of(const weft_plan_view_t *move)
{
    for (uint32_t i = 0; i < move->ndst + move->nsrc; i++) {
        const weft_plan_operand_t *o = &move->dst[i];
        if (splice_names_piece(o->kind)) {
            return o;
        }
    }
    return move->like;
}

/* The length of a MOVE whose operands here are scratch and ports: piece i of a block there is as
 * long as piece i of any other block, so the window that is not scratch can say it. */
static spot_t splice_like_of(const splice_t *splice, const weft_plan_view_t *move,
                             uint32_t iteration)
{
    const weft_plan_operand_t *piece = splice_piece_of(move);
    if (splice_names_piece(splice_window_of(splice, piece->kind).kind)) {
        return splice_spot_of(splice, piece, iteration);
    }
    weft_operand_t window = splice_names_piece(splice->out.kind) ? splice->out : splice->in;
    if (!splice_names_piece(window.kind)) {
        splice_mistake(splice,
                       "both its buffers are scratch, so nothing says how long its pieces are");
    }
    return splice_spot_in(piece, window, splice->plan->k, iteration);
}

static spliced_t splice_spliced_of(const splice_t *splice, const weft_code_t *code,
                                   uint32_t iteration)
{
    spliced_t spliced = {.move = weft_plan_view(splice->plan, code->n)};
    const weft_plan_view_t *move = &spliced.move;
    if (weft_plan_packs(move)) {
        splice_mistake(splice, "a plan that is a part of another must not pack");
    }
    bool has_piece = false;
    for (uint32_t i = 0; i < move->ndst + move->nsrc; i++) {
        const weft_plan_operand_t *o = &move->dst[i];
        spot_t spot = splice_spot_of(splice, o, iteration);
        has_piece |= splice_names_piece(spot.kind);
        spliced.spots[spliced.nspots++] = spot;
    }
    if (!has_piece) {
        spliced.spots[spliced.nspots++] = splice_like_of(splice, move, iteration);
    }
    return spliced;
}

/* Chunks of the MOVE from chunk `from` on up to where an operand wraps. */
static uint32_t splice_until_wrap(const spliced_t *spliced, uint32_t from)
{
    uint32_t chunks = spliced->move.cnt - from;
    for (uint32_t i = 0; i < spliced->nspots; i++) {
        const spot_t *spot = &spliced->spots[i];
        if (spot->wraps) {
            uint32_t left = spot->modulus - (uint32_t)(((uint64_t)spot->at + from) % spot->modulus);
            chunks = left < chunks ? left : chunks;
        }
    }
    return chunks;
}

/* Iterations from this one on, at most `times`, through which no operand wraps. */
static uint32_t splice_run_of_move(const spliced_t *spliced, uint32_t times)
{
    uint32_t cnt = spliced->move.cnt;
    if (splice_until_wrap(spliced, 0) < cnt) {
        return 1;
    }
    for (uint32_t i = 0; i < spliced->nspots; i++) {
        const spot_t *spot = &spliced->spots[i];
        uint64_t more = times - 1;
        if (spot->wraps && spot->step > 0) {
            more = (spot->modulus - cnt - spot->at) / (uint64_t)spot->step;
        } else if (spot->wraps && spot->step < 0) {
            more = spot->at / (uint64_t)-spot->step;
        }
        times = more + 1 < times ? (uint32_t)(more + 1) : times;
    }
    return times;
}

static weft_operand_t splice_placed(const spot_t *spot, uint32_t from, bool loops)
{
    if (spot->kind == WEFT_OPERAND_PORT) {
        return weft_port(spot->at);
    }
    uint32_t chunk = (uint32_t)(((uint64_t)spot->at + from) % spot->modulus);
    return (weft_operand_t){spot->kind, spot->first + chunk, loops ? (int32_t)spot->step : 0};
}

/* Waits keep the numbers of the sub-plan until all of it is written. */
static uint32_t splice_write_move(const splice_t *splice, uint32_t lane, const spliced_t *spliced,
                                  const uint32_t part[2], bool loops)
{
    weft_move_t move = weft_plan_expand(&spliced->move);
    uint32_t all = move.ndst + move.nsrc;
    for (uint32_t i = 0; i < all; i++) {
        weft_operand_t *o = i < move.ndst ? &move.dst[i] : &move.src[i - move.ndst];
        *o = splice_placed(&spliced->spots[i], part[0], loops);
    }
    move.like = spliced->nspots > all ? splice_placed(&spliced->spots[all], part[0], loops)
                                      : (weft_operand_t){0};
    move.cnt = part[1];
    if (splice->part->partial) {
        move.flags &= ~WEFT_MOVE_FINAL;
    }
    return splice->builder->move(splice->builder, splice->lanes[lane], &move);
}

/* Chunks from `from` on up to where a member wraps. */
static uint32_t splice_until_cut(const spliced_t *group, uint32_t members, uint32_t from)
{
    uint32_t chunks = UINT32_MAX;
    for (uint32_t i = 0; i < members; i++) {
        if (group[i].move.cnt > from) {
            uint32_t wrap = splice_until_wrap(&group[i], from);
            chunks = from + wrap < group[i].move.cnt && wrap < chunks ? wrap : chunks;
        }
    }
    return chunks;
}

static uint32_t splice_count_active(const spliced_t *group, uint32_t members, uint32_t from)
{
    uint32_t active = 0;
    for (uint32_t i = 0; i < members; i++) {
        active += group[i].move.cnt > from;
    }
    return active;
}

/* A MOVE or a PAR of them. */
static void splice_write_group(const splice_t *splice, uint32_t lane, uint32_t pc,
                               uint32_t iteration, bool loops)
{
    const weft_code_t *code = splice->plan->lanes[lane].code;
    uint32_t par = code[pc].opcode == WEFT_CODE_PAR, members = par ? code[pc].n : 1;
    spliced_t group[WEFT_PAR_MAX];
    for (uint32_t i = 0; i < members; i++) {
        group[i] = splice_spliced_of(splice, &code[pc + par + i], iteration);
    }
    uint32_t active;
    for (uint32_t from = 0; (active = splice_count_active(group, members, from)) > 0 &&
                            splice->draft->status == WEFT_OK;) {
        uint32_t chunks = splice_until_cut(group, members, from);
        if (par) {
            splice->builder->par(splice->builder, splice->lanes[lane], active);
        }
        for (uint32_t i = 0; i < members; i++) {
            if (group[i].move.cnt <= from) {
                continue;
            }
            uint32_t rest = group[i].move.cnt - from;
            uint32_t part[2] = {from, rest < chunks ? rest : chunks};
            splice->pcs[splice->code_at[lane] + pc + par + i] =
                splice_write_move(splice, lane, &group[i], part, loops);
        }
        from = chunks > UINT32_MAX - from ? UINT32_MAX : from + chunks;
    }
}

static void splice_write_bar(const splice_t *splice, uint32_t lane, uint32_t pc, uint64_t mask)
{
    uint64_t here = 0;
    for (uint32_t i = 0; i < splice->plan->nlanes; i++) {
        here |= (mask >> i & 1) << splice->lanes[i];
    }
    splice->pcs[splice->code_at[lane] + pc] =
        splice->builder->bar(splice->builder, splice->lanes[lane], here);
}

/* The instructions from `pc` up to `end`, neither LOOP nor END among them. */
static void splice_write_body(const splice_t *splice, uint32_t lane, const uint32_t range[2],
                              uint32_t iteration, bool loops)
{
    const weft_code_t *code = splice->plan->lanes[lane].code;
    for (uint32_t pc = range[0]; pc < range[1] && splice->draft->status == WEFT_OK;) {
        if (code[pc].opcode == WEFT_CODE_BAR) {
            splice_write_bar(splice, lane, pc, code[pc].mask);
            pc++;
            continue;
        }
        splice_write_group(splice, lane, pc, iteration, loops);
        pc += code[pc].opcode == WEFT_CODE_PAR ? 1 + code[pc].n : 1;
    }
}

static uint32_t splice_run_of_body(const splice_t *splice, uint32_t lane, const uint32_t range[2],
                                   uint32_t iteration, uint32_t times)
{
    const weft_code_t *code = splice->plan->lanes[lane].code;
    for (uint32_t pc = range[0]; pc < range[1]; pc++) {
        if (code[pc].opcode == WEFT_CODE_MOVE) {
            spliced_t spliced = splice_spliced_of(splice, &code[pc], iteration);
            times = splice_run_of_move(&spliced, times);
        }
    }
    return times;
}

static void splice_write_loop(const splice_t *splice, uint32_t lane, uint32_t pc)
{
    const weft_code_t *loop = &splice->plan->lanes[lane].code[pc];
    weft_plan_builder_t *b = splice->builder;
    uint32_t range[2] = {pc + 1, loop->mate};
    for (uint32_t i = 0; i < loop->n && splice->draft->status == WEFT_OK;) {
        uint32_t times = splice_run_of_body(splice, lane, range, i, loop->n - i);
        bool loops = times > 1 || loop->n == 1;
        if (loops) {
            b->loop(b, splice->lanes[lane], times);
        }
        splice_write_body(splice, lane, range, i, loops);
        if (loops) {
            b->end(b, splice->lanes[lane]);
        }
        i += times;
    }
}

static void splice_write_lane(const splice_t *splice, uint32_t lane)
{
    const weft_plan_lane_t *from = &splice->plan->lanes[lane];
    for (uint32_t pc = 0; pc < from->ncode && splice->draft->status == WEFT_OK;) {
        uint32_t end = pc;
        while (end < from->ncode && from->code[end].opcode != WEFT_CODE_LOOP &&
               from->code[end].opcode != WEFT_CODE_STOP) {
            end++;
        }
        splice_write_body(splice, lane, (uint32_t[2]){pc, end}, 0, 0);
        if (end == from->ncode || from->code[end].opcode == WEFT_CODE_STOP) {
            return;
        }
        splice_write_loop(splice, lane, end);
        pc = from->code[end].mate + 1;
    }
}

static void splice_write_waits(const splice_t *splice, uint32_t first_move)
{
    weft_plan_t *here = splice->draft->plan;
    for (uint32_t i = first_move; i < here->nmoves; i++) {
        for (uint32_t w = 0; w < here->moves[i].nafter; w++) {
            weft_after_t *after = &here->afters[here->moves[i].after + w];
            after->pc = splice->pcs[splice->code_at[after->lane] + after->pc];
            after->lane = splice->lanes[after->lane];
        }
    }
}

/* Several lanes begin and end together. */
static void splice_fence(const splice_t *splice)
{
    uint64_t mask = 0;
    for (uint32_t i = 0; i < splice->plan->nlanes; i++) {
        mask |= UINT64_C(1) << splice->lanes[i];
    }
    for (uint32_t i = 0; splice->plan->nlanes > 1 && i < splice->plan->nlanes; i++) {
        splice->builder->bar(splice->builder, splice->lanes[i], mask);
    }
}

static void splice_write_ports(const splice_t *splice)
{
    weft_plan_builder_t *b = splice->builder;
    for (uint32_t i = 0; i < splice->plan->nports; i++) {
        const weft_plan_port_t *port = &splice->plan->ports[i];
        splice->ports[i] = b->port(b, splice->lanes[port->lane], splice->part->group[port->peer],
                                   splice->channel + port->channel, port->sends);
        b->along(b, splice->ports[i], port->way);
    }
}

static void splice_write_all(splice_t *splice, uint32_t lane)
{
    uint32_t code = 0, first_move = splice->draft->plan->nmoves;
    for (uint32_t i = 0; i < splice->plan->nlanes; i++) {
        splice->lanes[i] = i == 0 ? lane : splice->builder->lane(splice->builder);
        splice->code_at[i] = code;
        code += splice->plan->lanes[i].ncode;
    }
    splice->ports = weft_os_alloc(((size_t)splice->plan->nports + 1) * sizeof *splice->ports, 0);
    splice->pcs = weft_os_alloc(((size_t)code + 1) * sizeof *splice->pcs, 0);
    if (splice->ports == NULL || splice->pcs == NULL) {
        weft_plan_mistake(splice->draft, WEFT_ERR_RESOURCE, "no memory for a sub-plan");
        goto err_free;
    }
    splice_write_ports(splice);
    splice_fence(splice);
    for (uint32_t i = 0; i < splice->plan->nlanes; i++) {
        splice_write_lane(splice, i);
    }
    splice_fence(splice);
    if (splice->draft->status == WEFT_OK) {
        splice_write_waits(splice, first_move);
    }
err_free:
    weft_os_free(splice->pcs);
    weft_os_free(splice->ports);
}

static bool splice_is_buffer(uint32_t kind)
{
    return splice_names_piece(kind) || kind == WEFT_OPERAND_TMP;
}

static bool splice_check_call(const splice_t *splice, uint32_t lane)
{
    const weft_plan_t *here = splice->draft->plan;
    if (!splice->draft->has_grid) {
        splice_mistake(splice, "grid() comes first");
    } else if (splice->plan == NULL) {
        splice_mistake(splice, "this rank is not in the group");
    } else if (lane >= here->nlanes) {
        splice_mistake(splice, "its lane does not exist");
    } else if (weft_plan_lane_is_open(&here->lanes[lane])) {
        splice_mistake(splice, "it stands inside a LOOP or a PAR");
    } else if (!splice_is_buffer(splice->in.kind) || !splice_is_buffer(splice->out.kind)) {
        splice_mistake(splice, "its buffers must be IN, OUT or TMP");
    }
    return splice->draft->status == WEFT_OK;
}

void weft_plan_build_call(weft_plan_builder_t *builder, uint32_t lane, uint32_t sub,
                          weft_operand_t in, weft_operand_t out, uint32_t tmp, uint32_t channel)
{
    weft_plan_draft_t *draft = builder->core;
    if (draft->status != WEFT_OK) {
        return;
    }
    if (sub >= draft->nparts) {
        weft_plan_mistake(draft, WEFT_ERR_PLAN, "call of sub-plan %u of %u", sub, draft->nparts);
        return;
    }
    splice_t splice = {.draft = draft,
                       .builder = builder,
                       .part = &draft->parts[sub],
                       .plan = draft->parts[sub].plan,
                       .in = in,
                       .out = out,
                       .tmp = tmp,
                       .channel = channel};
    if (splice_check_call(&splice, lane)) {
        splice_write_all(&splice, lane);
    }
}
