/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The interpreter: all ranks of a job in one thread, ports as FIFOs in memory, lanes of every kind
 * (LOOP, PAR, BAR, waits, cnt) against plain sums. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/error.h"
#include "core/exec/lanes.h"
#include "core/os/os.h"

enum { SLOTS = 4, SLOT_BYTES = 256, RANKS_MAX = 5, CHANNELS_MAX = 3, PORTS_MAX = 16 };

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

typedef struct rank {
    weft_plan_t *plan;
    weft_program_t program;
    weft_lanes_t run;
    weft_port_t ports[CHANNELS_MAX * PORTS_MAX];
    weft_windows_t windows;
    int32_t *in, *out, *result;
} rank_t;

typedef struct job {
    uint32_t nranks;
    uint64_t count;
    rank_t rank[RANKS_MAX];
    void *fifo[RANKS_MAX][RANKS_MAX][CHANNELS_MAX * 4];
} job_t;

typedef weft_status_t (*emit_t)(weft_algo_t *, const weft_algo_call_t *, const weft_algo_view_t *,
                                weft_plan_builder_t *);

static void bind_ports(job_t *job, rank_t *r)
{
    assert_true(r->plan->nports <= PORTS_MAX);
    for (uint32_t p = 0; p < r->program.nports; p++) {
        const weft_plan_port_t *port = weft_program_port(&r->program, p);
        uint32_t copy = p / r->plan->nports;
        uint32_t from = port->sends ? r->plan->rank : port->peer;
        uint32_t to = port->sends ? port->peer : r->plan->rank;
        void **fifo = &job->fifo[from][to][4 * copy + port->channel];
        if (*fifo == NULL) {
            *fifo = weft_os_pages(weft_fifo_bytes(SLOTS, SLOT_BYTES));
        }
        weft_port_init_mapped(&r->ports[p], port->peer, port->sends != 0, *fifo, SLOTS, SLOT_BYTES);
        r->ports[p].windows = &r->windows;
        r->program.ports[p] = &r->ports[p];
    }
}

static void job_init(job_t *job, emit_t emit, uint32_t nranks, uint64_t count, uint32_t slices,
                     uint32_t channels)
{
    weft_algo_ops_t ops = {.size = sizeof ops, .emit = emit};
    static const uint32_t hosts[RANKS_MAX];
    weft_algo_view_t view = {.size = sizeof view, .nhosts = 1, .host = hosts};
    /* One rank alone still needs a plan with peers. */
    uint32_t plan_ranks = nranks > 1 ? nranks : 3;
    *job = (job_t){.nranks = nranks, .count = count};
    for (uint32_t i = 0; i < nranks; i++) {
        rank_t *r = &job->rank[i];
        weft_algo_call_t call = {
            .size = sizeof call, .coll = WEFT_ALL_REDUCE, .nranks = plan_ranks, .rank = i};
        assert_int_equal(weft_plan_emit(&ops, NULL, &call, &view, NULL, &r->plan), WEFT_OK);
        r->program = (weft_program_t){.plan = r->plan,
                                      .channels = channels,
                                      .combine = sum_int32,
                                      .elem = 4,
                                      .in_chunks = r->plan->k,
                                      .out_chunks = r->plan->k};
        weft_cut_t cut = {r->plan->k, slices, SLOT_BYTES, channels};
        weft_geometry_set(&r->program.geometry, count, 4, &cut);
        assert_int_equal(weft_program_allocate(&r->program), WEFT_OK);
        bind_ports(job, r);
        assert_int_equal(weft_lanes_init(&r->run, &r->program), WEFT_OK);
        r->in = calloc(count + 1, 4);
        r->out = calloc(count + 1, 4);
        r->result = calloc(count + 1, 4);
    }
}

static int32_t input(uint32_t rank, uint64_t e)
{
    return (int32_t)(e * 7 + rank * 1000);
}

