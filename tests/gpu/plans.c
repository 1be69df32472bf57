/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All-reduce of ranks that share one device, each by a plan of its own: every rank sends its chunk to all
 * others, then adds what it gets. Integers, so that every order gives the same bits. */
#include <weft/plugin/plan.h>

#include "check.h"
#include "device.h"

#define RANKS 8u
#define LANES 4u
#define PORTS (2u * (RANKS - 1u) * LANES)
#define MOVES_LANE 6u
#define SLOTS 4u
#define SLICES 2u
#define SLICE 16384u /* elements of 4 bytes */
#define FIFO (WEFT_FIFO_HEADS + SLOTS * (WEFT_FIFO_HEAD_BYTES + 4u * SLICE))
#define LIMIT_S 20.0

typedef struct rank {
    weft_lanes_program_t program;
    uint32_t lane[LANES + 1];
    weft_lanes_code_t code[LANES * (MOVES_LANE + 1)];
    weft_lanes_move_t moves[LANES * MOVES_LANE];
    weft_lanes_operand_t operands[LANES * MOVES_LANE * 5];
    weft_lanes_port_t ports[PORTS];
    weft_lanes_handle_t *handle;
    int32_t *in, *out;
    weft_status_t status;
} rank_t;

typedef struct world {
    check_t *check;
    const weft_kernel_lanes_t *lanes;
    uint32_t n;
    uint64_t count;
    uint8_t *fifos;
    rank_t rank[RANKS];
    int32_t *host;
} world_t;

static uint8_t *fifo_of(const world_t *w, uint32_t from, uint32_t to, uint32_t lane)
{
    return w->fifos + ((size_t)(from * RANKS + to) * LANES + lane) * FIFO;
}

static void put_operand(rank_t *r, uint32_t kind, uint32_t index)
{
    r->operands[r->program.noperands++] =
        (weft_lanes_operand_t){.kind = kind, .index = index, .chunks = LANES};
}

static void put_code(rank_t *r, uint32_t opcode, uint32_t n)
{
    r->code[r->program.ncode++] = (weft_lanes_code_t){.opcode = opcode, .n = n};
}

static weft_lanes_move_t *put_move(rank_t *r)
{
    weft_lanes_move_t *move = &r->moves[r->program.nmoves];
    *move = (weft_lanes_move_t){.operand = r->program.noperands, .cnt = 1};
    put_code(r, WEFT_LANES_MOVE, r->program.nmoves++);
    return move;
}

/* Ports of a lane: sends to its peers at even numbers, receives at odd ones. */
static uint32_t port_of(const world_t *w, uint32_t lane, uint32_t peer, uint32_t receives)
{
    return 2 * (lane * (w->n - 1) + peer) + receives;
}

static void write_sends(const world_t *w, rank_t *r, uint32_t lane)
{
    for (uint32_t peer = 0; peer < w->n - 1;) {
        weft_lanes_move_t *move = put_move(r);
        for (; peer < w->n - 1 && move->ndst < WEFT_MOVE_MAX; peer++, move->ndst++) {
            put_operand(r, WEFT_OPERAND_PORT, port_of(w, lane, peer, 0));
        }
        put_operand(r, WEFT_OPERAND_IN, lane);
        move->nsrc = 1;
    }
}

static void write_sums(const world_t *w, rank_t *r, uint32_t lane)
{
    for (uint32_t peer = 0; peer < w->n - 1;) {
        weft_lanes_move_t *move = put_move(r);
        put_operand(r, WEFT_OPERAND_OUT, lane);
        put_operand(r, peer == 0 ? WEFT_OPERAND_IN : WEFT_OPERAND_OUT, lane);
        move->ndst = move->nsrc = 1;
        for (; peer < w->n - 1 && move->nsrc < WEFT_MOVE_MAX; peer++, move->nsrc++) {
            put_operand(r, WEFT_OPERAND_PORT, port_of(w, lane, peer, 1));
        }
    }
}

static void write_program(const world_t *w, rank_t *r, uint32_t me)
{
    r->program = (weft_lanes_program_t){.size = sizeof r->program,
                                        .nlanes = LANES,
                                        .nports = 2 * (w->n - 1) * LANES,
                                        .lane = r->lane,
                                        .code = r->code,
                                        .moves = r->moves,
                                        .operands = r->operands,
                                        .largest_par = 1,
                                        .nranks = w->n,
                                        .dtype = WEFT_INT32,
                                        .op = WEFT_SUM,
                                        .elem = 4};
    for (uint32_t lane = 0; lane < LANES; lane++) {
        r->lane[lane] = r->program.ncode;
        write_sends(w, r, lane);
        write_sums(w, r, lane);
        put_code(r, WEFT_LANES_STOP, 0);
        for (uint32_t i = 0; i < w->n - 1; i++) {
            const uint32_t peer = (me + 1 + i) % w->n;
            for (uint32_t receives = 0; receives < 2; receives++) {
                r->ports[port_of(w, lane, i, receives)] = (weft_lanes_port_t){
                    .fifo = receives ? fifo_of(w, peer, me, lane) : fifo_of(w, me, peer, lane),
                    .fifo_bytes = FIFO,
                    .slot_bytes = 4 * SLICE,
                    .slots = SLOTS,
                    .sends = !receives};
            }
        }
    }
    r->lane[LANES] = r->program.ncode;
}

