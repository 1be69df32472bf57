/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packed MOVEs in random plans: what the verifier proves comes out right when the interpreter runs it.
 * Blocks hop between random ranks in messages of random lengths, some through a third rank; half of
 * the plans are damaged, and most of these refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/error.h"
#include "core/exec/interpreter.h"
#include "core/os/os.h"
#include "core/plan/builder.h"
#include "core/plan/plan_print.h"
#include "core/plan/verify.h"
#include "core/plan/well_formed.h"
#include "tests/support/plan_faults.h"

enum {
    RANKS_MAX = 6,
    HOPS_MAX = 96,
    K_MAX = 3,
    CHANNELS_MAX = 2,
    SLOTS = 4,
    SLOT_BYTES = 1024,
    CASES = 2000
};

#define NOBODY UINT32_MAX

/* `count` blocks from `first` on, `step` apart, go from a rank to another one, or through a third. */
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

/* Runs ----------------------------------------------------------------------------------------- */

typedef struct rank {
    weft_plan_t *plan;
    weft_program_t program;
    weft_workspace_t workspace;
    weft_interpreter_t run;
    weft_mapped_port_t ports[CHANNELS_MAX * 2 * RANKS_MAX];
    weft_windows_t windows;
    weft_peer_windows_t reach[RANKS_MAX];
    uint8_t *in, *out, *result;
    uint8_t *memory[2];
} rank_t;

typedef struct job {
    uint32_t n, slices, channels;
    size_t elem;
    uint64_t count; /* of a block */
    bool in_place, pre, final, windows;
    rank_t rank[RANKS_MAX];
    void *fifo[RANKS_MAX][RANKS_MAX][CHANNELS_MAX];
} job_t;

static uint64_t load(const void *at, size_t elem)
{
    uint64_t value = 0;
    memcpy(&value, at, elem);
    return value;
}

static size_t combine_elem;

static void combine(const weft_combine_t *c)
{
    size_t elem = combine_elem;
    for (uint64_t i = 0; i < c->count; i++) {
        uint64_t x = 0;
        for (uint32_t s = 0; s < c->nsrc; s++) {
            x += load((const uint8_t *)c->src[s] + i * elem, elem) *
                 ((c->pre_mask >> s & 1) != 0 ? 5 : 1);
        }
        x *= (c->flags & WEFT_COMBINE_FINAL) != 0 ? 3 : 1;
        for (uint32_t d = 0; d < c->ndst; d++) {
            memcpy((uint8_t *)c->dst[d] + i * elem, &x, elem);
        }
    }
}

static uint64_t input(const job_t *job, uint32_t rank, uint64_t e)
{
    uint64_t value = (e * 7 + rank * 1000 + 1) * UINT64_C(0x9e3779b97f4a7c15), cut = 0;
    memcpy(&cut, &value, job->elem);
    return cut;
}

static uint64_t elements(const job_t *job, uint32_t kind)
{
    const weft_plan_t *plan = job->rank[0].plan;
    return job->count * (weft_plan_chunks(plan, kind) / plan->k);
}

static void bind_ports(job_t *job, rank_t *r)
{
    for (uint32_t p = 0; p < r->program.nports; p++) {
        const weft_plan_port_t *port = weft_program_port(&r->program, p);
        uint32_t from = port->sends ? r->plan->rank : port->peer;
        uint32_t to = port->sends ? port->peer : r->plan->rank;
        void **fifo = &job->fifo[from][to][p / r->plan->nports];
        if (*fifo == NULL) {
            *fifo = weft_os_pages(weft_fifo_bytes(SLOTS, SLOT_BYTES));
        }
        weft_mapped_port_init(&r->ports[p], port->peer, port->sends != 0, *fifo, SLOTS, SLOT_BYTES);
        r->ports[p].windows = job->windows ? &r->windows : NULL;
        r->program.ports[p] = &r->ports[p].port;
    }
}

static void make_buffers(job_t *job, rank_t *r)
{
    uint64_t in = elements(job, WEFT_OPERAND_IN) * job->elem;
    uint64_t out = elements(job, WEFT_OPERAND_OUT) * job->elem;
    uint64_t own = r->plan->rank * job->count * job->elem;
    r->in = r->memory[0] = malloc(in + 1);
    r->out = r->memory[1] = malloc(out + 1);
    r->result = malloc(out + 1);
    if (job->in_place && out > in) {
        r->in = r->out + own;
    } else if (job->in_place) {
        r->out = r->in + own;
    }
}

