/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Scripts of hops, and the plans that they are. */
#include "packed_plans.h"

#include "core/plan/builder.h"
#include "plan_faults.h"

enum { RANKS_MAX = PACKED_RANKS_MAX, HOPS_MAX = 96, K_MAX = 3 };

#define NOBODY UINT32_MAX

/* `count` blocks from `first` on, `step` apart, go from a rank to another one, or through a
 * third. */
typedef struct hop {
    uint32_t from, via, to;
    uint32_t piece, first, count, pack;
    int32_t step;
    uint8_t source, kept,
        added; /* weft_operand_kind_t: where they are, where they go, what is there */
    uint8_t via_kept, via_added;
} hop_t;

typedef struct script {
    weft_coll_t coll;
    uint32_t n, k, nhops;
    bool together; /* MOVEs in a row are a PAR */
    hop_t hop[HOPS_MAX];
    uint8_t has[RANKS_MAX][RANKS_MAX]; /* by rank and block: weft_operand_kind_t of its value */
} script_t;

static script_t script;

/* Plans ---------------------------------------------------------------------------------------- */

typedef struct writer {
    weft_plan_builder_t *b;
    const hop_t *hop;
    uint32_t lane, rank, seed;
    uint32_t to[RANKS_MAX], from[RANKS_MAX]; /* ports, plus one */
} writer_t;

static weft_operand_t port_of(writer_t *w, uint32_t peer, uint32_t sends)
{
    uint32_t *port = sends ? &w->to[peer] : &w->from[peer];
    if (*port == 0) {
        *port = 1 + w->b->port(w->b, w->lane, peer, 0, sends);
    }
    return weft_port(*port - 1);
}

/* Block `at` of the hop, in a buffer. IN of all_gather and OUT of reduce_scatter have one block. */
static weft_operand_t block_of(const writer_t *w, uint32_t kind, uint32_t at)
{
    const hop_t *h = w->hop;
    int32_t n = (int32_t)script.n, block = ((int32_t)h->first + (int32_t)at * h->step) % n;
    uint32_t index = (uint32_t)(block < 0 ? block + n : block) * script.k + h->piece;
    return (weft_operand_t){.kind = kind, .index = index, .stride = h->step * (int32_t)script.k};
}

static void put(const writer_t *w, weft_move_t *move, uint32_t times, uint32_t cnt)
{
    move->cnt = cnt;
    move->flags |= cnt > 1 ? WEFT_MOVE_PACKED : 0;
    if (times > 1) {
        w->b->loop(w->b, w->lane, times);
    }
    w->b->move(w->b, w->lane, move);
    if (times > 1) {
        w->b->end(w->b, w->lane);
    }
}

typedef struct part {
    weft_operand_t in, out; /* ports, or of no kind */
    uint32_t source, kept;
} part_t;

static void put_part(const writer_t *w, const part_t *part, uint32_t at, uint32_t times,
                     uint32_t cnt)
{
    weft_move_t move = {
        .like =
            block_of(w, script.coll == WEFT_ALL_GATHER ? WEFT_OPERAND_OUT : WEFT_OPERAND_IN, at)};
    if (part->in.kind != WEFT_OPERAND_NONE) {
        move.src[move.nsrc++] = part->in;
    }
    if (part->source != WEFT_OPERAND_NONE) {
        move.src[move.nsrc++] = block_of(w, part->source, at);
    }
    if (part->out.kind != WEFT_OPERAND_NONE) {
        move.dst[move.ndst++] = part->out;
    }
    if (part->kept != WEFT_OPERAND_NONE) {
        move.dst[move.ndst++] = block_of(w, part->kept, at);
    }
    put(w, &move, times, cnt);
}

/* Messages of `pack` blocks, in a LOOP or one by one, and one of the rest. */
static void put_parts(writer_t *w, const part_t *part)
{
    const hop_t *h = w->hop;
    uint32_t full = h->count / h->pack, rest = h->count % h->pack;
    bool loops = ((w->seed += 0x9e3779b9u) >> 13 & 1) != 0;
    for (uint32_t i = 0; i < (loops ? 1 : full); i++) {
        put_part(w, part, i * h->pack, loops ? full : 1, h->pack);
    }
    if (rest > 0) {
        put_part(w, part, full * h->pack, 1, rest);
    }
}