/* All ranks show each other their buffers: window 3 is IN, window 0 is OUT. */
static void job_show_windows(job_t *job)
{
    for (uint32_t i = 0; i < job->nranks; i++) {
        rank_t *r = &job->rank[i];
        r->windows.reach = calloc(job->nranks, sizeof *r->windows.reach);
        for (uint32_t p = 0; p < job->nranks; p++) {
            weft_reach_t *reach = &r->windows.reach[p];
            reach->mine[3] = (weft_lanes_window_t){(uint8_t *)r->in, job->count * 4};
            reach->mine[0] = (weft_lanes_window_t){(uint8_t *)r->out, job->count * 4};
            reach->theirs[3] = (weft_lanes_window_t){(uint8_t *)job->rank[p].in, job->count * 4};
            reach->theirs[0] = (weft_lanes_window_t){(uint8_t *)job->rank[p].out, job->count * 4};
        }
    }
}

static void job_fini(job_t *job)
{
    for (uint32_t i = 0; i < job->nranks; i++) {
        rank_t *r = &job->rank[i];
        weft_lanes_fini(&r->run);
        weft_program_release(&r->program);
        weft_plan_destroy(r->plan);
        free(r->windows.reach);
        free(r->in);
        free(r->out);
        free(r->result);
        for (uint32_t to = 0; to < job->nranks; to++) {
            for (uint32_t c = 0; c < CHANNELS_MAX * 4; c++) {
                weft_os_pages_free(job->fifo[i][to][c], weft_fifo_bytes(SLOTS, SLOT_BYTES));
            }
        }
    }
}

/* What an application does when its call is over: it uses both buffers again. */
static void use_again(const job_t *job, rank_t *r)
{
    memcpy(r->result, r->out, job->count * 4);
    memset(r->in, 0x5a, job->count * 4);
    memset(r->out, 0xa5, job->count * 4);
}

/* Steps the ranks in turn until all are done. Fails the test when nothing moves any more. */
static void job_run(job_t *job, uint32_t sequence)
{
    uint32_t done = 0, over = 0;
    for (uint32_t i = 0; i < job->nranks; i++) {
        rank_t *r = &job->rank[i];
        for (uint64_t e = 0; e < job->count; e++) {
            r->in[e] = input(i, e);
        }
        weft_lanes_start(&r->run,
                         &(weft_binding_t){.in = r->in, .out = r->out, .sequence = sequence});
    }
    for (bool moved = true; done < job->nranks && moved;) {
        done = 0;
        moved = false;
        for (uint32_t i = 0; i < job->nranks; i++) {
            weft_status_t status = weft_lanes_step(&job->rank[i].run, &moved);
            assert_true(status == WEFT_OK || status == WEFT_IN_PROGRESS);
            done += status == WEFT_OK;
            if (status == WEFT_OK && (over >> i & 1) == 0) {
                use_again(job, &job->rank[i]);
                over |= 1u << i;
            }
        }
    }
    assert_int_equal(done, job->nranks);
}

static bool is_sum(const job_t *job)
{
    bool right = true;
    for (uint64_t e = 0; e < job->count; e++) {
        int32_t sum = 0;
        for (uint32_t i = 0; i < job->nranks; i++) {
            sum += input(i, e);
        }
        for (uint32_t i = 0; i < job->nranks; i++) {
            right = right && job->rank[i].result[e] == sum;
        }
    }
    return right;
}

static uint64_t references(const job_t *job)
{
    uint64_t sent = 0;
    for (uint32_t i = 0; i < job->nranks; i++) {
        sent += job->rank[i].windows.sent;
    }
    return sent;
}

static void all_reduce_once(emit_t emit, uint32_t nranks, uint64_t count, uint32_t slices,
                            uint32_t channels)
{
    for (int windows = 0; windows < 2; windows++) {
        job_t job;
        job_init(&job, emit, nranks, count, slices, channels);
        if (windows) {
            job_show_windows(&job);
        }
        job_run(&job, 1);
        assert_true(is_sum(&job));
        job_run(&job, 2); /* the same ports again, sequence numbers run on */
        assert_true(is_sum(&job));
        assert_int_equal(references(&job) > 0, windows && count >= 64);
        job_fini(&job);
    }
}

static void all_reduce_by(emit_t emit, uint32_t nranks)
{
    static const uint64_t counts[] = {0, 1, 5, 64, 1000, 5003};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        for (uint32_t slices = 1; slices < SLOTS; slices++) {
            for (uint32_t channels = 1; channels <= CHANNELS_MAX; channels++) {
                all_reduce_once(emit, nranks, counts[c], slices, channels);
            }
        }
    }
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