static void show_windows(job_t *job)
{
    for (uint32_t i = 0; i < job->n; i++) {
        rank_t *r = &job->rank[i];
        r->windows.reach = r->reach;
        for (uint32_t p = 0; p < job->n; p++) {
            rank_t *peer = &job->rank[p];
            uint64_t in = elements(job, WEFT_OPERAND_IN) * job->elem;
            uint64_t out = elements(job, WEFT_OPERAND_OUT) * job->elem;
            r->reach[p].mine[3] = (weft_lanes_window_t){r->in, in};
            r->reach[p].mine[0] = (weft_lanes_window_t){r->out, out};
            r->reach[p].theirs[3] = (weft_lanes_window_t){peer->in, in};
            r->reach[p].theirs[0] = (weft_lanes_window_t){peer->out, out};
        }
    }
}

static uint32_t packs_most(weft_plan_t *const *plans, uint32_t n)
{
    uint32_t most = 1;
    for (uint32_t r = 0; r < n; r++) {
        for (uint32_t i = 0; i < plans[r]->nmoves; i++) {
            weft_plan_view_t move = weft_plan_view(plans[r], i);
            most = weft_plan_packs(&move) && move.cnt > most ? move.cnt : most;
        }
    }
    return most;
}

static void job_init(job_t *job, weft_plan_t *const *plans)
{
    uint32_t most = packs_most(plans, job->n);
    for (uint32_t i = 0; i < job->n; i++) {
        rank_t *r = &job->rank[i];
        r->plan = plans[i];
        r->program = (weft_program_t){.plan = r->plan,
                                      .channels = job->channels,
                                      .combiner.fn = combine,
                                      .elem = job->elem,
                                      .pre = job->pre,
                                      .in_place = job->in_place,
                                      .flags = job->final ? WEFT_COMBINE_FINAL : 0,
                                      .memory.near_bytes = WEFT_SLOT_INLINE,
                                      .memory.on_host = true,
                                      .in_chunks = weft_plan_chunks(r->plan, WEFT_OPERAND_IN),
                                      .out_chunks = weft_plan_chunks(r->plan, WEFT_OPERAND_OUT)};
        weft_segmentation_params_t cut = {r->plan->k, job->slices,
                                          SLOT_BYTES / most / WEFT_LINE * WEFT_LINE, job->channels};
        weft_segmentation_set(&r->program.segmentation, job->count, job->elem, &cut);
        assert_int_equal(weft_program_allocate(&r->program), WEFT_OK);
        bind_ports(job, r);
        assert_int_equal(weft_interpreter_init(&r->run, &r->program, &r->workspace), WEFT_OK);
        make_buffers(job, r);
    }
    show_windows(job);
}

static void job_fini(job_t *job)
{
    for (uint32_t i = 0; i < job->n; i++) {
        rank_t *r = &job->rank[i];
        weft_interpreter_fini(&r->run);
        weft_workspace_fini(&r->workspace);
        weft_program_release(&r->program);
        free(r->memory[0]);
        free(r->memory[1]);
        free(r->result);
        for (uint32_t to = 0; to < job->n; to++) {
            for (uint32_t c = 0; c < CHANNELS_MAX; c++) {
                weft_os_pages_free(job->fifo[i][to][c], weft_fifo_bytes(SLOTS, SLOT_BYTES));
            }
        }
    }
}

static void begin(job_t *job, rank_t *r, uint32_t sequence)
{
    uint64_t in = elements(job, WEFT_OPERAND_IN), out = elements(job, WEFT_OPERAND_OUT);
    memset(r->out, 0xee, out * job->elem);
    for (uint64_t e = 0; e < in; e++) {
        uint64_t value = input(job, r->plan->rank, e);
        memcpy(r->in + e * job->elem, &value, job->elem);
    }
    weft_interpreter_start(
        &r->run, &(weft_binding_t){
                     .in = r->in, .out = r->out, .sequence = sequence, .in_place = job->in_place});
}

/* Steps random ranks until all are done; who is uses its buffers again. */
static bool run(job_t *job, uint32_t sequence)
{
    uint32_t over = 0, idle = 0;
    for (uint32_t i = 0; i < job->n; i++) {
        begin(job, &job->rank[i], sequence);
    }
    while (over != (1u << job->n) - 1 && idle < 1000 * job->n) {
        uint32_t i = plan_dice(job->n);
        bool moved = false;
        if ((over >> i & 1) != 0) {
            continue;
        }
        weft_status_t status = weft_interpreter_step(&job->rank[i].run, &moved);
        idle = moved ? 0 : idle + 1;
        if (status == WEFT_OK) {
            rank_t *r = &job->rank[i];
            over |= 1u << i;
            memcpy(r->result, r->out, elements(job, WEFT_OPERAND_OUT) * job->elem);
            memset(r->out, 0xa5, elements(job, WEFT_OPERAND_OUT) * job->elem);
            memset(r->in, 0x5a, elements(job, WEFT_OPERAND_IN) * job->elem);
        } else if (status != WEFT_IN_PROGRESS) {
            printf("status %d: %s\n", status, weft_error_record()->text);
            return false;
        }
    }
    return over == (1u << job->n) - 1;
}