static void put_hop(writer_t *w)
{
    const hop_t *h = w->hop;
    uint32_t next = h->via != NOBODY ? h->via : h->to, before = h->via != NOBODY ? h->via : h->from;
    if (h->from == w->rank && h->to == w->rank) {
        put_parts(w, &(part_t){.source = h->source, .kept = h->kept});
    } else if (h->from == w->rank) {
        put_parts(w, &(part_t){.out = port_of(w, next, 1), .source = h->source});
    } else if (h->via == w->rank) {
        weft_operand_t in = port_of(w, h->from, 0), out = port_of(w, h->to, 1);
        put_parts(w, &(part_t){.in = in, .out = out, .source = h->via_added, .kept = h->via_kept});
    } else if (h->to == w->rank) {
        put_parts(w, &(part_t){.in = port_of(w, before, 0), .source = h->added, .kept = h->kept});
    }
}

static void put_own(const writer_t *w, uint32_t from, uint32_t to, uint32_t flags)
{
    for (uint32_t p = 0; p < script.k; p++) {
        uint32_t block = w->rank * script.k + p;
        bool gathers = script.coll == WEFT_ALL_GATHER;
        weft_move_t move = {.ndst = 1, .nsrc = 1, .flags = flags};
        move.src[0] = (weft_operand_t){.kind = from, .index = gathers ? p : block};
        move.dst[0] = (weft_operand_t){.kind = to, .index = gathers ? block : p};
        put(w, &move, 1, 1);
    }
}

static bool is_one_move(const hop_t *h, uint32_t rank)
{
    return h->pack == h->count && (h->from == rank || h->via == rank || h->to == rank);
}

static weft_status_t emit(weft_algo_t *algo, const weft_algo_call_t *call,
                          const weft_algo_topo_t *view, weft_plan_builder_t *b)
{
    writer_t w = {.b = b, .rank = call->rank, .seed = script.nhops * 77 + call->rank};
    bool gathers = script.coll == WEFT_ALL_GATHER;
    (void)algo;
    (void)view;
    b->grid(b, script.k, script.n * script.k);
    w.lane = b->lane(b);
    if (gathers) {
        put_own(&w, WEFT_OPERAND_IN, WEFT_OPERAND_OUT, 0);
    }
    for (uint32_t i = 0; i < script.nhops; i++) {
        w.hop = &script.hop[i];
        if (i + 1 < script.nhops && script.together && is_one_move(w.hop, w.rank) &&
            is_one_move(&script.hop[i + 1], w.rank)) {
            b->par(b, w.lane, 2);
            put_hop(&w);
            w.hop = &script.hop[++i];
        }
        put_hop(&w);
    }
    if (!gathers) {
        put_own(&w, script.has[w.rank][w.rank], WEFT_OPERAND_OUT, WEFT_MOVE_FINAL);
    }
    return WEFT_OK;
}

/* Scripts -------------------------------------------------------------------------------------- */

static uint32_t block_at(const hop_t *h, uint32_t i)
{
    int32_t n = (int32_t)script.n, block = ((int32_t)h->first + (int32_t)i * h->step) % n;
    return (uint32_t)(block < 0 ? block + n : block);
}

/* As many blocks as the step gives before it comes round, and as `rank` has where the first is. */
static uint32_t blocks_alike(const hop_t *h, uint32_t rank, uint32_t most)
{
    uint32_t count = 1;
    while (count < most && block_at(h, count) != h->first &&
           script.has[rank][block_at(h, count)] == script.has[rank][h->first]) {
        count++;
    }
    return count;
}

static void keep(const hop_t *h, uint32_t rank, uint8_t kind)
{
    for (uint32_t i = 0; i < h->count; i++) {
        script.has[rank][block_at(h, i)] = kind;
    }
}

/* The hop of all pieces; how each is cut into messages is drawn again. */
static void add_hop(const hop_t *h)
{
    for (uint32_t p = 0; p < script.k && script.nhops < HOPS_MAX; p++) {
        hop_t *one = &script.hop[script.nhops++];
        *one = *h;
        one->piece = p;
        one->pack = 1 + plan_dice(h->count);
    }
}