/* Ring with loops: n chunks, one lane. */
static weft_status_t emit_ring(weft_algo_t *algo, const weft_algo_call_t *call,
                               const weft_algo_view_t *view, weft_plan_builder_t *b)
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

/* Two ranks exchange both chunks in one MOVE of cnt 2 under PAR; a second lane then copies what the
 * first has put in TMP, after it, and both meet at a BAR. */
static weft_status_t emit_lanes(weft_algo_t *algo, const weft_algo_call_t *call,
                                const weft_algo_view_t *view, weft_plan_builder_t *b)
{
    uint32_t peer = 1 - call->rank;
    (void)algo;
    (void)view;
    b->grid(b, 2, 2);
    uint32_t first = b->lane(b);
    uint32_t second = b->lane(b);
    uint32_t to = b->port(b, first, peer, 3, 1);
    uint32_t from = b->port(b, first, peer, 3, 0);
    weft_move_t send = {
        .dst = {weft_port(to)}, .src = {weft_in(0, 0)}, .ndst = 1, .nsrc = 1, .cnt = 2};
    weft_move_t receive = {.dst = {weft_tmp(0, 0)},
                           .ndst = 1,
                           .nsrc = 2,
                           .cnt = 2,
                           .src = {weft_port(from), weft_in(0, 0)},
                           .flags = WEFT_MOVE_FINAL};
    b->par(b, first, 2);
    b->move(b, first, &send);
    uint32_t pc = b->move(b, first, &receive);
    weft_move_t copy = {.dst = {weft_out(0, 1)},
                        .src = {weft_tmp(0, 1)},
                        .ndst = 1,
                        .nsrc = 1,
                        .nafter = 1,
                        .after = {{first, pc}}};
    b->loop(b, second, 2);
    b->move(b, second, &copy);
    b->end(b, second);
    b->bar(b, first, 3);
    b->bar(b, second, 3);
    return WEFT_OK;
}

/* Two ranks sum in three lanes: one sends and takes, the next adds, the last copies the sum of the
 * previous lane to OUT. The middle lane meets its neighbours at different barriers, and the last lane
 * comes to its first one long before. */
static weft_status_t emit_chain(weft_algo_t *algo, const weft_algo_call_t *call,
                                const weft_algo_view_t *view, weft_plan_builder_t *b)
{
    uint32_t peer = 1 - call->rank;
    (void)algo;
    (void)view;
    b->grid(b, 1, 3);
    uint32_t first = b->lane(b), second = b->lane(b), third = b->lane(b);
    weft_operand_t to = weft_port(b->port(b, first, peer, 0, 1));
    weft_operand_t from = weft_port(b->port(b, first, peer, 0, 0));
    weft_move_t send = {.dst = {to}, .src = {weft_in(0, 0)}, .ndst = 1, .nsrc = 1};
    weft_move_t take = {
        .dst = {weft_tmp(0, 0)}, .src = {from}, .ndst = 1, .nsrc = 1, .like = weft_in(0, 0)};
    weft_move_t add = {.dst = {weft_tmp(1, 0)},
                       .src = {weft_tmp(0, 0), weft_in(0, 0)},
                       .ndst = 1,
                       .nsrc = 2,
                       .flags = WEFT_MOVE_FINAL};
    weft_move_t copy = {.dst = {weft_out(0, 0)}, .src = {weft_tmp(1, 0)}, .ndst = 1, .nsrc = 1};
    b->move(b, first, &send);
    b->move(b, first, &take);
    b->bar(b, first, 1u << first | 1u << second);
    b->bar(b, second, 1u << first | 1u << second);
    b->move(b, second, &add);
    uint32_t pc = b->bar(b, second, 1u << second | 1u << third);
    b->bar(b, third, 1u << second | 1u << third);
    copy.nafter = 1;
    copy.after[0] = (weft_after_t){second, pc};
    b->move(b, third, &copy);
    b->bar(b, first, 7);
    b->bar(b, second, 7);
    b->bar(b, third, 7);
    return WEFT_OK;
}

static void lanes_meet_different_lanes_at_different_barriers(void **state)
{
    (void)state;
    all_reduce_by(emit_chain, 2);
}

/* Lane 2 exchanges and meets lane 1, which then meets lane 0, which copies: lane 0 may not take the
 * first meeting of lane 1 for its own. */
