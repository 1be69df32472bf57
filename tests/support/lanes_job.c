/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See lanes_job.h. */
#include "tests/support/lanes_job.h"

#include <stdlib.h>
#include <string.h>

#include "core/os/os.h"
#include "tests/support/unit.h"

static void sum_int32(const weft_combine_t *c)
{
    for (uint64_t i = 0; i < c->count; i++) {
        int32_t x = 0;
        for (uint32_t s = 0; s < c->nsrc; s++) {
            x += ((const int32_t *)c->src[s])[i];
        }
        for (uint32_t d = 0; d < c->ndst; d++) {
            ((int32_t *)c->dst[d])[i] = x;
        }
    }
}

static void bind_ports(lanes_job_t *job, lanes_rank_t *r)
{
    assert_true(r->plan->nports <= LANES_PORTS_MAX);
    for (uint32_t p = 0; p < r->program.nports; p++) {
        const weft_plan_port_t *port = weft_program_port(&r->program, p);
        uint32_t copy = p / r->plan->nports;
        uint32_t from = port->sends ? r->plan->rank : port->peer;
        uint32_t to = port->sends ? port->peer : r->plan->rank;
        void **fifo = &job->fifo[from][to][4 * copy + port->channel];
        if (*fifo == NULL) {
            *fifo = weft_os_pages(weft_fifo_bytes(LANES_SLOTS, LANES_SLOT_BYTES));
        }
        weft_mapped_port_init(&r->ports[p], port->peer, port->sends != 0, *fifo, LANES_SLOTS,
                              LANES_SLOT_BYTES);
        r->ports[p].windows = &r->windows;
        r->program.ports[p] = &r->ports[p].port;
    }
}

/* A slot has room for a slice of each chunk that a MOVE packs. */
static uint64_t slice_bytes(const weft_plan_t *plan)
{
    uint32_t most = 1;
    for (uint32_t i = 0; i < plan->nmoves; i++) {
        weft_plan_view_t move = weft_plan_view(plan, i);
        most = weft_plan_packs(&move) && move.cnt > most ? move.cnt : most;
    }
    return LANES_SLOT_BYTES / most / WEFT_LINE * WEFT_LINE;
}

void lanes_job_init(lanes_job_t *job, lanes_emit_t emit, uint32_t nranks, uint64_t count,
                    uint32_t slices, uint32_t channels)
{
    weft_algo_ops_t ops = {.size = sizeof ops, .emit = emit};
    static const uint32_t hosts[LANES_RANKS_MAX];
    weft_algo_topo_t view = {.size = sizeof view, .nhosts = 1, .host = hosts};
    /* One rank alone still needs a plan with peers. */
    uint32_t plan_ranks = nranks > 1 ? nranks : 3;
    *job = (lanes_job_t){.nranks = nranks, .count = count};
    for (uint32_t i = 0; i < nranks; i++) {
        lanes_rank_t *r = &job->rank[i];
        weft_algo_call_t call = {
            .size = sizeof call, .coll = WEFT_ALL_REDUCE, .nranks = plan_ranks, .rank = i};
        assert_int_equal(weft_plan_emit(&ops, NULL, &call, &view, NULL, &r->plan), WEFT_OK);
        r->program = (weft_program_t){.plan = r->plan,
                                      .channels = channels,
                                      .combiner.fn = sum_int32,
                                      .elem = 4,
                                      .memory.near_bytes = WEFT_SLOT_INLINE,
                                      .in_chunks = r->plan->k,
                                      .out_chunks = r->plan->k};
        weft_segmentation_params_t cut = {r->plan->k, slices, slice_bytes(r->plan), channels};
        weft_segmentation_set(&r->program.segmentation, count, 4, &cut);
        assert_int_equal(weft_program_allocate(&r->program), WEFT_OK);
        bind_ports(job, r);
        assert_int_equal(weft_interpreter_init(&r->run, &r->program, &r->workspace), WEFT_OK);
        r->in = calloc(count + 1, 4);
        r->out = calloc(count + 1, 4);
        r->result = calloc(count + 1, 4);
    }
}

int32_t lanes_job_input(uint32_t rank, uint64_t e)
{
    return (int32_t)(e * 7 + rank * 1000);
}

void lanes_job_show_windows(lanes_job_t *job)
{
    for (uint32_t i = 0; i < job->nranks; i++) {
        lanes_rank_t *r = &job->rank[i];
        r->windows.reach = calloc(job->nranks, sizeof *r->windows.reach);
        for (uint32_t p = 0; p < job->nranks; p++) {
            weft_peer_windows_t *reach = &r->windows.reach[p];
            reach->mine[3] = (weft_lanes_window_t){(uint8_t *)r->in, job->count * 4};
            reach->mine[0] = (weft_lanes_window_t){(uint8_t *)r->out, job->count * 4};
            reach->theirs[3] = (weft_lanes_window_t){(uint8_t *)job->rank[p].in, job->count * 4};
            reach->theirs[0] = (weft_lanes_window_t){(uint8_t *)job->rank[p].out, job->count * 4};
        }
    }
}