/* In a gather a rank may keep what it had. In a reduction a value goes on, and is added up. */
static bool draw_hop(hop_t *h, uint32_t most)
{
    bool gathers = script.coll == WEFT_ALL_GATHER;
    h->step = (int32_t)plan_dice(2 * script.n) - (int32_t)script.n;
    h->source = script.has[h->from][h->first];
    h->count = blocks_alike(h, h->from, most);
    h->added = h->via_added = WEFT_OPERAND_NONE;
    if (h->source == WEFT_OPERAND_NONE) {
        return false;
    }
    if (gathers) {
        h->kept = plan_dice(3) > 0 ? WEFT_OPERAND_OUT : WEFT_OPERAND_TMP;
        h->via_kept = plan_dice(2) ? h->kept : WEFT_OPERAND_NONE;
    } else {
        for (uint32_t i = 0; i < 2; i++) {
            uint32_t rank = i == 0 ? h->to : h->via;
            uint32_t alike = rank != NOBODY ? blocks_alike(h, rank, h->count) : h->count;
            h->count = alike < h->count ? alike : h->count;
        }
        h->kept = WEFT_OPERAND_TMP;
        h->added = script.has[h->to][h->first];
        h->via_added = h->via != NOBODY ? script.has[h->via][h->first] : WEFT_OPERAND_NONE;
        h->via_kept = WEFT_OPERAND_NONE;
        for (uint32_t i = 0; i < h->count; i++) { /* an owner keeps what is its own */
            uint32_t block = block_at(h, i);
            if (block == h->from || block == h->via) {
                h->count = i;
            }
        }
        if (h->from == h->to || h->count == 0) {
            return false;
        }
    }
    return true;
}

static void make_hop(uint32_t from, uint32_t via, uint32_t to, uint32_t first, uint32_t most)
{
    hop_t h = {.from = from, .via = via, .to = to, .first = first};
    if (!draw_hop(&h, most)) {
        return;
    }
    add_hop(&h);
    if (script.coll == WEFT_ALL_GATHER) {
        keep(&h, to, h.kept);
        if (h.via != NOBODY && h.via_kept != WEFT_OPERAND_NONE) {
            keep(&h, via, h.via_kept);
        }
    } else {
        keep(&h, to, WEFT_OPERAND_TMP);
        keep(&h, from, WEFT_OPERAND_NONE);
        if (via != NOBODY) {
            keep(&h, via, WEFT_OPERAND_NONE);
        }
    }
}

static void make_script(weft_coll_t coll)
{
    script = (script_t){.coll = coll,
                        .n = 2 + plan_dice(RANKS_MAX - 1),
                        .k = 1 + plan_dice(K_MAX),
                        .together = plan_dice(4) == 0};
    bool gathers = coll == WEFT_ALL_GATHER;
    uint32_t n = script.n;
    for (uint32_t r = 0; r < n; r++) {
        for (uint32_t block = 0; block < n; block++) {
            script.has[r][block] = !gathers     ? WEFT_OPERAND_IN
                                   : r == block ? WEFT_OPERAND_OUT
                                                : WEFT_OPERAND_NONE;
        }
    }
    for (uint32_t i = plan_dice(3 * n); i > 0 && script.nhops < HOPS_MAX / 3; i--) {
        uint32_t from = plan_dice(n), to = plan_dice(n), via = plan_dice(n);
        via = from == to || via == from || via == to || plan_dice(2) ? NOBODY : via;
        make_hop(from, via, to, plan_dice(n), 1 + plan_dice(n));
    }
    /* What is left goes where it belongs. */
    for (uint32_t i = 0; i < 4 * n * n && script.nhops + script.k <= HOPS_MAX; i++) {
        uint32_t r = i / n % n, block = i % n;
        if (gathers && script.has[r][block] == WEFT_OPERAND_TMP) {
            make_hop(r, NOBODY, r, block, n);
            while (script.has[r][block] != WEFT_OPERAND_OUT &&
                   script.nhops + script.k <= HOPS_MAX) {
                make_hop(r, NOBODY, r, block, 1);
            }
        } else if (gathers && script.has[r][block] == WEFT_OPERAND_NONE) {
            make_hop(block, NOBODY, r, block, n);
        } else if (!gathers && r != block && script.has[r][block] != WEFT_OPERAND_NONE) {
            make_hop(r, NOBODY, block, block, n);
        }
    }
}

static bool emit_all(weft_plan_t **plans)
{
    weft_algo_ops_t ops = {.size = sizeof ops, .emit = emit};
    static const uint32_t hosts[RANKS_MAX];
    weft_algo_topo_t view = {.size = sizeof view, .nhosts = 1, .host = hosts};
    for (uint32_t i = 0; i < script.n; i++) {
        weft_algo_call_t call = {
            .size = sizeof call, .coll = script.coll, .nranks = script.n, .rank = i};
        if (weft_plan_emit(&ops, NULL, &call, &view, NULL, &plans[i]) != WEFT_OK) {
            return false;
        }
    }
    return true;
}

bool packed_plans_draw(weft_coll_t coll, weft_plan_t *plans[PACKED_RANKS_MAX], uint32_t *nranks)
{
    make_script(coll);
    *nranks = script.n;
    return emit_all(plans);
}