static weft_status_t emit_bars(weft_algo_t *algo, const weft_algo_call_t *call,
                               const weft_algo_view_t *view, weft_plan_builder_t *b)
{
    uint32_t peer = 1 - call->rank;
    (void)algo;
    (void)view;
    b->grid(b, 2, 2);
    uint32_t last = b->lane(b);
    uint32_t middle = b->lane(b);
    uint32_t first = b->lane(b);
    uint32_t to = b->port(b, first, peer, 0, 1);
    uint32_t from = b->port(b, first, peer, 0, 0);
    weft_move_t send = {.dst = {weft_port(to)}, .src = {weft_in(0, 1)}, .ndst = 1, .nsrc = 1};
    weft_move_t receive = {.dst = {weft_tmp(0, 1)},
                           .ndst = 1,
                           .nsrc = 2,
                           .src = {weft_port(from), weft_in(0, 1)},
                           .flags = WEFT_MOVE_FINAL};
    weft_move_t copy = {
        .dst = {weft_out(0, 0)}, .src = {weft_tmp(0, 0)}, .ndst = 1, .nsrc = 1, .cnt = 2};
    b->loop(b, first, 2);
    b->par(b, first, 2);
    b->move(b, first, &send);
    b->move(b, first, &receive);
    b->bar(b, first, 6);
    b->end(b, first);
    b->loop(b, middle, 2);
    b->bar(b, middle, 6);
    b->end(b, middle);
    b->bar(b, middle, 3);
    b->bar(b, last, 3);
    b->move(b, last, &copy);
    b->bar(b, first, 7);
    b->bar(b, middle, 7);
    b->bar(b, last, 7);
    return WEFT_OK;
}

/* Two ranks copy IN to OUT, send that, and add to it what the other has sent: OUT does not stay. */
static weft_status_t emit_twice(weft_algo_t *algo, const weft_algo_call_t *call,
                                const weft_algo_view_t *view, weft_plan_builder_t *b)
{
    (void)algo;
    (void)view;
    b->grid(b, 1, 0);
    uint32_t lane = b->lane(b);
    weft_operand_t to = weft_port(b->port(b, lane, 1 - call->rank, 0, 1));
    weft_operand_t from = weft_port(b->port(b, lane, 1 - call->rank, 0, 0));
    weft_move_t copy = {.dst = {weft_out(0, 0), to}, .src = {weft_in(0, 0)}, .ndst = 2, .nsrc = 1};
    weft_move_t add = {.dst = {weft_out(0, 0)},
                       .src = {from, weft_out(0, 0)},
                       .ndst = 1,
                       .nsrc = 2,
                       .flags = WEFT_MOVE_FINAL};
    b->move(b, lane, &copy);
    b->move(b, lane, &add);
    return WEFT_OK;
}

static void memory_that_is_written_again_is_copied(void **state)
{
    (void)state;
    for (int careless = 0; careless < 2; careless++) {
        job_t job;
        job_init(&job, emit_twice, 2, 1000, 1, 1);
        job_show_windows(&job);
        for (uint32_t i = 0; careless && i < 2; i++) {
            memset(job.rank[i].program.steady, WEFT_STEADY_APART, job.rank[i].plan->nmoves);
        }
        job_run(&job, 1);
        /* What the rule is for: without it, this plan reads sums where it sent inputs. */
        assert_int_equal(is_sum(&job), !careless);
        assert_int_equal(references(&job) > 0, careless);
        job_fini(&job);
    }
}

enum { ROUNDS = 50 };

typedef struct actor {
    job_t *job;
    uint32_t rank;
    bool right;
} actor_t;

/* A rank of its own thread, which uses its buffers as soon as a run is over. */
static void act(void *arg)
{
    actor_t *a = arg;
    rank_t *r = &a->job->rank[a->rank];
    a->right = true;
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        bool moved = false;
        for (uint64_t e = 0; e < a->job->count; e++) {
            r->in[e] = input(a->rank, e) * (int32_t)round;
        }
        weft_lanes_start(&r->run, &(weft_binding_t){.in = r->in, .out = r->out, .sequence = round});
        while (weft_lanes_step(&r->run, &moved) == WEFT_IN_PROGRESS) {
            weft_os_yield();
        }
        for (uint64_t e = 0; e < a->job->count; e++) {
            int32_t sum = 0;
            for (uint32_t i = 0; i < a->job->nranks; i++) {
                sum += input(i, e) * (int32_t)round;
            }
            a->right = a->right && r->out[e] == sum;
        }
        use_again(a->job, r);
    }
}