void lanes_job_fini(lanes_job_t *job)
{
    for (uint32_t i = 0; i < job->nranks; i++) {
        lanes_rank_t *r = &job->rank[i];
        weft_interpreter_fini(&r->run);
        weft_workspace_fini(&r->workspace);
        weft_program_release(&r->program);
        weft_plan_destroy(r->plan);
        free(r->windows.reach);
        free(r->in);
        free(r->out);
        free(r->result);
        for (uint32_t to = 0; to < job->nranks; to++) {
            for (uint32_t c = 0; c < LANES_CHANNELS_MAX * 4; c++) {
                weft_os_pages_free(job->fifo[i][to][c],
                                   weft_fifo_bytes(LANES_SLOTS, LANES_SLOT_BYTES));
            }
        }
    }
}

void lanes_job_use_again(const lanes_job_t *job, lanes_rank_t *r)
{
    memcpy(r->result, r->out, job->count * 4);
    memset(r->in, 0x5a, job->count * 4);
    memset(r->out, 0xa5, job->count * 4);
}

void lanes_job_start(lanes_rank_t *r, uint32_t sequence)
{
    assert_int_equal(
        weft_interpreter_start(&r->run,
                               &(weft_binding_t){.in = r->in, .out = r->out, .sequence = sequence}),
        WEFT_OK);
}

void lanes_job_run(lanes_job_t *job, uint32_t sequence)
{
    uint32_t done = 0, over = 0;
    for (uint32_t i = 0; i < job->nranks; i++) {
        lanes_rank_t *r = &job->rank[i];
        for (uint64_t e = 0; e < job->count; e++) {
            r->in[e] = lanes_job_input(i, e);
        }
        lanes_job_start(r, sequence);
    }
    for (bool moved = true; done < job->nranks && moved;) {
        done = 0;
        moved = false;
        for (uint32_t i = 0; i < job->nranks; i++) {
            weft_status_t status = weft_interpreter_step(&job->rank[i].run, &moved);
            assert_true(status == WEFT_OK || status == WEFT_IN_PROGRESS);
            done += status == WEFT_OK;
            if (status == WEFT_OK && (over >> i & 1) == 0) {
                lanes_job_use_again(job, &job->rank[i]);
                over |= 1u << i;
            }
        }
    }
    assert_int_equal(done, job->nranks);
}

bool lanes_job_is_right(const lanes_job_t *job)
{
    bool right = true;
    for (uint64_t e = 0; e < job->count; e++) {
        int32_t sum = 0;
        for (uint32_t i = 0; i < job->nranks; i++) {
            sum += lanes_job_input(i, e);
        }
        for (uint32_t i = 0; i < job->nranks; i++) {
            right = right && job->rank[i].result[e] == sum;
        }
    }
    return right;
}

uint64_t lanes_job_references(const lanes_job_t *job)
{
    uint64_t sent = 0;
    for (uint32_t i = 0; i < job->nranks; i++) {
        sent += job->rank[i].windows.sent;
    }
    return sent;
}

/* A LOOP has at least one iteration. */
static void loop_of(weft_plan_builder_t *b, uint32_t lane, uint32_t times, const weft_move_t *move)
{
    if (times > 0) {
        b->loop(b, lane, times);
        b->move(b, lane, move);
        b->end(b, lane);
    }
}

weft_status_t lanes_emit_ring(weft_algo_t *algo, const weft_algo_call_t *call,
                              const weft_algo_topo_t *view, weft_plan_builder_t *b)
{
    uint32_t n = call->nranks, r = call->rank;
    (void)algo;
    (void)view;
    b->grid(b, n, 0);
    uint32_t lane = b->lane(b);
    uint32_t to = b->port(b, lane, (r + 1) % n, 0, 1);
    uint32_t from = b->port(b, lane, (r + n - 1) % n, 0, 0);
    weft_move_t send = {.dst = {weft_port(to)}, .src = {weft_in(r, 0)}, .ndst = 1, .nsrc = 1};
    weft_move_t pass = {.dst = {weft_port(to)},
                        .ndst = 1,
                        .nsrc = 2,
                        .src = {weft_port(from), weft_in((r + n - 1) % n, -1)}};
    weft_move_t last = {.dst = {weft_out((r + 1) % n, 0), weft_port(to)},
                        .ndst = 2,
                        .nsrc = 2,
                        .src = {weft_port(from), weft_in((r + 1) % n, 0)},
                        .flags = WEFT_MOVE_FINAL};
    weft_move_t spread = {
        .dst = {weft_out(r, -1), weft_port(to)}, .src = {weft_port(from)}, .ndst = 2, .nsrc = 1};
    weft_move_t end = {
        .dst = {weft_out((r + 2) % n, 0)}, .src = {weft_port(from)}, .ndst = 1, .nsrc = 1};
    b->move(b, lane, &send);
    loop_of(b, lane, n - 2, &pass);
    b->move(b, lane, &last);
    loop_of(b, lane, n - 2, &spread);
    b->move(b, lane, &end);
    return WEFT_OK;
}