static bool world_open(world_t *w, check_t *check, uint32_t n, uint64_t count)
{
    const size_t bytes = count * sizeof(int32_t), fifos = (size_t)RANKS * RANKS * LANES * FIFO;
    bool good = true;
    *w = (world_t){.check = check, .n = n, .count = count};
    w->lanes = check->ops[0]->get_extension(check->kernel[0], WEFT_KERNEL_LANES);
    w->fifos = check->host.alloc(&check->host, fifos, 4096);
    w->host = malloc(bytes);
    good = w->lanes != NULL && w->fifos != NULL && w->host != NULL;
    for (uint32_t me = 0; me < n && good; me++) {
        rank_t *r = &w->rank[me];
        write_program(w, r, me);
        r->in = device_alloc(bytes);
        r->out = device_alloc(bytes);
        for (uint64_t i = 0; i < count; i++) {
            w->host[i] = (int32_t)(i + 7 * me);
        }
        good = r->in != NULL && r->out != NULL && device_copy(r->in, w->host, bytes) &&
               w->lanes->prepare(check->kernel[0], &r->program, &r->handle) == WEFT_OK;
    }
    return good;
}

static void world_close(world_t *w)
{
    for (uint32_t me = 0; me < w->n; me++) {
        if (w->lanes != NULL) {
            w->lanes->release(w->rank[me].handle);
        }
        device_free(w->rank[me].in);
        device_free(w->rank[me].out);
    }
    w->check->host.free(&w->check->host, w->fifos);
    free(w->host);
}

static bool start_all(world_t *w)
{
    const uint64_t chunk = (uint64_t)SLICE * SLICES, pass = chunk * LANES;
    for (uint32_t me = 0; me < w->n; me++) {
        rank_t *r = &w->rank[me];
        weft_lanes_call_t call = {.size = sizeof call,
                                  .in = r->in,
                                  .out = r->out,
                                  .cut = {.count = w->count,
                                          .slice = SLICE,
                                          .chunk = chunk,
                                          .pass = pass,
                                          .passes = (w->count + pass - 1) / pass,
                                          .slices = SLICES,
                                          .k = LANES},
                                  .signature = {1, w->count, 3},
                                  .ports = r->ports};
        r->status = w->lanes->start(r->handle, &call);
        if (r->status != WEFT_OK) {
            return false;
        }
        r->status = WEFT_IN_PROGRESS;
    }
    return true;
}

static bool finish_all(world_t *w)
{
    const double begin = device_seconds();
    for (uint32_t me = 0; me < w->n;) {
        weft_lanes_state_t state = {.size = sizeof state};
        rank_t *r = &w->rank[me];
        r->status = w->lanes->poll(r->handle, &state);
        if (r->status != WEFT_IN_PROGRESS && r->status != WEFT_OK) {
            return false;
        }
        if (device_seconds() - begin > LIMIT_S) {
            printf("  rank %u waits for port %d after %llu slices\n", me, (int)state.blocked,
                   (unsigned long long)state.moved);
            return false;
        }
        me += r->status == WEFT_OK;
    }
    return true;
}

static bool right(world_t *w)
{
    const size_t bytes = w->count * sizeof(int32_t);
    for (uint32_t me = 0; me < w->n; me++) {
        if (!device_copy(w->host, w->rank[me].out, bytes)) {
            return false;
        }
        for (uint64_t i = 0; i < w->count; i++) {
            if (w->host[i] != (int32_t)(w->n * i + 7 * w->n * (w->n - 1) / 2)) {
                printf("  rank %u: element %llu is %d\n", me, (unsigned long long)i, w->host[i]);
                return false;
            }
        }
    }
    return true;
}

static void try(check_t *check, uint32_t n, uint64_t count, uint32_t rounds)
{
    world_t *w = check->host.alloc(&check->host, sizeof *w, 0);
    char name[64];
    bool good = w != NULL && world_open(w, check, n, count) && device_wait();
    good = good && start_all(w) && finish_all(w);
    double begin = device_seconds();
    for (uint32_t i = 0; i < rounds && good; i++) {
        good = start_all(w) && finish_all(w);
    }
    double each = (device_seconds() - begin) / rounds;
    good = good && right(w);
    snprintf(name, sizeof name, "all-reduce, %u ranks, %llu bytes", n,
             (unsigned long long)count * 4);
    check_line(check, name, good, each * 1e6, "us");
    if (w != NULL) {
        world_close(w);
        check->host.free(&check->host, w);
    }
}

void check_plans(check_t *check)
{
    static const uint32_t ranks[] = {2, 3, 4, 8};
    static const uint64_t counts[] = {1, 2, 8, 9, 1000, 100003, (uint64_t)1 << 24};
    for (size_t r = 0; r < sizeof ranks / sizeof ranks[0]; r++) {
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
            if (counts[c] < 1u << 20 || !check->quick) {
                try(check, ranks[r], counts[c], counts[c] < 1u << 20 && !check->quick ? 50 : 2);
            }
        }
    }
}