/* TSan sees whether what is read is there, and whether it is written too early. */
static void threads_read_each_others_memory(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 3; n++) {
        job_t job;
        actor_t actor[3];
        weft_os_thread_t *thread[3];
        job_init(&job, emit_ring, n, 1000, 2, 1);
        job_show_windows(&job);
        for (uint32_t i = 0; i < n; i++) {
            actor[i] = (actor_t){.job = &job, .rank = i};
            assert_int_equal(weft_os_thread_start("rank", act, &actor[i], &thread[i]), WEFT_OK);
        }
        for (uint32_t i = 0; i < n; i++) {
            weft_os_thread_join(thread[i]);
            assert_true(actor[i].right);
        }
        assert_true(references(&job) > ROUNDS);
        job_fini(&job);
    }
}

static void a_run_waits_until_nobody_reads_its_memory(void **state)
{
    job_t job;
    bool moved = false;
    (void)state;
    job_init(&job, emit_ring, 2, 64, 1, 1);
    job_show_windows(&job);
    for (uint32_t i = 0; i < 2; i++) {
        rank_t *r = &job.rank[i];
        weft_lanes_start(&r->run, &(weft_binding_t){.in = r->in, .out = r->out, .sequence = 1});
    }
    for (int round = 0; round < 3; round++) {
        assert_int_equal(weft_lanes_step(&job.rank[0].run, &moved), WEFT_IN_PROGRESS);
        assert_int_equal(job.rank[0].run.blocked->peer, 1);
        if (round < 1) {
            assert_int_equal(weft_lanes_step(&job.rank[1].run, &moved), WEFT_IN_PROGRESS);
        }
    }
    /* All it had to send and to receive is done; the other has not taken the last message. */
    assert_true(job.rank[0].run.blocked->sends);
    (void)weft_lanes_step(&job.rank[1].run, &moved);
    assert_int_equal(weft_lanes_step(&job.rank[0].run, &moved), WEFT_OK);
    assert_int_equal(weft_lanes_step(&job.rank[1].run, &moved), WEFT_OK);
    job_fini(&job);
}

static void a_message_about_no_open_window_is_refused(void **state)
{
    static const weft_reference_t lies[] = {
        {WEFT_LANES_WINDOWS + 1, 0}, {UINT64_MAX, 0}, {2, 0}, {4, 4000}, {4, UINT64_MAX}, {4, 2}};
    (void)state;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        job_t job;
        bool moved = false;
        job_init(&job, emit_ring, 2, 1000, 1, 1);
        job_show_windows(&job);
        for (uint32_t k = 0; k < 2; k++) {
            rank_t *r = &job.rank[k];
            weft_lanes_start(&r->run, &(weft_binding_t){.in = r->in, .out = r->out, .sequence = 1});
        }
        assert_int_equal(weft_lanes_step(&job.rank[0].run, &moved), WEFT_IN_PROGRESS);
        for (uint32_t p = 0; p < job.rank[1].program.nports; p++) {
            weft_port_t *port = &job.rank[1].ports[p];
            if (!port->sends) {
                memcpy(port->heads[0].payload, &lies[i], sizeof lies[i]);
            }
        }
        assert_int_equal(weft_lanes_step(&job.rank[1].run, &moved), WEFT_ERR_PROTO);
        assert_int_equal(weft_error_record()->peer, 0);
        job_fini(&job);
    }
}

static void a_ring_with_loops_sums(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= RANKS_MAX; n++) {
        all_reduce_by(emit_ring, n);
    }
}

static void lanes_wait_for_each_other(void **state)
{
    (void)state;
    all_reduce_by(emit_lanes, 2);
}

static void a_barrier_in_a_loop_waits_for_its_own_lanes(void **state)
{
    (void)state;
    all_reduce_by(emit_bars, 2);
}