static uint64_t expected(const job_t *job, uint32_t rank, uint64_t e)
{
    uint64_t sum = 0;
    if (script.coll == WEFT_ALL_GATHER) {
        return input(job, (uint32_t)(e / job->count), e % job->count);
    }
    for (uint32_t i = 0; i < job->n; i++) {
        sum += input(job, i, rank * job->count + e) * (job->pre ? 5 : 1);
    }
    sum *= job->final ? 3 : 1;
    return load(&sum, job->elem);
}

static bool is_right(const job_t *job)
{
    for (uint32_t i = 0; i < job->n; i++) {
        for (uint64_t e = 0; e < elements(job, WEFT_OPERAND_OUT); e++) {
            uint64_t got = load(job->rank[i].result + e * job->elem, job->elem);
            if (got != expected(job, i, e)) {
                printf("rank %u element %llu: %llx, expected %llx\n", i, (unsigned long long)e,
                       (unsigned long long)got, (unsigned long long)expected(job, i, e));
                return false;
            }
        }
    }
    return true;
}

/* Cases ---------------------------------------------------------------------------------------- */

typedef struct tally {
    uint32_t made, proved, damaged, survived, packed;
} tally_t;

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

static bool damage(weft_plan_t **plans)
{
    weft_plan_t *plan = plans[plan_dice(script.n)];
    plan_place_t at = {.plan = plan, .lane = &plan->lanes[0]};
    for (uint32_t tries = 0; tries < 20; tries++) {
        at.pc = plan_dice(at.lane->ncode - 1);
        if (plan_faults[plan_dice(PLAN_FAULTS)].damage(&at)) {
            return weft_plan_check(plan) == WEFT_OK;
        }
    }
    return false;
}

static void run_case(weft_plan_t *const *plans, const weft_verify_report_t *reports,
                     uint32_t slices)
{
    static const size_t elems[] = {1, 2, 4, 8};
    static const uint64_t counts[] = {0, 1, 3, 16, 33, 64, 100, 333, 1000};
    static job_t job;
    bool reduces = script.coll != WEFT_ALL_GATHER;
    job = (job_t){.n = script.n,
                  .slices = slices,
                  .channels = 1 + plan_dice(CHANNELS_MAX),
                  .elem = elems[plan_dice(4)],
                  .count = counts[plan_dice(9)],
                  .in_place = reports[1].verdict == WEFT_VERDICT_OK && plan_dice(2),
                  .pre = reduces && plan_dice(2),
                  .final = reduces && plan_dice(2),
                  .windows = plan_dice(2)};
    combine_elem = job.elem;
    job_init(&job, plans);
    for (uint32_t sequence = 1; sequence <= 2; sequence++) {
        if (!run(&job, sequence) || !is_right(&job)) {
            for (uint32_t r = 0; r < job.n; r++) {
                weft_plan_print(plans[r], stdout);
            }
            fail_msg("proved and wrong: %u slices, %u channels, %zu-byte elements, %llu, in place "
                     "%d, pre %d, final %d, windows %d, run %u",
                     job.slices, job.channels, job.elem, (unsigned long long)job.count,
                     job.in_place, job.pre, job.final, job.windows, sequence);
        }
    }
    job_fini(&job);
}

static void try_case(tally_t *tally)
{
    weft_plan_t *plans[RANKS_MAX] = {NULL};
    weft_verify_report_t reports[2];
    make_script(plan_dice(2) ? WEFT_ALL_GATHER : WEFT_REDUCE_SCATTER);
    bool made = emit_all(plans), damaged = made && plan_dice(2);
    if (made && (!damaged || damage(plans))) {
        uint32_t slices = 1 + plan_dice(SLOTS - 1);
        weft_verify_input_t input = {
            .plans = plans, .nranks = script.n, .slots = SLOTS, .slices = slices};
        tally->made++;
        tally->damaged += damaged;
        assert_int_equal(weft_plan_prove(&input, reports), WEFT_OK);
        if (reports[0].verdict == WEFT_VERDICT_OK) {
            tally->proved++;
            tally->survived += damaged;
            tally->packed += packs_most(plans, script.n) > 1;
            run_case(plans, reports, slices);
        }
    }
    for (uint32_t i = 0; i < script.n; i++) {
        weft_plan_destroy(plans[i]);
    }
}

static void what_is_proved_comes_out_right(void **state)
{
    tally_t tally = {0};
    (void)state;
    for (uint32_t i = 0; i < CASES; i++) {
        try_case(&tally);
    }
    printf("%u plans, %u proved, %u of them packed, %u damaged, of which %u were proved\n",
           tally.made, tally.proved, tally.packed, tally.damaged, tally.survived);
    assert_true(tally.packed > CASES / 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_proved_comes_out_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