static void a_slice_of_another_operation_is_a_mismatch(void **state)
{
    job_t job;
    bool moved = false;
    (void)state;
    job_init(&job, emit_ring, 2, 100, 1, 1);
    weft_lanes_start(
        &job.rank[0].run,
        &(weft_binding_t){.in = job.rank[0].in, .out = job.rank[0].out, .sequence = 1});
    weft_lanes_start(
        &job.rank[1].run,
        &(weft_binding_t){.in = job.rank[1].in, .out = job.rank[1].out, .sequence = 2});
    assert_int_equal(weft_lanes_step(&job.rank[0].run, &moved), WEFT_IN_PROGRESS);
    assert_int_equal(weft_lanes_step(&job.rank[1].run, &moved), WEFT_ERR_MISMATCH);
    assert_int_equal(job.rank[1].run.mismatched->peer, 0);
    assert_int_equal(job.rank[1].run.theirs.sequence, 1);
    job_fini(&job);
}

/* Rank 0 sums what two peers sent. */
static weft_status_t emit_gather(weft_algo_t *algo, const weft_algo_call_t *call,
                                 const weft_algo_view_t *view, weft_plan_builder_t *b)
{
    (void)algo;
    (void)view;
    (void)call;
    b->grid(b, 1, 0);
    uint32_t lane = b->lane(b);
    weft_move_t sum = {.dst = {weft_out(0, 0)}, .ndst = 1, .nsrc = 3, .flags = WEFT_MOVE_FINAL};
    sum.src[0] = weft_port(b->port(b, lane, 1, 0, 0));
    sum.src[1] = weft_port(b->port(b, lane, 2, 0, 0));
    sum.src[2] = weft_in(0, 0);
    b->move(b, lane, &sum);
    return WEFT_OK;
}

/* A transport of the test: takes posts until it breaks. */
typedef struct fake_conn {
    weft_status_t status;
} fake_conn_t;

static weft_status_t fake_post(weft_net_conn_t *conn, const weft_net_op_t *ops, uint32_t count,
                               uint32_t *posted_p)
{
    weft_status_t status = ((fake_conn_t *)conn)->status;
    (void)ops;
    *posted_p = status == WEFT_OK ? count : 0;
    return status;
}

static void a_link_that_breaks_at_the_last_moment_leaves_the_other_ports_in_step(void **state)
{
    static const weft_net_ops_t net = {.size = sizeof net, .post = fake_post};
    fake_conn_t conn[2] = {{WEFT_OK}, {WEFT_OK}};
    job_t job;
    bool moved = false;
    (void)state;
    job_init(&job, emit_gather, 1, 0, 1, 1);
    rank_t *r = &job.rank[0];
    weft_lanes_start(&r->run, &(weft_binding_t){.in = r->in, .out = r->out, .sequence = 7});
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(weft_port_init_message(&r->ports[i], i + 1, false, &net,
                                                (weft_net_conn_t *)&conn[i], SLOTS, SLOT_BYTES),
                         WEFT_OK);
        assert_int_equal(weft_port_open(&r->ports[i], NULL), WEFT_OK);
        r->ports[i].slot[0].head->signature = r->run.signature;
        r->ports[i].slot[0].state = WEFT_SLOT_READY;
    }
    conn[0].status = WEFT_ERR_LINK;
    /* The data is there: that no further message can be taken is the next receive's failure. */
    assert_int_equal(weft_lanes_step(&r->run, &moved), WEFT_OK);
    assert_int_equal(r->ports[0].broken, WEFT_ERR_LINK);
    assert_int_equal(r->ports[0].next, 1);
    assert_int_equal(r->ports[1].next, 1);
    weft_port_fini(&r->ports[0]);
    weft_port_fini(&r->ports[1]);
    job_fini(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_with_loops_sums),
        cmocka_unit_test(lanes_wait_for_each_other),
        cmocka_unit_test(lanes_meet_different_lanes_at_different_barriers),
        cmocka_unit_test(a_barrier_in_a_loop_waits_for_its_own_lanes),
        cmocka_unit_test(memory_that_is_written_again_is_copied),
        cmocka_unit_test(threads_read_each_others_memory),
        cmocka_unit_test(a_run_waits_until_nobody_reads_its_memory),
        cmocka_unit_test(a_message_about_no_open_window_is_refused),
        cmocka_unit_test(a_slice_of_another_operation_is_a_mismatch),
        cmocka_unit_test(a_link_that_breaks_at_the_last_moment_leaves_the_other_ports_in_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
